// Exact ratios of whole numbers: rates and periods must not drift by rounding.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>

namespace carillon::dataflow {

/// numerator / denominator, without a common divisor; 0/1 is zero.
struct Ratio {
  std::uint64_t numerator = 0, denominator = 1;

  bool operator==(const Ratio&) const = default;
  double value() const { return static_cast<double>(numerator) / static_cast<double>(denominator); }
};

/// a · b, or nothing beyond 64 bits.
inline std::optional<std::uint64_t> product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

/// The least common multiple, or nothing beyond 64 bits.
inline std::optional<std::uint64_t> common_multiple(std::uint64_t a, std::uint64_t b) {
  return product(a / std::gcd(a, b), b);
}

/// r · a / b, or nothing beyond 64 bits; b > 0.
inline std::optional<Ratio> scaled(Ratio r, std::uint64_t a, std::uint64_t b) {
  const std::uint64_t ab = std::gcd(a, b);
  a /= ab;
  b /= ab;
  const std::uint64_t up = std::gcd(a, r.denominator), down = std::gcd(r.numerator, b);
  const auto numerator = product(r.numerator / down, a / up);
  const auto denominator = product(r.denominator / up, b / down);
  if (!numerator || !denominator) return std::nullopt;
  return Ratio{*numerator, *denominator};
}

}  // namespace carillon::dataflow
