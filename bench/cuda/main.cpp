// carillon-cuda-bench [RESULTS.json]: every CUDA kernel against what the device can do and against
// NVIDIA's libraries, and frames on parts of it. Status 77: there is no device.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>

#include "base/cuda/partition.hpp"
#include "cuda/bench.hpp"
#include "cuda/cells.hpp"

namespace {

using namespace carillon;

int attribute(const cuda::Device& device, cudaDeviceAttr which) {
  int value = 0;
  bench::require(
      cuda::Status(cudaDeviceGetAttribute(&value, which, static_cast<int>(device.index))));
  return value;
}

std::string today() {
  const std::chrono::year_month_day day(
      std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  char text[16];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(day.year()),
                static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
  return text;
}

void write(const char* file, const cuda::Machine& machine, const bench::GpuBench& bench,
           const bench::Cells& cells) {
  std::ofstream out(file);
  const cuda::Device& device = machine.devices[0];
  out << "{\"source\": \"measured\", \"date\": \"" << today() << "\",\n \"device\": \""
      << device.name << "\", \"sms\": " << device.sms
      << ", \"sm_mhz\": " << attribute(device, cudaDevAttrClockRate) / 1000
      << ", \"memory_mhz\": " << attribute(device, cudaDevAttrMemoryClockRate) / 1000
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
  out << "\n],\n ";
  write_cells(out, cells);
  out << "}\n";
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
  bench::Cells cells;
  const auto save = [&] {
    if (argc > 1) write(argv[1], machine, bench, cells);
  };
  bench::measure_frame(bench);
  save();
  bench::measure_cells(bench, cells);
  save();
  for (const auto measure : {bench::measure_ofdm, bench::measure_estimate, bench::measure_zeroforce,
                             bench::measure_equalize, bench::measure_ldpc, bench::measure_precode,
                             bench::measure_partitions}) {
    measure(bench);
    save();
  }
  return bench.failed() ? 1 : 0;
}
