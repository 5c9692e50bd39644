#include "phy/equalize/equalize.hpp"

#include "phy/zeroforce/zeroforce.hpp"
#include "support/products.hpp"

namespace {

using namespace carillon;

using Singles = bench::Products<phy::EqualizeKernels>;

// The products that singles has in single precision, of combiners in other numbers: T is a tile of
// them, each(w) and shared(w) multiply by one for each subcarrier and by one for all.
template <typename T, typename Each, typename Shared>
class Others {
 public:
  Others(const bench::Bench& bench, bench::Case c, phy::ArrayShape shape, const Singles& singles,
         const AlignedArray<T>& w, Each each, Shared shared)
      : bench_(bench),
        case_(std::move(c)),
        shape_(shape),
        singles_(singles),
        w_(w),
        each_(each),
        shared_(shared) {}

  void warm() {
    bench::Case own = of("");
    own.work.read_bytes = static_cast<double>(w_.size() * sizeof(T));
    own.work.footprint = w_.size() * sizeof(T);
    bench_.compare(
        own, [&] { each_(w_.data()); }, [&] { return singles_.peers_of_each(); });
    bench_.compare(
        of(" shared"), [&] { shared_(w_[0].at); }, [&] { return singles_.peers_of_shared(); });
  }

  void cold() {
    bench::Case c = of(" cold");
    const std::size_t block = w_.size(), tiles = bench::kColdBytes / (block * sizeof(T));
    c.items = static_cast<double>(tiles);
    c.work.read_bytes = static_cast<double>(shape_.users) * shape_.antennas * sizeof(T);
    c.work.footprint = bench::kColdBytes;
    if (!bench_.wants(c.kernel, c.shape)) return;
    const AlignedArray<T> w(block * tiles);
    bench_.compare(
        c,
        [&] {
          for (std::size_t t = 0; t < tiles; ++t) each_(&w[t * block]);
        },
        bench::no_rivals);
  }

 private:
  bench::Case of(const char* how) const {
    bench::Case c = case_;
    c.kernel += how;
    return c;
  }

  const bench::Bench& bench_;
  bench::Case case_;
  phy::ArrayShape shape_;
  const Singles& singles_;
  const AlignedArray<T>& w_;
  Each each_;
  Shared shared_;
};

void measure(const bench::Bench& bench, Isa isa, phy::ArrayShape shape) {
  const auto& kernels = phy::equalize_kernels(isa);
  const auto& prepare = phy::zeroforce_kernels(isa);
  Singles singles(bench, "equalize", isa, shape, kernels, shape.antennas, shape.users);
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
  prepare.quantize(shape, w.data(), integers.data(), lane_scale.data());
  Others in_integers(
      bench, of("equalize in int16", {.int16_ops = flops}), shape, singles, integers,
      [&](const phy::Int16Tile* at) {
        kernels.per_subcarrier_int16(shape, at, lane_scale.data(), y.data(), s.data());
      },
      [&](const phy::Int16Complex* at) {
        kernels.per_tile_int16(shape, at, lane_scale.data(), y.data(), s.data());
      });
  in_integers.warm();

  // Where the processor multiplies in half precision, its operations are what products are counted
  // in; elsewhere that is only a format of memory.
  const bool multiplies = isa == Isa::Avx512Fp16;
  AlignedArray<phy::HalfTile> half(block), received(shape.antennas);
  std::vector<float> scale(shape.users);
  prepare.halve(shape, w.data(), half.data(), scale.data());
  const phy::ArrayShape one_row{shape.antennas, 1, shape.antennas};
  float unused = 0;
  prepare.halve(one_row, y.data(), received.data(), &unused);
  Others in_half(
      bench,
      of(multiplies ? "equalize in fp16" : "equalize from fp16",
         {.flops = multiplies ? 0 : flops, .half_flops = multiplies ? flops : 0}),
      shape, singles, half,
      [&](const phy::HalfTile* at) {
        kernels.per_subcarrier_half(shape, at, scale.data(), received.data(), s.data());
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
