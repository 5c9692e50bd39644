#include "phy/equalize/equalize.hpp"

namespace carillon::phy {
namespace avx2 {
extern const EqualizeKernels equalize_kernels;
}
namespace avx512 {
extern const EqualizeKernels equalize_kernels;
}
namespace avx512fp16 {
extern const EqualizeKernels equalize_kernels;
}

const EqualizeKernels& equalize_kernels(Isa isa) {
  switch (isa) {
    case Isa::Avx512Fp16: return avx512fp16::equalize_kernels;
    case Isa::Avx512: return avx512::equalize_kernels;
    case Isa::Avx2: break;
  }
  return avx2::equalize_kernels;
}

// Rounding strong users' sums errs in proportion to their energy, and a weak user's combiner has
// the more gain, the fewer antennas there are beyond the users: by measurement its error is at most
// `error` · K/(M - K) of its symbols' energy. Integers err in proportion to the energy of all
// antennas, whose common scale they have.
bool suffices(Rounding rounding, std::uint32_t antennas, std::uint32_t users,
              Modulation modulation) noexcept {
  const float error = [&] {
    switch (rounding) {
      case Rounding::HalfSums: return 5.5e-4F;
      case Rounding::Half: return 8.3e-5F;
      case Rounding::Int16: return 3.5e-7F * static_cast<float>(antennas);
    }
    return 1.0F;
  }();
  constexpr float kTenthOfDecibel = 0.0233F;  // of the noise
  const float noise = [&] {                   // that the modulation's highest rate bears
    switch (modulation) {
      case Modulation::Qpsk: return 0.316F;      // -5 dB
      case Modulation::Qam16: return 0.0631F;    // -12 dB
      case Modulation::Qam64: return 0.01F;      // -20 dB
      case Modulation::Qam256: return 0.00141F;  // -28.5 dB
    }
    return 0.0F;
  }();
  return error * static_cast<float>(users) <
         kTenthOfDecibel * noise * static_cast<float>(antennas - users);
}

}  // namespace carillon::phy
