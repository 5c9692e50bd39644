// Parts, magnitudes and angles of complex samples, and complex samples of real ones.
#pragma once

#include <cstddef>

#include "base/isa.hpp"
#include "dsp/sample.hpp"

namespace carillon::dsp {

struct ConvertKernels {
  using ToReal = void (*)(const Complex* x, float* y, std::size_t count) noexcept;
  ToReal real, imaginary;
  ToReal magnitude;  ///< infinite of a finite sample whose power is beyond a float
  ToReal power;      ///< the magnitude's square
  ToReal phase;      ///< in (-π, π], within 5e-7; 0 of 0
  /// With imaginary parts of 0.
  void (*complex)(const float* x, Complex* y, std::size_t count) noexcept;
};

const ConvertKernels& convert_kernels(Isa isa = active_isa());

namespace avx2 {
extern const ConvertKernels convert_kernels;
}
namespace avx512 {
extern const ConvertKernels convert_kernels;
}

}  // namespace carillon::dsp
