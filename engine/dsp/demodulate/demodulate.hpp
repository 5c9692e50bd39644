// The frequency of a sample, by its phase against the one before.
#pragma once

#include <cstddef>

#include "base/isa.hpp"
#include "dsp/sample.hpp"

namespace carillon::dsp {

struct DemodulateKernels {
  /// y[n] = gain·arg(x[n + 1]·conj(x[n])), n < count, within gain·5e-7; 0 where the product is.
  /// Reads count + 1 samples: as a node it waits for two and consumes one.
  void (*quadrature)(const Complex* x, float gain, float* y, std::size_t count) noexcept;
};

const DemodulateKernels& demodulate_kernels(Isa isa = active_isa());

namespace avx2 {
extern const DemodulateKernels demodulate_kernels;
}
namespace avx512 {
extern const DemodulateKernels demodulate_kernels;
}

}  // namespace carillon::dsp
