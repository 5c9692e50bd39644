// A combiner, its arrays warm. Expansion only moves data, and quantizing is bound by that.
#include "phy/zeroforce/zeroforce.hpp"

#include "peers/peer.hpp"
#include "support/bench.hpp"
#include "support/tiles.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;

void measure(const bench::Bench& bench, Isa isa, ArrayShape shape) {
  const ZeroForceKernels& kernels = zeroforce_kernels(isa);
  const std::size_t block = std::size_t{shape.users} * shape.antenna_stride;
  const auto csi = bench::random_tiles(block);
  AlignedArray<Tile> w(block);
  AlignedArray<float> noise(shape.users * kTileLanes);
  AlignedArray<Complex> scalars(block * kTileLanes);
  ZeroForceScratch scratch(shape.users);

  const auto of = [&](const char* kernel, const char* per, double items, double flops) {
    return bench::Case{.kernel = kernel,
                       .shape = bench::name_of(shape),
                       .isa = std::string(to_string(isa)),
                       .per = per,
                       .items = items,
                       .work = {.flops = flops}};
  };
  const auto combine = [&](Detector detector) {
    return [&, detector] {
      kernels.combine(detector, shape, 0.1F, csi.data(), w.data(), noise.data(), scratch);
    };
  };
  const double flops = bench::zero_force_flops(shape);
  bench.compare(of("zeroforce", "subcarrier", kTileLanes, flops), combine(Detector::ZeroForcing),
                [&] {
                  // One after the other where they are short; a call that lasts longer than ours
                  // would catch more of what else the machine does.
                  const std::uint32_t count = shape.antennas < 64 ? kTileLanes : 1;
                  return bench::rivals(bench::ZeroForce(shape.antennas, shape.users, count),
                                       &bench::Peer::zero_force);
                });
  bench.time(of("mmse", "subcarrier", kTileLanes, flops), combine(Detector::Mmse));
  bench.time(of("conjugate", "subcarrier", kTileLanes, bench::gram_flops(shape)),
             combine(Detector::Conjugate));

  std::vector<float> spread(noise.size());
  bench.time(of("spread groups", "tile", 1, 0), [&] {
    kernels.spread_groups({12, 5}, shape.users, noise.data(), spread.data());
  });
  // One tile of groups holds the combiners of `group` tiles of subcarriers.
  bench.time(of("expand 16", "tile", kTileLanes, 0),
             [&] { kernels.expand_scalars(shape, kTileLanes, csi.data(), scalars.data(), block); });
  AlignedArray<Int16Tile> integers(block);
  AlignedArray<Int16Complex> int16_scalars(block * kTileLanes);
  std::vector<float> scale(std::size_t{shape.antennas} * kTileLanes);
  bench.time(of("quantize rows", "tile", 1, 0),
             [&] { kernels.quantize_rows(shape, csi.data(), integers.data(), scale.data()); });
  bench.time(of("quantize columns", "tile", 1, 0),
             [&] { kernels.quantize_columns(shape, csi.data(), integers.data(), scale.data()); });
  bench.time(of("expand 16 in int16", "tile", kTileLanes, 0), [&] {
    kernels.expand_int16(shape, kTileLanes, integers.data(), int16_scalars.data(), block);
  });
}

void run(bench::Bench& bench) {
  for (const Isa isa : bench.isas())
    for (const ArrayShape shape : bench::kShapes) measure(bench, isa, shape);
}

const bench::Group group("phy/zeroforce", run);

}  // namespace
