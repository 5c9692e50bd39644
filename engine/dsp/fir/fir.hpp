// Filters of finite impulse response that read a window of samples: no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aligned.hpp"
#include "base/isa.hpp"
#include "dsp/sample.hpp"

namespace carillon::dsp {

/// What a filter reads and writes, and what its taps are.
enum class FirKind : std::uint8_t {
  Real,
  RealTaps,
  ComplexTaps
};  // samples; the last two: complex

/// y[n] = Σ over k < K of taps[k]·x[n·D + K - 1 - k]: for `count` outputs (count - 1)·D + K
/// samples. As a node of a flowgraph it waits for K samples and consumes D.
class Fir {
 public:
  /// `taps`: K of them, complex ones as two floats each. K, D ≥ 1.
  Fir(FirKind kind, std::span<const float> taps, std::size_t decimation);
  /// Other taps, as many as before.
  void set_taps(std::span<const float> taps) noexcept;

  FirKind kind() const { return kind_; }
  std::size_t length() const { return length_; }
  std::size_t decimation() const { return decimation_; }
  std::size_t reads(std::size_t count) const { return (count - 1) * decimation_ + length_; }
  /// As the kernels take them. Without decimation tap after tap; else backwards, each as often as
  /// a sample has floats, and the imaginary parts of all behind the real ones.
  const float* taps() const { return taps_.data(); }
  std::size_t floats_a_sample() const { return kind_ == FirKind::Real ? 1 : 2; }

 private:
  FirKind kind_;
  std::size_t length_, decimation_;
  AlignedArray<float> taps_;
};

struct FirKernels {
  /// Samples and outputs as floats. Sums are in single precision. `y` overlaps nothing.
  void (*filter)(const Fir& fir, const float* x, float* y, std::size_t count) noexcept;
};

const FirKernels& fir_kernels(Isa isa = active_isa());

namespace avx2 {
extern const FirKernels fir_kernels;
}
namespace avx512 {
extern const FirKernels fir_kernels;
}

}  // namespace carillon::dsp
