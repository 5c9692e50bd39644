#include "phy/equalize/equalize.hpp"

#include "phy/zeroforce/zeroforce.hpp"
#include "support/products.hpp"

namespace {

using namespace carillon;

using Singles = bench::Products<phy::EqualizeKernels>;

// The same products in half precision where the processor multiplies so, which is what they are
// counted in there; elsewhere only from it, as a format of memory.
class Halves {
 public:
  Halves(const bench::Bench& bench, Isa isa, phy::ArrayShape shape, const Singles& singles)
      : bench_(bench),
        isa_(isa),
        shape_(shape),
        singles_(singles),
        kernels_(phy::equalize_kernels(isa)),
        block_(std::size_t{shape.users} * shape.antenna_stride),
        w_(block_),
        scale_(shape.users),
        y_(shape.antennas),
        s_(shape.users) {
    const auto& halve = phy::zeroforce_kernels(isa).halve;
    halve(shape, bench::random_tiles(block_).data(), w_.data(), scale_.data());
    const phy::ArrayShape one_row{shape.antennas, 1, shape.antennas};
    float scale = 0;
    halve(one_row, bench::random_tiles(shape.antennas).data(), y_.data(), &scale);
  }

  void warm() {
    bench::Case own = of("");
    own.work.read_bytes = static_cast<double>(block_ * sizeof(phy::HalfTile));
    own.work.footprint = block_ * sizeof(phy::HalfTile);
    bench_.compare(
        own,
        [&] {
          kernels_.per_subcarrier_half(shape_, w_.data(), scale_.data(), y_.data(), s_.data());
        },
        [&] { return singles_.peers_of_each(); });
    bench_.compare(
        of(" shared"),
        [&] { kernels_.per_tile_half(shape_, w_[0].at, scale_.data(), y_.data(), s_.data()); },
        [&] { return singles_.peers_of_shared(); });
  }

  void cold() {
    bench::Case c = of(" cold");
    const std::size_t tiles = bench::kColdBytes / (block_ * sizeof(phy::HalfTile));
    c.items = static_cast<double>(tiles);
    c.work.read_bytes = static_cast<double>(shape_.users) * shape_.antennas * sizeof(phy::HalfTile);
    c.work.footprint = bench::kColdBytes;
    if (!bench_.wants(c.kernel, c.shape)) return;
    const AlignedArray<phy::HalfTile> w(block_ * tiles);
    bench_.compare(
        c,
        [&] {
          for (std::size_t t = 0; t < tiles; ++t)
            kernels_.per_subcarrier_half(shape_, &w[t * block_], scale_.data(), y_.data(),
                                         s_.data());
        },
        bench::no_rivals);
  }

 private:
  bench::Case of(const char* how) const {
    const double flops = bench::product_flops(shape_) * phy::kTileLanes;
    const bool multiplies_halves = isa_ == Isa::Avx512Fp16;
    return {
        .kernel = std::string(multiplies_halves ? "equalize in fp16" : "equalize from fp16") + how,
        .shape = bench::name_of(shape_),
        .isa = std::string(to_string(isa_)),
        .per = "tile",
        .work = {.flops = multiplies_halves ? 0 : flops,
                 .half_flops = multiplies_halves ? flops : 0}};
  }

  const bench::Bench& bench_;
  Isa isa_;
  phy::ArrayShape shape_;
  const Singles& singles_;
  const phy::EqualizeKernels& kernels_;
  std::size_t block_;
  AlignedArray<phy::HalfTile> w_;
  std::vector<float> scale_;
  AlignedArray<phy::HalfTile> y_;
  AlignedArray<phy::Tile> s_;
};

void run(bench::Bench& bench) {
  for (const Isa isa : bench.isas())
    for (const phy::ArrayShape shape : bench::kShapes) {
      Singles singles(bench, "equalize", isa, shape, phy::equalize_kernels(isa), shape.antennas,
                      shape.users);
      singles.warm();
      Halves halves(bench, isa, shape, singles);
      halves.warm();
      if (shape.antennas < 128) continue;
      singles.cold();
      halves.cold();
    }
}

const bench::Group group("phy/equalize", run);

}  // namespace
