// LDPC: microseconds per code block and megabits of information per second, per instruction set.
// Decoding runs a fixed number of iterations on random ±10 inputs, so every message is busy.
//   bench-phy-ldpc-ldpc [--json]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "phy/ldpc/ldpc.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;

template <typename Run>
double median_microseconds(Run&& run) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int i = 0; i < 300; ++i) {
    const auto begin = Clock::now();
    run();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + 150, times.end());
  return times[150];
}

struct Table {
  bool json;
  bool first = true;

  void add(Isa isa, const std::string& name, LdpcCode code, double microseconds) {
    const double mbps = code.info_bits() / microseconds;
    const std::string set(to_string(isa));
    if (json)
      std::printf("%s\n  {\"isa\": \"%s\", \"name\": \"%s\", \"us\": %.3f, \"mbps\": %.1f}",
                  first ? "" : ",", set.c_str(), name.c_str(), microseconds, mbps);
    else
      std::printf("%-11s %-36s %9.3f us %9.1f Mbps\n", set.c_str(), name.c_str(), microseconds,
                  mbps);
    first = false;
  }
};

std::string label(LdpcCode code) {
  return "BG" + std::to_string(code.base_graph) + " Z=" + std::to_string(code.lifting);
}

struct Case {
  LdpcCode code;
  std::uint32_t columns;  // sent
  const char* rate;
};

constexpr Case kDecode[] = {{{1, 384}, 66, "1/3"}, {{1, 384}, 24, "0.92"}, {{1, 104}, 66, "1/3"},
                            {{1, 52}, 66, "1/3"},  {{1, 24}, 66, "1/3"},   {{2, 384}, 50, "1/5"},
                            {{2, 384}, 30, "1/3"}};
constexpr LdpcCode kEncode[] = {{1, 384}, {1, 104}, {2, 384}};

}  // namespace

int main(int argc, char** argv) {
  Table table{argc > 1 && std::string_view(argv[1]) == "--json"};
  LdpcScratch scratch;
  std::mt19937 random(1);
  if (table.json) std::printf("[");
  for (const Isa isa : available_isas()) {
    const LdpcKernels& kernels = ldpc_kernels(isa);
    for (const Case& c : kDecode)
      for (const std::uint32_t iterations : {5U, 10U}) {
        DecodeOptions options;
        options.sent = c.columns * c.code.lifting;
        options.max_iterations = iterations;
        options.early_stop = false;
        std::vector<std::int8_t> soft(c.code.length());
        for (std::uint32_t n = 0; n < options.sent; ++n) soft[n] = (random() & 1U) ? 10 : -10;
        std::vector<std::uint8_t> info(c.code.info_bits() / 8 + 1);
        table.add(isa,
                  "decode " + label(c.code) + " R=" + c.rate + " " + std::to_string(iterations) +
                      " iterations",
                  c.code, median_microseconds([&] {
                    kernels.decode(c.code, soft.data(), options, info.data(), scratch);
                  }));
      }
    for (const LdpcCode code : kEncode) {
      std::vector<std::uint8_t> info(code.info_bits() / 8 + 1), codeword(code.length() / 8 + 1);
      for (auto& byte : info) byte = static_cast<std::uint8_t>(random());
      constexpr int kRepeats = 16;  // a block is too short for the clock
      const double time = median_microseconds([&] {
        for (int i = 0; i < kRepeats; ++i)
          kernels.encode(code, info.data(), codeword.data(), scratch);
      });
      table.add(isa, "encode " + label(code), code, time / kRepeats);
    }
  }
  if (table.json) std::printf("\n]\n");
}
