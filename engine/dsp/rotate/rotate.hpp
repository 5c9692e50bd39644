// A frequency shift.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/isa.hpp"
#include "dsp/sample.hpp"

namespace carillon::dsp {

/// exp(2πj·phase), by a sine and a cosine of double precision. phase: in turns of 2^-64.
Complex turned(std::uint64_t phase) noexcept;

/// Finite turns, modulo one, rounded to 2^-62: in turns of 2^-64.
std::uint64_t phase_of(double turns) noexcept;

/// A phase and how it moves on, in turns of 2^-64, so that it wraps exactly and never drifts.
struct Rotation {
  static constexpr std::size_t kBlock = 256;

  std::uint64_t phase = 0;  ///< of the next sample
  std::uint64_t step = 0;   ///< from one sample to the next
  Complex factors[kBlock];  ///< exp(2πj·i·step)

  explicit Rotation(double turns_per_sample, double turns = 0);
};

struct RotateKernels {
  /// y[n] = x[n]·exp(2πj·phase), count samples; `rotation` moves on. Within 5e-7·|x|. `y` may be
  /// `x`.
  void (*rotate)(Rotation* rotation, const Complex* x, Complex* y, std::size_t count) noexcept;
};

const RotateKernels& rotate_kernels(Isa isa = active_isa());

namespace avx2 {
extern const RotateKernels rotate_kernels;
}
namespace avx512 {
extern const RotateKernels rotate_kernels;
}

}  // namespace carillon::dsp
