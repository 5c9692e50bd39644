// Demapping, and demapping with the store to the decoder's buffer, Gb/s of soft bits. A symbol of
// 1200 subcarriers of one user, whose tiles and buffer stay in the L1 or L2 cache.
#include "phy/demap/demap.hpp"

#include <random>
#include <string>
#include <vector>

#include "phy/crc/measure.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;

constexpr std::uint32_t kSubcarriers = 1200;

void measure(bench::Report& report, Isa isa, Modulation modulation) {
  const std::uint32_t Qm = bits_per_symbol(modulation), E = kSubcarriers * Qm;
  const DemapKernels& kernels = demap_kernels(isa);
  std::minstd_rand random(1);
  std::vector<Tile> tiles(tiles_for(kSubcarriers));
  for (Tile& tile : tiles)
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
      tile.re[lane] = static_cast<float>(random() % 2000) / 1000 - 1;
      tile.im[lane] = static_cast<float>(random() % 2000) / 1000 - 1;
    }
  const std::vector<float> noise(kTileLanes, 0.01F);
  const SoftMap map = match_rate({1, 384}, 100, LdpcCode{1, 384}.length(), 0, Qm, E);
  const SoftMap repeating = match_rate({1, 72}, 0, LdpcCode{1, 72}.length(), 0, Qm, E);
  std::vector<std::int8_t> soft(LdpcCode{1, 384}.length()), d(soft.size());
  const std::uint16_t signs[8] = {0x1234, 0x9876, 0xFFFF, 0, 0x5555, 0xAAAA, 1, 2};
  std::int8_t planes[8][16];
  const std::string name = std::to_string(1 << Qm) + "QAM";

  const auto each_tile = [&](auto&& work) {
    for (std::uint32_t t = 0; t < tiles.size(); ++t) work(t);
  };
  const double demap_ns = bench::best_ns([&] {
    each_tile([&](auto t) { kernels.demap(modulation, tiles[t], noise.data(), planes); });
  });
  const double both_ns = bench::best_ns([&] {
    each_tile([&](std::uint32_t t) {
      kernels.demap(modulation, tiles[t], noise.data(), planes);
      kernels.store(map, t * kTileLanes, 0, kTileLanes, planes, signs, soft.data());
    });
  });
  report.add("demap", name, to_string(isa), E, demap_ns);
  report.add("demap_store", name, to_string(isa), E, both_ns);
  if (!repeating.direct) {
    const double ns = bench::best_ns([&] { kernels.recover(repeating, soft.data(), d.data()); });
    report.add("recover", name + ", repeated", to_string(isa), E, ns);
  }
  volatile float power = 0;
  const double power_ns = bench::best_ns([&] {
    each_tile([&](auto t) { power = kernels.error_power(modulation, tiles[t], 0xFFFF); });
  });
  report.add("error_power", name, to_string(isa), E, power_ns);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report(argc, argv);
  for (const Isa isa : available_isas())
    for (const auto modulation :
         {Modulation::Qpsk, Modulation::Qam16, Modulation::Qam64, Modulation::Qam256})
      measure(report, isa, modulation);
}
