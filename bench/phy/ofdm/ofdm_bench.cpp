// Nanoseconds per antenna-symbol, forward and inverse, and GFLOP/s counted as 5·N·log2(N).
// Samples and tiles of 64 antennas in turn, as a symbol of a massive-MIMO cell brings them.
#include "phy/ofdm/ofdm.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

namespace {

using namespace carillon;
using namespace carillon::phy;

constexpr std::uint32_t kAntennas = 64;

// The fastest of several rounds: what the code costs, not what else the machine does.
template <typename Work>
double best_ns(Work&& work) {
  double best = 1e30;
  for (int round = 0; round < 200; ++round) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count());
  }
  return best;
}

struct Row {
  const char* direction;
  std::uint32_t size;
  std::string_view isa;
  double ns;
  double gflops() const { return 5 * size * std::log2(size) / ns; }
};

std::vector<Row> measure(std::uint32_t size, Isa isa) {
  const std::uint32_t subcarriers = size * 75 / 128 / 12 * 12, prefix = size * 9 / 128;
  const OfdmPlan plan({size, subcarriers, false});
  const OfdmKernels& kernels = ofdm_kernels(isa);
  OfdmScratch scratch(plan);
  const std::size_t symbol = 2 * std::size_t{size + prefix}, stride = kAntennas + 1;
  std::vector<std::int16_t> iq(symbol * kAntennas);
  std::minstd_rand random(1);
  for (auto& sample : iq) sample = static_cast<std::int16_t>(random() % 8192 - 4096);
  AlignedArray<Tile> grid(plan.tiles() * stride);

  const double forward = best_ns([&] {
    for (std::uint32_t a = 0; a < kAntennas; ++a)
      kernels.receive(plan, iq.data() + a * symbol + 2 * prefix, grid.data() + a, stride, scratch);
  });
  const double inverse = best_ns([&] {
    for (std::uint32_t a = 0; a < kAntennas; ++a)
      kernels.transmit(plan, grid.data() + a, stride, 1, prefix, iq.data() + a * symbol, scratch);
  });
  return {{"forward", size, to_string(isa), forward / kAntennas},
          {"inverse", size, to_string(isa), inverse / kAntennas}};
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = argc > 1 && std::strcmp(argv[1], "--json") == 0;
  const char* separator = "[";
  for (const Isa isa : available_isas())
    for (const std::uint32_t size : {512U, 1024U, 2048U, 4096U})
      for (const Row& row : measure(size, isa)) {
        if (json)
          std::printf(
              "%s{\"kernel\": \"ofdm_%s\", \"fft_size\": %u, \"isa\": \"%.*s\", "
              "\"ns\": %.1f, \"gflops\": %.2f}",
              separator, row.direction, row.size, static_cast<int>(row.isa.size()), row.isa.data(),
              row.ns, row.gflops());
        else
          std::printf("ofdm %s %4u %-10.*s %8.0f ns %7.1f GFLOP/s\n", row.direction, row.size,
                      static_cast<int>(row.isa.size()), row.isa.data(), row.ns, row.gflops());
        separator = ",\n ";
      }
  if (json) std::printf("]\n");
}
