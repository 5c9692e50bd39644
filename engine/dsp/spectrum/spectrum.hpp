// Power over frequency.
#pragma once

#include <cstddef>
#include <span>

#include "base/aligned.hpp"
#include "base/fft.hpp"
#include "base/isa.hpp"
#include "dsp/sample.hpp"

namespace carillon::dsp {

/// Of a window's length, a power of two from 256 to 65536. Has scratch memory of its own: one
/// thread at a time.
class Spectrum {
 public:
  explicit Spectrum(std::span<const float> window);

  std::size_t size() const { return window_.size(); }
  const float* window() const { return window_.data(); }
  const FftTables& tables(std::size_t lanes) const { return lanes == 8 ? eight_ : sixteen_; }
  float* scratch() { return scratch_.data(); }

 private:
  AlignedArray<float> window_, scratch_;
  FftTables eight_, sixteen_;
};

struct SpectrumKernels {
  /// power[i] += |Σ over n of window[n]·x[n]·exp(-2πj·n·(i/N - 1/2))|², i, n < N = size(): the
  /// lowest frequency first.
  void (*add_power)(Spectrum& spectrum, const Complex* x, float* power) noexcept;
};

const SpectrumKernels& spectrum_kernels(Isa isa = active_isa());

namespace avx2 {
extern const SpectrumKernels spectrum_kernels;
}
namespace avx512 {
extern const SpectrumKernels spectrum_kernels;
}

}  // namespace carillon::dsp
