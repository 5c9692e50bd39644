// An antenna's symbol, forward and inverse; operations counted as 5·N·log2(N). Samples and tiles of
// 64 antennas in turn, as a symbol of a massive-MIMO cell brings them.
#include "phy/ofdm/ofdm.hpp"

#include <cmath>
#include <random>

#include "support/bench.hpp"
#include "support/tiles.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;

constexpr std::uint32_t kAntennas = 64;

void measure(const bench::Bench& bench, Isa isa, std::uint32_t size) {
  const std::uint32_t subcarriers = size * 75 / 128 / 12 * 12, prefix = size * 9 / 128;
  const OfdmPlan plan({size, subcarriers, false});
  const OfdmKernels& kernels = ofdm_kernels(isa);
  OfdmScratch scratch(plan);
  const std::size_t symbol = 2 * std::size_t{size + prefix}, stride = kAntennas + 1;
  std::vector<std::int16_t> iq(symbol * kAntennas);
  std::minstd_rand random(1);
  for (auto& sample : iq) sample = static_cast<std::int16_t>(random() % 8192 - 4096);
  AlignedArray<Tile> grid(plan.tiles() * stride), row(plan.tiles());
  const auto pilot = bench::random_tiles(plan.tiles());

  const auto time = [&](const char* kernel, auto&& antenna) {
    bench.time({.kernel = kernel,
                .shape = std::to_string(size),
                .isa = std::string(to_string(isa)),
                .per = "antenna",
                .items = kAntennas,
                .work = {.flops = 5 * size * std::log2(size)}},
               [&] {
                 for (std::uint32_t a = 0; a < kAntennas; ++a) antenna(a);
               });
  };
  time("fft", [&](std::uint32_t a) {
    kernels.receive(plan, iq.data() + a * symbol + 2 * prefix, grid.data() + a, stride, scratch);
  });
  time("pilot fft", [&](std::uint32_t a) {
    kernels.receive_pilot(plan, iq.data() + a * symbol + 2 * prefix, pilot.data(), row.data(),
                          scratch);
  });
  time("ifft", [&](std::uint32_t a) {
    kernels.transmit(plan, grid.data() + a, stride, 1, prefix, iq.data() + a * symbol, scratch);
  });
}

void run(bench::Bench& bench) {
  for (const Isa isa : bench.isas())
    for (const std::uint32_t size : {512U, 1024U, 2048U, 4096U}) measure(bench, isa, size);
}

const bench::Group group("phy/ofdm", run);

}  // namespace
