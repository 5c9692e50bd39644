// Modulation of a symbol of 1200 subcarriers of one user, Gb/s of coded bits.
#include "phy/modulate/modulate.hpp"

#include <random>
#include <string>
#include <vector>

#include "phy/crc/measure.hpp"

int main(int argc, char** argv) {
  using namespace carillon;
  using namespace carillon::phy;
  constexpr std::uint32_t kSubcarriers = 1200;
  bench::Report report(argc, argv);
  std::minstd_rand random(1);
  std::vector<std::uint8_t> coded(kSubcarriers + 64);
  for (auto& byte : coded) byte = static_cast<std::uint8_t>(random());
  std::vector<Tile> tiles(tiles_for(kSubcarriers));
  const std::uint16_t signs[8] = {0x1234, 0x9876, 0xFFFF, 0, 0x5555, 0xAAAA, 1, 2};
  for (const Isa isa : available_isas())
    for (const auto modulation :
         {Modulation::Qpsk, Modulation::Qam16, Modulation::Qam64, Modulation::Qam256}) {
      const std::uint32_t Qm = bits_per_symbol(modulation), E = kSubcarriers * Qm;
      const double ns = bench::best_ns([&] {
        for (std::uint32_t t = 0; t < tiles.size(); ++t)
          modulate_kernels(isa).modulate(modulation, coded.data(), E, t * kTileLanes, 0, kTileLanes,
                                         signs, &tiles[t]);
      });
      report.add("modulate", std::to_string(1 << Qm) + "QAM", to_string(isa), E, ns);
    }
}
