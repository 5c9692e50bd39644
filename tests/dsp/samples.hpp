// Samples to try kernels with.
#pragma once

#include <random>
#include <vector>

#include "dsp/sample.hpp"

namespace carillon::dsp::test {

/// Evenly in [-1, 1).
inline std::vector<float> values(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> even(-1, 1);
  std::vector<float> drawn(count);
  for (float& value : drawn) value = even(random);
  return drawn;
}

inline std::vector<Complex> samples(std::size_t count, std::uint64_t seed) {
  const std::vector<float> parts = values(2 * count, seed);
  std::vector<Complex> drawn(count);
  for (std::size_t i = 0; i < count; ++i) drawn[i] = {parts[2 * i], parts[2 * i + 1]};
  return drawn;
}

}  // namespace carillon::dsp::test
