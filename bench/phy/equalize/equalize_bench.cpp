// Time per tile, W warm: 8 operations per complex product.
#include "phy/equalize/equalize.hpp"

#include "phy/zeroforce/array_bench.hpp"

int main(int argc, char** argv) {
  using namespace carillon;
  using namespace carillon::phy;
  bench::Report report(argc, argv);
  for (const Isa isa : available_isas()) {
    report.begin(isa);
    const EqualizeKernels& kernels = equalize_kernels(isa);
    for (const ArrayShape shape : bench::kShapes) {
      const std::size_t block = std::size_t{shape.users} * shape.antenna_stride;
      const auto w = bench::random_tiles(block), in = bench::random_tiles(shape.antennas);
      const AlignedArray<Complex> scalars(block);
      AlignedArray<Tile> out(shape.users);
      const double operations = 8.0 * shape.antennas * shape.users * kTileLanes;

      const double tiles =
          bench::best_ns([&] { kernels.per_subcarrier(shape, w.data(), in.data(), out.data()); });
      report.add(bench::name_of("equalize", shape), tiles, "tile", operations);
      const double shared =
          bench::best_ns([&] { kernels.per_tile(shape, scalars.data(), in.data(), out.data()); });
      report.add(bench::name_of("equalize shared", shape), shared, "tile", operations);
    }
  }
}
