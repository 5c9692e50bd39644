// Points of the unit circle, many and fast.
#pragma once

#include <cstdint>

#include "dsp/sample.hpp"

namespace carillon::dsp {

/// exp(2πj·phase), within 2e-7. phase: in turns of 2^-64.
inline Complex turned_fast(std::uint64_t phase) noexcept {
  // The nearest quarter, and what is left of it: at most an eighth of a turn, in radians.
  const std::uint64_t quarter = (phase + (std::uint64_t{1} << 61)) >> 62;
  const auto rest = static_cast<std::int64_t>(phase - (quarter << 62));
  const float x = static_cast<float>(static_cast<std::int32_t>(rest >> 32)) * 1.46291808e-9F;
  // Minimax polynomials over ±π/4, of relative errors 3e-9 and 3e-8.
  const float s = x * x;
  const float sine =
      x * (0.999999997F + s * (-0.166666507F + s * (0.00833203688F + s * -0.00019504022F)));
  const float cosine =
      0.999999972F + s * (-0.499998567F + s * (0.0416550269F + s * -0.00135859085F));
  const bool odd = quarter % 2 != 0;
  const float re = odd ? sine : cosine, im = odd ? cosine : sine;
  return {quarter == 1 || quarter == 2 ? -re : re, quarter >= 2 ? -im : im};
}

}  // namespace carillon::dsp
