#include "phy/precode/precode.hpp"

#include "phy/zeroforce/zeroforce.hpp"
#include "support/products.hpp"

namespace {

using namespace carillon;

void measure(const bench::Bench& bench, Isa isa, phy::ArrayShape shape) {
  const auto& kernels = phy::precode_kernels(isa);
  bench::Products singles(bench, "precode", isa, shape, kernels, shape.users, shape.antennas);
  singles.warm();

  const std::size_t block = std::size_t{shape.users} * shape.antenna_stride;
  const auto w = bench::random_tiles(block), s = bench::random_tiles(shape.users);
  AlignedArray<phy::Tile> x(shape.antennas);
  AlignedArray<phy::Int16Tile> integers(block);
  std::vector<float> scale(std::size_t{shape.antennas} * phy::kTileLanes);
  phy::zeroforce_kernels(isa).quantize_columns(shape, w.data(), integers.data(), scale.data());
  bench::OtherProducts in_integers(
      bench,
      {.kernel = "precode in int16",
       .shape = bench::name_of(shape),
       .isa = std::string(to_string(isa)),
       .per = "tile",
       .work = {.int16_ops = bench::product_flops(shape) * phy::kTileLanes}},
      shape, singles, integers,
      [&](const phy::Int16Tile* at) {
        kernels.per_group_int16(shape, {}, at, scale.data(), s.data(), x.data());
      },
      [&](const phy::Int16Tile* at) {
        kernels.per_group_int16(shape, bench::kGroups, at, scale.data(), s.data(), x.data());
      },
      [&](const phy::Int16Complex* at) {
        kernels.per_tile_int16(shape, at, scale.data(), s.data(), x.data());
      });
  in_integers.warm();

  if (shape.antennas < 128) return;
  singles.cold();
  in_integers.cold();
}

void run(bench::Bench& bench) {
  for (const Isa isa : bench.isas())
    for (const phy::ArrayShape shape : bench::kShapes) measure(bench, isa, shape);
}

const bench::Group group("phy/precode", run);

}  // namespace
