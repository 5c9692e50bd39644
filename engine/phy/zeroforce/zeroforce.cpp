#include "phy/zeroforce/zeroforce.hpp"

#include <algorithm>

namespace carillon::phy {
namespace avx2 {
extern const ZeroForceKernels zeroforce_kernels;
}
namespace avx512 {
extern const ZeroForceKernels zeroforce_kernels;
}
namespace avx512fp16 {
extern const ZeroForceKernels zeroforce_kernels;
}

const ZeroForceKernels& zeroforce_kernels(Isa isa) {
  switch (isa) {
    case Isa::Avx512Fp16: return avx512fp16::zeroforce_kernels;
    case Isa::Avx512: return avx512::zeroforce_kernels;
    case Isa::Avx2: break;
  }
  return avx2::zeroforce_kernels;
}

void spread_lanes(std::uint32_t count, std::uint32_t tiles, const float* groups, float* spread,
                  std::uint32_t lanes) noexcept {
  for (std::uint32_t tile = 0; tile < tiles; ++tile)
    for (std::uint32_t row = 0; row < count; ++row, spread += lanes)
      std::fill_n(spread, lanes, groups[row * kTileLanes + tile]);
}

}  // namespace carillon::phy
