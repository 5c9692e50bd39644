// Modulation of a symbol of 1200 subcarriers of one user; bits are coded bits.
#include "phy/modulate/modulate.hpp"

#include <random>

#include "support/bench.hpp"
#include "support/tiles.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;

constexpr std::uint32_t kSubcarriers = 1200;

void run(bench::Bench& bench) {
  std::minstd_rand random(1);
  std::vector<std::uint8_t> coded(kSubcarriers + 64);
  for (auto& byte : coded) byte = static_cast<std::uint8_t>(random());
  AlignedArray<Tile> tiles(tiles_for(kSubcarriers));
  const std::uint16_t signs[8] = {0x1234, 0x9876, 0xFFFF, 0, 0x5555, 0xAAAA, 1, 2};
  for (const Isa isa : bench.isas())
    for (const auto modulation :
         {Modulation::Qpsk, Modulation::Qam16, Modulation::Qam64, Modulation::Qam256}) {
      const std::uint32_t Qm = bits_per_symbol(modulation);
      bench.time({.kernel = "modulate",
                  .shape = std::to_string(1 << Qm) + "QAM",
                  .isa = std::string(to_string(isa)),
                  .per = "tile",
                  .items = static_cast<double>(tiles.size()),
                  .work = {.bits = static_cast<double>(kTileLanes * Qm)}},
                 [&] {
                   for (std::uint32_t t = 0; t < tiles.size(); ++t)
                     modulate_kernels(isa).modulate(modulation, coded.data(), kSubcarriers * Qm,
                                                    t * kTileLanes, 0, kTileLanes, signs, 1,
                                                    &tiles[t]);
                 });
    }
}

const bench::Group group("phy/modulate", run);

}  // namespace
