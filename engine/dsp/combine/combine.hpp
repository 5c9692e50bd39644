// Sums and products of two streams.
#pragma once

#include <cstddef>

#include "base/isa.hpp"
#include "dsp/sample.hpp"

namespace carillon::dsp {

/// y[n] of a[n] and b[n]; `y` may be either.
struct CombineKernels {
  void (*add)(const float* a, const float* b, float* y, std::size_t floats) noexcept;
  void (*multiply)(const float* a, const float* b, float* y, std::size_t floats) noexcept;
  void (*multiply_complex)(const Complex* a, const Complex* b, Complex* y,
                           std::size_t count) noexcept;
};

const CombineKernels& combine_kernels(Isa isa = active_isa());

namespace avx2 {
extern const CombineKernels combine_kernels;
}
namespace avx512 {
extern const CombineKernels combine_kernels;
}

}  // namespace carillon::dsp
