// carillon-cuda-bench [RESULTS.json]: every CUDA kernel against what the device can do and against
// NVIDIA's libraries, and frames on parts of it. Status 77: there is no device.
#include <cstdio>
#include <fstream>

#include "base/cuda/partition.hpp"
#include "cuda/bench.hpp"

namespace {

using namespace carillon;

void write(const char* file, const cuda::Machine& machine, const bench::GpuBench& bench) {
  std::ofstream out(file);
  const cuda::Device& device = machine.devices[0];
  out << "{\"device\": \"" << device.name << "\", \"sms\": " << device.sms
      << ", \"driver\": " << machine.driver << ", \"runtime\": " << machine.runtime
      << ",\n \"measured_copy_gbytes_per_s\": " << bench.peaks().bytes_per_us * 1e-3
      << ", \"fp32_tflops\": " << bench.peaks().flops_per_us * 1e-6
      << ", \"half_tflops\": " << bench.peaks().half_flops_per_us * 1e-6 << ",\n \"rows\": [";
  const char* between = "\n";
  for (const bench::GpuRow& row : bench.rows()) {
    out << between << "  {\"kernel\": \"" << row.kernel << "\", \"shape\": \"" << row.shape
        << "\", \"us\": " << row.us << ", \"bound_us\": " << row.bound_us
        << ", \"bytes\": " << row.work.bytes << ", \"flops\": " << row.work.flops
        << ", \"half_flops\": " << row.work.half_flops << ", \"bits\": " << row.work.bits
        << ", \"registers\": " << row.registers << ", \"local_bytes\": " << row.local_bytes
        << ", \"threads\": " << row.threads << ", \"shared_bytes\": " << row.shared_bytes
        << ", \"occupancy\": " << row.occupancy << ", \"peer\": \"" << row.peer
        << "\", \"peer_us\": " << row.peer_us << "}";
    between = ",\n";
  }
  out << "\n]}\n";
}

}  // namespace

int main(int argc, char** argv) {
  cuda::use_all_queues();
  const cuda::Machine machine = cuda::look();
  if (machine.devices.empty()) {
    std::printf("carillon-cuda-bench: nothing to measure: %s\n", machine.why.c_str());
    return 77;
  }
  std::printf("%s\n", machine.devices[0].name.c_str());
  bench::GpuBench bench(machine.devices[0]);
  for (void (*const group)(bench::GpuBench&) :
       {bench::measure_frame, bench::measure_ofdm, bench::measure_estimate,
        bench::measure_zeroforce, bench::measure_equalize, bench::measure_ldpc,
        bench::measure_precode, bench::measure_partitions}) {
    group(bench);
    if (argc > 1) write(argv[1], machine, bench);
  }
  return bench.failed() ? 1 : 0;
}
