// Points of the unit circle.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/isa.hpp"
#include "dsp/sample.hpp"

namespace carillon::dsp {

struct TurnKernels {
  /// y[n] = exp(2πj·phases[n]), within 3e-7. Phases: in turns of 2^-32.
  void (*turn)(const std::uint32_t* phases, Complex* y, std::size_t count) noexcept;
};

const TurnKernels& turn_kernels(Isa isa = active_isa());

namespace avx2 {
extern const TurnKernels turn_kernels;
}
namespace avx512 {
extern const TurnKernels turn_kernels;
}

}  // namespace carillon::dsp
