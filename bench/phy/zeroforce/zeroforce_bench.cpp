// A combiner, its arrays warm; the arithmetic of the algorithm with 8 operations per complex
// product and Hermitian halves not counted twice. Expansion only moves data.
#include "phy/zeroforce/zeroforce.hpp"

#include "support/bench.hpp"
#include "support/tiles.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;

void measure(const bench::Bench& bench, Isa isa, ArrayShape shape) {
  const ZeroForceKernels& kernels = zeroforce_kernels(isa);
  const double m = shape.antennas, k = shape.users;
  const std::size_t block = std::size_t{shape.users} * shape.antenna_stride;
  const auto csi = bench::random_tiles(block);
  AlignedArray<Tile> w(block);
  AlignedArray<float> noise(shape.users * kTileLanes), spread(noise.size());
  AlignedArray<Complex> scalars(block);
  ZeroForceScratch scratch(shape.users);

  const auto time = [&](const char* kernel, const char* per, double items, double flops,
                        auto&& call) {
    bench.time({.kernel = kernel,
                .shape = bench::name_of(shape),
                .isa = std::string(to_string(isa)),
                .per = per,
                .items = items,
                .work = {.flops = flops}},
               call);
  };
  const auto combine = [&](const char* kernel, Detector detector, double flops) {
    time(kernel, "subcarrier", kTileLanes, flops, [&] {
      kernels.combine(detector, shape, 0.1F, csi.data(), w.data(), noise.data(), scratch);
    });
  };
  const double inverse = 8 * (k * k * m * 1.5 + k * k * k / 2);
  combine("zeroforce", Detector::ZeroForcing, inverse);
  combine("mmse", Detector::Mmse, inverse);
  combine("conjugate", Detector::Conjugate, 8 * k * k * m / 2);

  // One tile of groups holds the combiners of `group` tiles of subcarriers.
  std::uint32_t tile = 0;
  time("expand 4", "tile", 1, 0, [&] {
    kernels.expand(shape, 4, tile++ % 4, csi.data(), block, w.data(), noise.data(), spread.data());
  });
  time("expand 16", "tile", 1, 0, [&] {
    kernels.expand_scalar(shape, tile++ % 16, csi.data(), block, scalars.data(), noise.data(),
                          spread.data());
  });
}

void run(bench::Bench& bench) {
  for (const Isa isa : bench.isas())
    for (const ArrayShape shape : bench::kShapes) measure(bench, isa, shape);
}

const bench::Group group("phy/zeroforce", run);

}  // namespace
