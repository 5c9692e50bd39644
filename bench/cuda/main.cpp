// carillon-cuda-bench: every CUDA kernel against what the device can do and against NVIDIA's
// libraries, what the host takes to launch it and to see its end, and frames on parts of a device.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

#include "base/cuda/partition.hpp"
#include "cuda/bench.hpp"
#include "cuda/cells.hpp"

namespace {

using namespace carillon;

constexpr char kHelp[] =
    R"(usage: carillon-cuda-bench [RESULTS.json]

Measures on the first GPU, the most important first: whole frames; how soon the host sees that a
kernel is over, and what launches cost it; cells as a pool serves them; every kernel against the
device's limits and NVIDIA's libraries; frames on parts of the device. Takes some minutes. What is
known is written to RESULTS.json after each part.

Status: 0; 1: something could not be measured; 2: wrong words; 77: there is no device.

example: carillon-cuda-bench kernels.json
)";

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
           const bench::Cells& cells, const bench::Completion& completion) {
  std::ofstream out(file);
  const cuda::Device& device = machine.devices[0];
  out << "{\"source\": \"measured\", \"date\": \"" << today() << "\",\n \"device\": \""
      << device.name << "\", \"sms\": " << device.sms
      << ", \"sm_mhz\": " << attribute(device, cudaDevAttrClockRate) / 1000
      << ", \"memory_mhz\": " << attribute(device, cudaDevAttrMemoryClockRate) / 1000
      << ", \"driver\": " << machine.driver << ", \"runtime\": " << machine.runtime
      << ",\n \"measured_copy_gbytes_per_s\": " << bench.peaks().bytes_per_us * 1e-3
      << ", \"measured_bus_gbytes_per_s\": " << bench.peaks().bus_bytes_per_us * 1e-3
      << ", \"fp32_tflops\": " << bench.peaks().flops_per_us * 1e-6
      << ", \"half_tflops\": " << bench.peaks().half_flops_per_us * 1e-6 << ",\n \"rows\": [";
  const char* between = "\n";
  for (const bench::GpuRow& row : bench.rows()) {
    out << between << "  {\"kernel\": \"" << row.kernel << "\", \"shape\": \"" << row.shape
        << "\", \"us\": " << row.us << ", \"bound_us\": " << row.bound_us
        << ", \"bytes\": " << row.work.bytes << ", \"bus_bytes\": " << row.work.bus_bytes
        << ", \"flops\": " << row.work.flops << ", \"half_flops\": " << row.work.half_flops
        << ", \"bits\": " << row.work.bits << ", \"registers\": " << row.registers
        << ", \"local_bytes\": " << row.local_bytes << ", \"threads\": " << row.threads
        << ", \"shared_bytes\": " << row.shared_bytes << ", \"occupancy\": " << row.occupancy
        << ", \"peer\": \"" << row.peer << "\", \"peer_us\": " << row.peer_us << "}";
    between = ",\n";
  }
  out << "\n],\n ";
  write_cells(out, cells);
  out << ",\n ";
  write_completion(out, completion);
  out << "}\n";
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--help" || first == "-h") {
    std::printf("%s", kHelp);
    return 0;
  }
  if (argc > 2 || first.starts_with('-')) {
    std::fprintf(stderr, "carillon-cuda-bench: '%s' is no file for results; see --help\n",
                 argv[argc - 1]);
    return 2;
  }
  cuda::use_all_queues();
  const cuda::Machine machine = cuda::look();
  if (machine.devices.empty()) {
    std::printf("carillon-cuda-bench: nothing to measure: %s\n", machine.why.c_str());
    return 77;
  }
  std::printf("%s\n", machine.devices[0].name.c_str());
  bench::GpuBench bench(machine.devices[0]);
  bench::Cells cells;
  bench::Completion completion;
  const auto save = [&] {
    if (argc > 1) write(argv[1], machine, bench, cells, completion);
  };
  bench::measure_frame(bench);
  save();
  bench::measure_completion(bench, completion);
  save();
  bench::measure_cells(bench, cells);
  save();
  for (const auto measure : {bench::measure_ofdm, bench::measure_gather, bench::measure_estimate,
                             bench::measure_zeroforce, bench::measure_equalize, bench::measure_ldpc,
                             bench::measure_precode, bench::measure_partitions}) {
    measure(bench);
    save();
  }
  return bench.failed() ? 1 : 0;
}
