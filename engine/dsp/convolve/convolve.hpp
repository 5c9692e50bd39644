// Long filters, by Fourier transforms.
#pragma once

#include <cstddef>
#include <span>

#include "base/aligned.hpp"
#include "base/fft.hpp"
#include "base/isa.hpp"
#include "dsp/fir/fir.hpp"

namespace carillon::dsp {

/// A filter without decimation, by overlap-save: what a transform makes of its window's first
/// history() samples is not used. Has scratch memory of its own: one thread at a time.
class Convolution {
 public:
  static constexpr std::size_t kMostTaps = 1024;

  /// As dsp::Fir's: K of them, 1 ≤ K ≤ kMostTaps, complex ones as two floats each.
  Convolution(FirKind kind, std::span<const float> taps);

  FirKind kind() const { return kind_; }
  std::size_t size() const { return size_; }
  /// Samples before the first new one: K - 1, rounded up to a multiple of 16.
  std::size_t history() const { return history_; }
  /// Outputs of a transform. Real samples: of two windows at once.
  std::size_t outputs() const { return (size_ - history_) * (kind_ == FirKind::Real ? 2 : 1); }

  const FftTables& tables(std::size_t lanes) const { return lanes == 8 ? eight_ : sixteen_; }
  /// The taps' transform over the size, in natural order: re and im of `lanes` frequencies each.
  const float* response(std::size_t lanes) const { return response_[lanes == 16].data(); }
  float* scratch() { return scratch_.data(); }  ///< two transforms' rows

 private:
  FirKind kind_;
  std::size_t history_, size_;
  FftTables eight_, sixteen_;
  AlignedArray<float> response_[2], scratch_;
};

struct ConvolveKernels {
  /// y[n] = Σ over k < K of taps[k]·x[n + history() - k], count ≥ outputs(). `y` overlaps nothing.
  void (*convolve)(Convolution& convolution, const float* x, float* y, std::size_t count) noexcept;
};

const ConvolveKernels& convolve_kernels(Isa isa = active_isa());

namespace avx2 {
extern const ConvolveKernels convolve_kernels;
}
namespace avx512 {
extern const ConvolveKernels convolve_kernels;
}

}  // namespace carillon::dsp
