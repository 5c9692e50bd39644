#include "dsp/convolve/convolve.hpp"

#include <algorithm>
#include <bit>
#include <complex>
#include <numbers>
#include <vector>

namespace carillon::dsp {
namespace {

using Values = std::vector<std::complex<double>>;

// A power of two of them, by halves: once for each filter.
Values transformed(const Values& x) {
  const std::size_t half = x.size() / 2;
  if (half == 0) return x;
  Values even(half), odd(half), y(x.size());
  for (std::size_t i = 0; i < half; ++i) {
    even[i] = x[2 * i];
    odd[i] = x[2 * i + 1];
  }
  even = transformed(even);
  odd = transformed(odd);
  for (std::size_t i = 0; i < half; ++i) {
    const double angle = -std::numbers::pi * static_cast<double>(i) / static_cast<double>(half);
    const std::complex<double> turned = std::polar(1.0, angle) * odd[i];
    y[i] = even[i] + turned;
    y[i + half] = even[i] - turned;
  }
  return y;
}

Values response_of(FirKind kind, std::span<const float> taps, std::size_t size) {
  Values padded(size);
  const std::size_t parts = kind == FirKind::ComplexTaps ? 2 : 1;
  for (std::size_t k = 0; k < taps.size() / parts; ++k)
    padded[k] = {taps[k * parts], parts == 2 ? taps[k * parts + 1] : 0.0F};
  return transformed(padded);
}

AlignedArray<float> in_rows(const Values& response, std::size_t lanes) {
  AlignedArray<float> rows(2 * response.size());
  for (std::size_t n = 0; n < response.size(); ++n) {
    float* const row = &rows[n / lanes * lanes * 2];
    row[n % lanes] = static_cast<float>(response[n].real());
    row[lanes + n % lanes] = static_cast<float>(response[n].imag());
  }
  return rows;
}

std::size_t taps_of(FirKind kind, std::span<const float> taps) {
  return kind == FirKind::ComplexTaps ? taps.size() / 2 : taps.size();
}

}  // namespace

Convolution::Convolution(FirKind kind, std::span<const float> taps)
    : kind_(kind),
      history_((taps_of(kind, taps) + 14) / 16 * 16),
      // A window of which a quarter or less is history: shorter ones suit smaller jobs.
      size_(std::clamp<std::size_t>(std::bit_ceil(4 * history_), 512, 4096)),
      scratch_(4 * size_) {
  const auto size = static_cast<std::uint32_t>(size_);
  // A transform there and one back multiply by the size.
  eight_ = fft_tables(size, 8, 0, 1);
  sixteen_ = fft_tables(size, 16, 0, 1);
  Values response = response_of(kind, taps, size_);
  for (auto& value : response) value /= static_cast<double>(size_);
  response_[0] = in_rows(response, 8);
  response_[1] = in_rows(response, 16);
}

const ConvolveKernels& convolve_kernels(Isa isa) {
  return isa == Isa::Avx2 ? avx2::convolve_kernels : avx512::convolve_kernels;
}

}  // namespace carillon::dsp
