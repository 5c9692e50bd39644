// carillon-cuda-bench: what we aim at on a GPU; every CUDA kernel against what the device can do
// and against NVIDIA's libraries, what the host takes to launch it and to see its end, and frames
// on parts of a device.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/cuda/partition.hpp"
#include "cuda/bench.hpp"
#include "cuda/cells.hpp"
#include "cuda/schedule.hpp"

namespace {

using namespace carillon;

constexpr char kHelp[] =
    R"(usage: carillon-cuda-bench [--seconds N] [RESULTS.json]

Measures on the first GPU, the most important first: whole frames; how soon the host sees that a
kernel is over, and what launches cost it; goals; cells as a pool serves them; every kernel against
the device's limits and NVIDIA's libraries; frames on parts of the device. Takes some minutes. What
is known is written to RESULTS.json after each part. With --seconds, a part that would take longer
than what is left of them is left out.

Status: 0; 1: something could not be measured; 2: wrong words; 77: there is no device.

example: carillon-cuda-bench kernels.json
)";

struct Words {
  const char* file = nullptr;
  double seconds = 0;  ///< 0: as many as it takes
  bool help = false;
  std::string wrong;
};

Words read(int argc, char** argv) {
  Words words;
  for (int i = 1; i < argc && words.wrong.empty(); ++i) {
    const std::string_view word = argv[i];
    if (word == "--help" || word == "-h") {
      words.help = true;
    } else if (word == "--seconds") {
      const char* const value = i + 1 < argc ? argv[++i] : "";
      char* end = nullptr;
      words.seconds = std::strtod(value, &end);
      if (*end != '\0' || !(words.seconds > 0))
        words.wrong = "--seconds '" + std::string(value) + "' is no time";
    } else if (word.starts_with('-') || words.file != nullptr) {
      words.wrong = "'" + std::string(word) + "' is no file for results";
    } else {
      words.file = argv[i];
    }
  }
  return words;
}

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

/// Beside the rows, which the benchmark keeps.
struct Results {
  bench::Cells cells;
  bench::Completion completion;
  std::vector<bench::Goal> goals;
};

void write(const char* file, const cuda::Machine& machine, const bench::GpuBench& bench,
           const Results& results) {
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
  write_cells(out, results.cells);
  out << ",\n ";
  write_completion(out, results.completion);
  out << ",\n ";
  write_goals(out, results.goals);
  out << "}\n";
}

/// In this order. Seconds are estimates, until they have been seen.
std::vector<bench::Part> parts_of(bench::GpuBench& bench, Results& results) {
  std::vector<bench::Part> parts = {
      {"whole frames", 15, [&] { measure_frame(bench); }},
      {"completion", 15,
       [&] {
         measure_completion(bench, results.completion);
         repeat_completion(bench, results.completion, results.goals);
       }},
      {"latency", 50, [&] { measure_latency(bench, results.goals); }},
      {"cells sustained", 30, [&] { measure_sustained(bench, results.goals); }},
      {"the bus", 15, [&] { measure_bus(bench, results.goals); }}};
  for (const bench::CellShape& shape : bench::kCellShapes)
    parts.push_back(
        {"cells of " + std::to_string(shape.antennas) + "x" + std::to_string(shape.users), 30,
         [&] { measure_cells(bench, shape, results.cells); }});
  parts.push_back({"kernels", 40, [&] {
                     for (const auto measure :
                          {bench::measure_ofdm, bench::measure_gather, bench::measure_estimate,
                           bench::measure_zeroforce, bench::measure_equalize, bench::measure_ldpc,
                           bench::measure_precode})
                       measure(bench);
                   }});
  parts.push_back({"partitions", 20, [&] { measure_partitions(bench); }});
  parts.push_back({"frames divided between partitions", 35, [&] { measure_divided(bench); }});
  return parts;
}

}  // namespace

int main(int argc, char** argv) {
  const Words words = read(argc, argv);
  if (words.help) {
    std::printf("%s", kHelp);
    return 0;
  }
  if (!words.wrong.empty()) {
    std::fprintf(stderr, "carillon-cuda-bench: %s; see --help\n", words.wrong.c_str());
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
  Results results;
  measure_in_time(parts_of(bench, results), words.seconds, [&] {
    if (words.file != nullptr) write(words.file, machine, bench, results);
  });
  return bench.failed() ? 1 : 0;
}
