// Demapping to the decoder's buffer; bits are soft bits. A symbol of 1200 subcarriers of one user,
// 16 tiles a call, as frame/ calls it; tiles and buffer stay in the L1 or L2 cache.
#include "phy/demap/demap.hpp"

#include "peers/peer.hpp"
#include "support/bench.hpp"
#include "support/tiles.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;

constexpr std::uint32_t kSubcarriers = 1200, kTilesAtOnce = 16;

void measure(const bench::Bench& bench, Isa isa, Modulation modulation) {
  const std::uint32_t Qm = bits_per_symbol(modulation), E = kSubcarriers * Qm;
  const DemapKernels& kernels = demap_kernels(isa);
  const auto tiles = bench::random_tiles(tiles_for(kSubcarriers));
  const std::vector<float> noise(kTileLanes * tiles.size(), 0.01F);
  const SoftMap map = match_rate({1, 384}, 100, LdpcCode{1, 384}.length(), 0, Qm, E);
  const SoftMap repeating = match_rate({1, 72}, 0, LdpcCode{1, 72}.length(), 0, Qm, E);
  std::vector<std::int8_t> soft(LdpcCode{1, 384}.length()), d(soft.size());
  std::vector<std::uint16_t> signs(Qm * tiles.size() + 1);
  for (std::size_t i = 0; i < signs.size(); ++i) signs[i] = static_cast<std::uint16_t>(i * 40503);

  const auto time = [&](const char* kernel, const char* per, double items, auto&& call) {
    const bench::Case of{.kernel = kernel,
                         .shape = std::to_string(1 << Qm) + "QAM",
                         .isa = std::string(to_string(isa)),
                         .per = per,
                         .items = items,
                         .work = {.bits = E / items}};
    bench.compare(of, call, [&] { return bench::recorded(of.kernel, of.shape); });
  };
  const auto count = static_cast<std::uint32_t>(tiles.size());
  time("demap and store", "tile", count, [&] {
    for (std::uint32_t t = 0; t < count; t += kTilesAtOnce)
      kernels.demap(modulation, {.map = map,
                                 .re = t * kTileLanes,
                                 .count = std::min(kTilesAtOnce, count - t) * kTileLanes,
                                 .s = &tiles[t],
                                 .noise = &noise[t * kTileLanes],
                                 .signs = &signs[t],
                                 .sign_stride = count,
                                 .soft = soft.data()});
  });
  if (!repeating.direct)
    time("recover", "code block", 1, [&] { kernels.recover(repeating, soft.data(), d.data()); });
  volatile float power = 0;
  time("error power", "tile", count, [&] {
    for (const Tile& tile : tiles) power = kernels.error_power(modulation, tile, 0xFFFF);
  });
}

void run(bench::Bench& bench) {
  for (const Isa isa : bench.isas())
    for (const auto modulation :
         {Modulation::Qpsk, Modulation::Qam16, Modulation::Qam64, Modulation::Qam256})
      measure(bench, isa, modulation);
}

const bench::Group group("phy/demap", run);

}  // namespace
