// carillon-cuda-bench: what we aim at on a GPU; every CUDA kernel against what the device can do
// and against NVIDIA's libraries, what the host takes to launch it and to see its end, and frames
// on parts of a device.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
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
    R"(usage: carillon-cuda-bench [--list] [--only PART] [--seconds N] [RESULTS.json]

Measures on the first GPU, the most important first: every kernel against the device's limits and
NVIDIA's libraries; whole frames; cells as a pool serves them, and goals; frames on parts of the
device; how soon the host sees that a kernel is over, and what launches cost it. Takes some minutes.
What is known is written to RESULTS.json after each row.

  --list       the parts in this order, a line each: the seconds that it may take, and its name
  --only PART  only this one
  --seconds N  a part that would take longer than what is left of them is left out

Status: 0; 1: something could not be measured; 2: wrong words; 77: there is no device.

example: carillon-cuda-bench kernels.json
)";

struct Words {
  const char* file = nullptr;
  double seconds = 0;  ///< 0: as many as it takes
  std::string only;    ///< empty: all
  bool help = false, list = false;
  std::string wrong;
};

Words read(int argc, char** argv) {
  Words words;
  for (int i = 1; i < argc && words.wrong.empty(); ++i) {
    const std::string_view word = argv[i];
    if (word == "--help" || word == "-h") {
      words.help = true;
    } else if (word == "--list") {
      words.list = true;
    } else if (word == "--only") {
      words.only = i + 1 < argc ? argv[++i] : "";
      if (words.only.empty()) words.wrong = "--only takes the name of a part";
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

void write(std::ostream& out, const cuda::Machine& machine, const bench::GpuBench& bench,
           const Results& results) {
  const cuda::Device& device = machine.devices[0];
  out << "{\"source\": \"measured\", \"date\": \"" << today() << "\",\n \"device\": \""
      << device.name << "\", \"sms\": " << device.sms
      << ", \"sm_mhz\": " << attribute(device, cudaDevAttrClockRate) / 1000
      << ", \"memory_mhz\": " << attribute(device, cudaDevAttrMemoryClockRate) / 1000
      << ", \"driver\": " << machine.driver << ", \"runtime\": " << machine.runtime
      << ",\n \"measured_copy_gbytes_per_s\": " << bench.peaks().bytes_per_us * 1e-3
      << ", \"measured_bus_gbytes_per_s\": " << bench.peaks().bus_bytes_per_us * 1e-3
      << ", \"fp32_tflops\": " << bench.peaks().flops_per_us * 1e-6
      << ", \"half_tflops\": " << bench.peaks().half_flops_per_us * 1e-6
      << ", \"integer_tops\": " << bench.peaks().int_ops_per_us * 1e-6
      << ", \"shared_gbytes_per_s\": " << bench.peaks().shared_bytes_per_us * 1e-3
      << ",\n \"rows\": [";
  const char* between = "\n";
  for (const bench::GpuRow& row : bench.rows()) {
    out << between << "  {\"kernel\": \"" << row.kernel << "\", \"shape\": \"" << row.shape
        << "\", \"us\": " << row.us << ", \"bound_us\": " << row.bound_us
        << ", \"bytes\": " << row.work.bytes << ", \"bus_bytes\": " << row.work.bus_bytes
        << ", \"moved_shared_bytes\": " << row.work.shared_bytes
        << ", \"flops\": " << row.work.flops << ", \"half_flops\": " << row.work.half_flops
        << ", \"int_ops\": " << row.work.int_ops << ", \"bits\": " << row.work.bits
        << ", \"registers\": " << row.registers << ", \"local_bytes\": " << row.local_bytes
        << ", \"threads\": " << row.threads << ", \"shared_bytes\": " << row.shared_bytes
        << ", \"occupancy\": " << row.occupancy << ", \"peer\": \"" << row.peer
        << "\", \"peer_us\": " << row.peer_us << "}";
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

/// What was there stays until all of it is written.
void keep(const std::string& file, const cuda::Machine& machine, const bench::GpuBench& bench,
          const Results& results) {
  const std::string fresh = file + ".new";
  {
    std::ofstream out(fresh);
    write(out, machine, bench, results);
  }
  std::rename(fresh.c_str(), file.c_str());
}

struct Offer {
  std::string name;
  double seconds;
  std::function<void(bench::GpuBench&, Results&)> measure;
};

/// In this order. Seconds are somewhat more than an H100 took.
std::vector<Offer> offers() {
  std::vector<Offer> all = {
      {"transforms", 5,
       [](auto& bench, Results&) {
         measure_ofdm(bench);
         measure_gather(bench);
         measure_estimate(bench);
       }},
      {"combiners", 12, [](auto& bench, Results&) { measure_zeroforce(bench); }},
      {"products", 5,
       [](auto& bench, Results&) {
         measure_equalize(bench);
         measure_precode(bench);
       }},
      {"decoder", 20, [](auto& bench, Results&) { measure_ldpc(bench); }},
      {"whole frames", 5, [](auto& bench, Results&) { measure_frame(bench); }}};
  const auto add = [&](const char* name, double seconds, auto measure) {
    all.push_back({name, seconds, measure});
  };
  add("latency", 50, [](auto& bench, Results& results) { measure_latency(bench, results.goals); });
  for (const bench::CellShape& shape : bench::kCellShapes)
    all.push_back({"cells of " + std::to_string(shape.antennas) + "x" + std::to_string(shape.users),
                   shape.antennas < 256 ? 28.0 : 35.0, [shape](auto& bench, Results& results) {
                     measure_cells(bench, shape, results.cells);
                   }});
  add("cells sustained", 30,
      [](auto& bench, Results& results) { measure_sustained(bench, results.goals); });
  add("the bus", 10, [](auto& bench, Results& results) { measure_bus(bench, results.goals); });
  add("completion", 5, [](auto& bench, Results& results) {
    measure_completion(bench, results.completion);
    repeat_completion(bench, results.completion, results.goals);
  });
  add("partitions", 40, [](auto& bench, Results&) { measure_partitions(bench); });
  add("divided frames", 70, [](auto& bench, Results&) { measure_divided(bench); });
  return all;
}

int wrong(const std::string& what) {
  std::fprintf(stderr, "carillon-cuda-bench: %s; see --help\n", what.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const Words words = read(argc, argv);
  if (words.help) {
    std::printf("%s", kHelp);
    return 0;
  }
  if (!words.wrong.empty()) return wrong(words.wrong);
  std::vector<Offer> chosen = offers();
  if (!words.only.empty())
    std::erase_if(chosen, [&](const Offer& offer) { return offer.name != words.only; });
  if (chosen.empty()) return wrong("there is no part '" + words.only + "'");
  if (words.list) {
    for (const Offer& offer : chosen) std::printf("%g %s\n", offer.seconds, offer.name.c_str());
    return 0;
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
  const auto known = [&] {
    if (words.file != nullptr) keep(words.file, machine, bench, results);
  };
  bench.after_each_row(known);
  std::vector<bench::Part> parts;
  for (const Offer& offer : chosen)
    parts.push_back({offer.name, offer.seconds, [&] { offer.measure(bench, results); }});
  measure_in_time(parts, words.seconds, known);
  return bench.failed() ? 1 : 0;
}
