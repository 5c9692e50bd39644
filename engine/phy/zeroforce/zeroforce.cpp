#include "phy/zeroforce/zeroforce.hpp"

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

}  // namespace carillon::phy
