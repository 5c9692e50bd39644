// Products of a matrix and a vector over tiles, as equalization and precoding are. Time per tile, 8
// operations per complex product: with warm coefficients; and where each subcarrier of the band has
// its own, which the next symbol finds cold.
#pragma once

#include <string>

#include "peers/peer.hpp"
#include "phy/zeroforce/zeroforce.hpp"
#include "support/bench.hpp"
#include "support/tiles.hpp"

namespace carillon::bench {

/// A resource block's coefficients, and a tile of them that begins within a block.
inline constexpr phy::LaneGroups kGroups = {12, 5};

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
    Case own = of("");
    own.work.read_bytes = static_cast<double>(w.size() * sizeof(phy::Tile));
    own.work.footprint = w.size() * sizeof(phy::Tile);
    bench_.compare(
        own, [&] { kernels_.per_group(shape_, {}, w.data(), in_.data(), out_.data()); },
        [&] { return peers_of_each(); });
    bench_.compare(
        of(" by groups"),
        [&] { kernels_.per_group(shape_, kGroups, w.data(), in_.data(), out_.data()); }, no_rivals);
    bench_.compare(
        of(" shared"), [&] { kernels_.per_tile(shape_, scalars.data(), in_.data(), out_.data()); },
        [&] { return peers_of_shared(); });
  }

  const Kernels& kernels() const { return kernels_; }

  /// A tile's subcarriers with a matrix each; or as columns beside one another with one for all.
  std::vector<Rival> peers_of_each() const { return peers(1, phy::kTileLanes); }
  std::vector<Rival> peers_of_shared() const { return peers(phy::kTileLanes, 1); }

  void cold() {
    Case c = of(" cold");
    const std::size_t tiles = kColdBytes / (block_ * sizeof(phy::Tile));
    c.items = static_cast<double>(tiles);
    c.work.read_bytes = static_cast<double>(shape_.users) * shape_.antennas * sizeof(phy::Tile);
    c.work.footprint = kColdBytes;
    if (!bench_.wants(c.kernel, c.shape)) return;
    const AlignedArray<phy::Tile> w(block_ * tiles);
    bench_.compare(
        c,
        [&] {
          for (std::size_t t = 0; t < tiles; ++t)
            kernels_.per_group(shape_, {}, &w[t * block_], in_.data(), out_.data());
        },
        no_rivals);
  }

 private:
  Case of(const char* how) const {
    return {.kernel = name_ + how,
            .shape = name_of(shape_),
            .isa = std::string(to_string(isa_)),
            .per = "tile",
            .work = {.flops = product_flops(shape_) * phy::kTileLanes}};
  }

  std::vector<Rival> peers(std::uint32_t columns, std::uint32_t count) const {
    const auto rows = static_cast<std::uint32_t>(out_.size()),
               inner = static_cast<std::uint32_t>(in_.size());
    return rivals(Product(rows, inner, columns, count), &Peer::product);
  }

  const Bench& bench_;
  std::string name_;
  Isa isa_;
  phy::ArrayShape shape_;
  const Kernels& kernels_;
  std::size_t block_;
  AlignedArray<phy::Tile> in_, out_;
};

/// The products that `singles` has in single precision, of coefficients in other numbers: T is a
/// tile of them, each(w), groups(w) and shared(w) multiply by some for each subcarrier, for kGroups
/// and for all.
template <typename Kernels, typename T, typename Each, typename Groups, typename Shared>
class OtherProducts {
 public:
  OtherProducts(const Bench& bench, Case c, phy::ArrayShape shape, const Products<Kernels>& singles,
                const AlignedArray<T>& w, Each each, Groups groups, Shared shared)
      : bench_(bench),
        case_(std::move(c)),
        shape_(shape),
        singles_(singles),
        w_(w),
        each_(each),
        groups_(groups),
        shared_(shared) {}

  void warm() {
    Case own = of("");
    own.work.read_bytes = static_cast<double>(w_.size() * sizeof(T));
    own.work.footprint = w_.size() * sizeof(T);
    bench_.compare(
        own, [&] { each_(w_.data()); }, [&] { return singles_.peers_of_each(); });
    bench_.compare(
        of(" by groups"), [&] { groups_(w_.data()); }, no_rivals);
    bench_.compare(
        of(" shared"), [&] { shared_(w_[0].at); }, [&] { return singles_.peers_of_shared(); });
  }

  void cold() {
    Case c = of(" cold");
    const std::size_t block = w_.size(), tiles = kColdBytes / (block * sizeof(T));
    c.items = static_cast<double>(tiles);
    c.work.read_bytes = static_cast<double>(shape_.users) * shape_.antennas * sizeof(T);
    c.work.footprint = kColdBytes;
    if (!bench_.wants(c.kernel, c.shape)) return;
    const AlignedArray<T> w(block * tiles);
    bench_.compare(
        c,
        [&] {
          for (std::size_t t = 0; t < tiles; ++t) each_(&w[t * block]);
        },
        no_rivals);
  }

 private:
  Case of(const char* how) const {
    Case c = case_;
    c.kernel += how;
    return c;
  }

  const Bench& bench_;
  Case case_;
  phy::ArrayShape shape_;
  const Products<Kernels>& singles_;
  const AlignedArray<T>& w_;
  Each each_;
  Groups groups_;
  Shared shared_;
};

}  // namespace carillon::bench
