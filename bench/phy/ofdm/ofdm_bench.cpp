// An antenna's symbol, forward and inverse. Samples and tiles of 64 antennas in turn, as a symbol
// of a massive-MIMO cell brings them; peers only transform as many symbols, from float to float.
#include "phy/ofdm/ofdm.hpp"

#include <random>

#include "peers/peer.hpp"
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

  const auto compare = [&](const char* kernel, bool inverse, auto&& antenna) {
    bench.compare(
        {.kernel = kernel,
         .shape = std::to_string(size),
         .isa = std::string(to_string(isa)),
         .per = "antenna",
         .items = kAntennas,
         .work = {.flops = bench::fft_flops(size)}},
        [&] {
          for (std::uint32_t a = 0; a < kAntennas; ++a) antenna(a);
        },
        [&] { return bench::rivals(bench::Fft(size, kAntennas, inverse), &bench::Peer::fft); });
  };
  compare("fft", false, [&](std::uint32_t a) {
    kernels.receive(plan, iq.data() + a * symbol + 2 * prefix, grid.data() + a, stride, scratch);
  });
  AlignedArray<HalfTile> half(grid.size());
  compare("fft to fp16", false, [&](std::uint32_t a) {
    kernels.receive_half(plan, iq.data() + a * symbol + 2 * prefix, half.data() + a, stride,
                         scratch);
  });
  compare("pilot fft", false, [&](std::uint32_t a) {
    kernels.receive_pilot(plan, iq.data() + a * symbol + 2 * prefix, pilot.data(), row.data(),
                          scratch);
  });
  compare("ifft", true, [&](std::uint32_t a) {
    kernels.transmit(plan, grid.data() + a, stride, 1, prefix, iq.data() + a * symbol, scratch);
  });
}

void run(bench::Bench& bench) {
  for (const Isa isa : bench.isas())
    for (const std::uint32_t size : {512U, 1024U, 2048U, 4096U}) measure(bench, isa, size);
}

const bench::Group group("phy/ofdm", run);

}  // namespace
