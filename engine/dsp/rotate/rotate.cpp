#include "dsp/rotate/rotate.hpp"

#include <cmath>
#include <numbers>

namespace carillon::dsp {

std::uint64_t phase_of(double turns) noexcept {
  const double part = turns - std::round(turns);  // exact, where 1 - |turns| would not be
  return static_cast<std::uint64_t>(std::llround(part * 0x1p62)) << 2;
}

Complex turned(std::uint64_t phase) noexcept {
  const double angle =
      0x1p-63 * std::numbers::pi * static_cast<double>(static_cast<std::int64_t>(phase));
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

Rotation::Rotation(double turns_per_sample, double turns)
    : phase(phase_of(turns)), step(phase_of(turns_per_sample)) {
  for (std::size_t i = 0; i < kBlock; ++i) factors[i] = turned(step * i);
}

const RotateKernels& rotate_kernels(Isa isa) {
  return isa == Isa::Avx2 ? avx2::rotate_kernels : avx512::rotate_kernels;
}

}  // namespace carillon::dsp
