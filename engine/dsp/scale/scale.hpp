// Multiplication by a constant, and its addition.
#pragma once

#include <cstddef>

#include "base/isa.hpp"
#include "dsp/sample.hpp"

namespace carillon::dsp {

/// `y` may be `x`. Complex samples with a real factor or real samples: as floats, two a sample.
struct ScaleKernels {
  void (*multiply)(const float* x, float factor, float* y, std::size_t floats) noexcept;
  void (*multiply_complex)(const Complex* x, Complex factor, Complex* y,
                           std::size_t count) noexcept;
  void (*add)(const float* x, float what, float* y, std::size_t floats) noexcept;
  void (*add_complex)(const Complex* x, Complex what, Complex* y, std::size_t count) noexcept;
};

const ScaleKernels& scale_kernels(Isa isa = active_isa());

namespace avx2 {
extern const ScaleKernels scale_kernels;
}
namespace avx512 {
extern const ScaleKernels scale_kernels;
}

}  // namespace carillon::dsp
