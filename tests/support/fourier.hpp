// Fourier transforms that are not ours to be fast.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <vector>

namespace carillon::test {

using Value = std::complex<double>;

// Unitary, decimation in time.
inline std::vector<Value> transform(const std::vector<Value>& x) {
  const std::size_t n = x.size();
  if (n == 1) return x;
  std::vector<Value> even, odd, y(n);
  for (std::size_t i = 0; i < n; i += 2) {
    even.push_back(x[i]);
    odd.push_back(x[i + 1]);
  }
  even = transform(even);
  odd = transform(odd);
  for (std::size_t k = 0; k < n / 2; ++k) {
    const Value turned =
        std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n)) *
        odd[k];
    y[k] = (even[k] + turned) * std::sqrt(0.5);
    y[k + n / 2] = (even[k] - turned) * std::sqrt(0.5);
  }
  return y;
}

/// Bins of a transform, those of used subcarriers first: `used` of them around zero, without it
/// being left out.
inline std::vector<Value> used_first(const std::vector<Value>& bins, std::size_t used) {
  std::vector<Value> ordered;
  for (std::size_t i = 0; i < bins.size(); ++i)
    ordered.push_back(bins[(i + bins.size() - used / 2) % bins.size()]);
  return ordered;
}

}  // namespace carillon::test
