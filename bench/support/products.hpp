// Products of a matrix and a vector over tiles, as equalization and precoding are. Time per tile, 8
// operations per complex product: with warm coefficients; and where each subcarrier of the band has
// its own, which the next symbol finds cold.
#pragma once

#include <string>

#include "support/bench.hpp"
#include "support/tiles.hpp"

namespace carillon::bench {

inline constexpr std::size_t kColdBytes = std::size_t{192} << 20;

/// Kernels: EqualizeKernels or PrecodeKernels, which agree in all but the direction.
template <typename Kernels>
class Products {
 public:
  Products(const Bench& bench, std::string name, Isa isa, phy::ArrayShape shape,
           const Kernels& kernels, std::uint32_t inputs, std::uint32_t outputs)
      : bench_(bench),
        name_(std::move(name)),
        isa_(isa),
        shape_(shape),
        kernels_(kernels),
        block_(std::size_t{shape.users} * shape.antenna_stride),
        in_(random_tiles(inputs)),
        out_(outputs) {}

  void warm() {
    const auto w = random_tiles(block_);
    const AlignedArray<phy::Complex> scalars(block_);
    bench_.time(of(""),
                [&] { kernels_.per_subcarrier(shape_, w.data(), in_.data(), out_.data()); });
    bench_.time(of(" shared"),
                [&] { kernels_.per_tile(shape_, scalars.data(), in_.data(), out_.data()); });
  }

  void cold() {
    Case c = of(" cold");
    const std::size_t tiles = kColdBytes / (block_ * sizeof(phy::Tile));
    c.items = static_cast<double>(tiles);
    c.work.bytes = static_cast<double>(shape_.users) * shape_.antennas * sizeof(phy::Tile);
    if (!bench_.wants(c.kernel, c.shape)) return;
    const AlignedArray<phy::Tile> w(block_ * tiles);
    bench_.time(c, [&] {
      for (std::size_t t = 0; t < tiles; ++t)
        kernels_.per_subcarrier(shape_, &w[t * block_], in_.data(), out_.data());
    });
  }

 private:
  Case of(const char* how) const {
    return {.kernel = name_ + how,
            .shape = name_of(shape_),
            .isa = std::string(to_string(isa_)),
            .per = "tile",
            .work = {.flops = 8.0 * shape_.antennas * shape_.users * phy::kTileLanes}};
  }

  const Bench& bench_;
  std::string name_;
  Isa isa_;
  phy::ArrayShape shape_;
  const Kernels& kernels_;
  std::size_t block_;
  AlignedArray<phy::Tile> in_, out_;
};

}  // namespace carillon::bench
