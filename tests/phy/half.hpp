// IEEE 754 binary16 by its definition, slow and on any machine.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace carillon::phy::testing {

/// The number that a bit pattern stands for.
inline double from_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1F, fraction = bits & 0x3FF;
  if (exponent == 0x1F) return fraction != 0 ? NAN : (bits >> 15) != 0 ? -INFINITY : INFINITY;
  const double size =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits >> 15) != 0 ? -size : size;
}

/// The nearest number of binary16, ties to even. A product of two plus a third fits into the
/// argument, so that this rounds a fused multiply-add once.
inline double to_half(long double x) {
  if (x == 0 || !std::isfinite(x)) return static_cast<double>(x);
  const int quantum = std::max(std::ilogb(x) - 10, -24);
  const auto rounded =
      static_cast<double>(std::ldexp(std::nearbyint(std::ldexp(x, -quantum)), quantum));
  return std::abs(rounded) > 65504 ? std::copysign(INFINITY, rounded) : rounded;
}

/// The bit pattern of the nearest number.
inline std::uint16_t bits_of(double x) {
  const double rounded = to_half(x), size = std::abs(rounded);
  const int sign = std::signbit(rounded) ? 0x8000 : 0;
  if (size > 65504) return static_cast<std::uint16_t>(sign | 0x7C00);
  const int exponent = size < 0x1p-14 ? -14 : std::ilogb(size);
  const int significand =
      static_cast<int>(std::ldexp(size, 10 - exponent));  // below 1024: denormal
  return static_cast<std::uint16_t>(sign | ((exponent + 14) * 1024 + significand));
}

}  // namespace carillon::phy::testing
