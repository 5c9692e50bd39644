// Time per tile, 8 operations per complex product: with warm coefficients; and where each
// subcarrier of a 1200 subcarriers' band has its own, which the next symbol finds cold.
#include "phy/precode/precode.hpp"

#include "support/bench.hpp"
#include "support/tiles.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;

constexpr std::size_t kColdBytes = std::size_t{192} << 20;

struct Measure {
  const bench::Bench& bench;
  Isa isa;
  ArrayShape shape;
  const PrecodeKernels& kernels = precode_kernels(isa);
  std::size_t block = std::size_t{shape.users} * shape.antenna_stride;
  AlignedArray<Tile> in = bench::random_tiles(shape.users);
  AlignedArray<Tile> out = AlignedArray<Tile>(shape.antennas);

  bench::Case of(const char* kernel) const {
    return {.kernel = kernel,
            .shape = bench::name_of(shape),
            .isa = std::string(to_string(isa)),
            .per = "tile",
            .work = {.flops = 8.0 * shape.antennas * shape.users * kTileLanes}};
  }

  void warm() {
    const auto w = bench::random_tiles(block);
    const AlignedArray<Complex> scalars(block);
    bench.time(of("precode"),
               [&] { kernels.per_subcarrier(shape, w.data(), in.data(), out.data()); });
    bench.time(of("precode shared"),
               [&] { kernels.per_tile(shape, scalars.data(), in.data(), out.data()); });
  }

  void cold() {
    bench::Case c = of("precode cold");
    const std::size_t tiles = kColdBytes / (block * sizeof(Tile));
    c.items = static_cast<double>(tiles);
    c.work.bytes = static_cast<double>(shape.users) * shape.antennas * sizeof(Tile);
    if (!bench.wants(c.kernel, c.shape)) return;
    const AlignedArray<Tile> w(block * tiles);
    bench.time(c, [&] {
      for (std::size_t t = 0; t < tiles; ++t)
        kernels.per_subcarrier(shape, &w[t * block], in.data(), out.data());
    });
  }
};

void run(bench::Bench& bench) {
  for (const Isa isa : bench.isas())
    for (const ArrayShape shape : bench::kShapes) {
      Measure measure{bench, isa, shape};
      measure.warm();
      if (shape.antennas >= 128) measure.cold();
    }
}

const bench::Group group("phy/precode", run);

}  // namespace
