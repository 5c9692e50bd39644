// Matrices in 16-bit integers, and how far sums of their products may be from exact ones.
#pragma once

#include <vector>

#include "phy/groups.hpp"
#include "phy/zeroforce/array.hpp"
#include "phy/zeroforce/zeroforce.hpp"

namespace carillon::phy::testing {

/// A combiner by its rows, or a precoder by its columns: each lane its own, and lane 5's for all.
struct Integers {
  using Quantize = decltype(ZeroForceKernels::quantize_rows);

  Integers(Quantize quantize, ArrayShape shape, std::uint32_t sums, const Tiles& w)
      : tiles(block_of(shape)),
        lane_scale(std::size_t{sums} * kTileLanes),
        scalars(block_of(shape)),
        scale(sums) {
    quantize(shape, w.data(), tiles.data(), lane_scale.data());
    for (std::size_t i = 0; i < tiles.size(); ++i) scalars[i] = tiles[i].at[5];
    for (std::uint32_t i = 0; i < sums; ++i) scale[i] = lane_scale[i * kTileLanes + 5];
  }

  AlignedArray<Int16Tile> tiles;
  std::vector<float> lane_scale;
  std::vector<Int16Complex> scalars;
  std::vector<float> scale;
};

/// A sum of products of two factors, as it is and in integers. Rounding a factor, whose unit is its
/// norm over 32700, is off by at most half a unit in each component.
struct Int16Sum {
  Value sum = 0;

  void add(Value left, Value right) {
    sum += left * right;
    left_.add(left);
    right_.add(right);
    ++terms_;
  }

  /// What rounding both factors may change, and a little for what is computed in floats.
  double bound() const {
    return 1.01 * ((left_.sum * right_.unit() + right_.sum * left_.unit()) / std::sqrt(2) +
                   terms_ * left_.unit() * right_.unit() / 2) +
           1e-6 * std::sqrt(left_.energy * right_.energy);
  }

 private:
  struct Factor {
    double sum = 0, energy = 0;

    void add(Value x) {
      sum += std::abs(x);
      energy += std::norm(x);
    }
    double unit() const { return std::sqrt(energy) / 32700; }
  };

  Factor left_, right_;
  int terms_ = 0;
};

}  // namespace carillon::phy::testing
