#include "phy/equalize/equalize.hpp"

#include "phy/zeroforce/zeroforce.hpp"
#include "support/products.hpp"

namespace {

using namespace carillon;

void measure(const bench::Bench& bench, Isa isa, phy::ArrayShape shape) {
  const auto& kernels = phy::equalize_kernels(isa);
  const auto& prepare = phy::zeroforce_kernels(isa);
  bench::Products singles(bench, "equalize", isa, shape, kernels, shape.antennas, shape.users);
  singles.warm();

  const double flops = bench::product_flops(shape) * phy::kTileLanes;
  const auto of = [&](const char* kernel, const bench::Work& work) {
    return bench::Case{.kernel = kernel,
                       .shape = bench::name_of(shape),
                       .isa = std::string(to_string(isa)),
                       .per = "tile",
                       .work = work};
  };
  const std::size_t block = std::size_t{shape.users} * shape.antenna_stride;
  const auto w = bench::random_tiles(block), y = bench::random_tiles(shape.antennas);
  AlignedArray<phy::Tile> s(shape.users);

  AlignedArray<phy::Int16Tile> integers(block);
  std::vector<float> lane_scale(std::size_t{shape.users} * phy::kTileLanes);
  prepare.quantize_rows(shape, w.data(), integers.data(), lane_scale.data());
  bench::OtherProducts in_integers(
      bench, of("equalize in int16", {.int16_ops = flops}), shape, singles, integers,
      [&](const phy::Int16Tile* at) {
        kernels.per_group_int16(shape, {}, at, lane_scale.data(), y.data(), s.data());
      },
      [&](const phy::Int16Tile* at) {
        kernels.per_group_int16(shape, bench::kGroups, at, lane_scale.data(), y.data(), s.data());
      },
      [&](const phy::Int16Complex* at) {
        kernels.per_tile_int16(shape, at, lane_scale.data(), y.data(), s.data());
      });
  in_integers.warm();

  // Where the processor multiplies in half precision, its operations are what products are counted
  // in; elsewhere that is only a format of memory.
  const bool multiplies = isa >= Isa::Avx512Fp16;
  AlignedArray<phy::HalfTile> half(block), received(shape.antennas);
  std::vector<float> scale(shape.users);
  prepare.halve(shape, w.data(), half.data(), scale.data());
  const phy::ArrayShape one_row{shape.antennas, 1, shape.antennas};
  float unused = 0;
  prepare.halve(one_row, y.data(), received.data(), &unused);
  bench::OtherProducts in_half(
      bench,
      of(multiplies ? "equalize in fp16" : "equalize from fp16",
         {.flops = multiplies ? 0 : flops, .half_flops = multiplies ? flops : 0}),
      shape, singles, half,
      [&](const phy::HalfTile* at) {
        kernels.per_group_half(shape, {}, at, scale.data(), received.data(), s.data());
      },
      [&](const phy::HalfTile* at) {
        kernels.per_group_half(shape, bench::kGroups, at, scale.data(), received.data(), s.data());
      },
      [&](const phy::HalfComplex* at) {
        kernels.per_tile_half(shape, at, scale.data(), received.data(), s.data());
      });
  in_half.warm();

  if (shape.antennas < 128) return;
  singles.cold();
  in_integers.cold();
  in_half.cold();
}

void run(bench::Bench& bench) {
  for (const Isa isa : bench.isas())
    for (const phy::ArrayShape shape : bench::kShapes) measure(bench, isa, shape);
}

const bench::Group group("phy/equalize", run);

}  // namespace
