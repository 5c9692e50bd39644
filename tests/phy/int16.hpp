// How far sums of products of 16-bit integers may be from exact ones.
#pragma once

#include "phy/zeroforce/array.hpp"

namespace carillon::phy::testing {

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
