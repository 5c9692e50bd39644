// Gaussian noise in bulk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aligned.hpp"

namespace carillon {

/// Independent normal numbers of variance 1, the same for a seed and stream on every machine. None
/// is beyond 6.66, where one of 3.7e10 should be.
class Noise {
 public:
  /// Streams of one seed are independent of each other, and of those of Random.
  explicit Noise(std::uint64_t seed, std::uint64_t stream = 0);

  /// Adds `amplitude` times a normal number to each.
  void add(std::span<float> numbers, float amplitude);
  /// The same, rounded to nearest (ties to even). Returns how many had to be saturated.
  std::size_t add(std::span<std::int16_t> numbers, float amplitude);

 private:
  /// xoshiro128++ (Blackman and Vigna 2021) in each of eight lanes: [word][lane].
  alignas(kCacheLine) std::uint32_t state_[4][8];
};

}  // namespace carillon
