#include "phy/precode/precode.hpp"

namespace carillon::phy {
namespace avx2 {
extern const PrecodeKernels precode_kernels;
}
namespace avx512 {
extern const PrecodeKernels precode_kernels;
}
namespace avx512fp16 {
extern const PrecodeKernels precode_kernels;
}

const PrecodeKernels& precode_kernels(Isa isa) {
  switch (isa) {
    case Isa::Avx512Fp16: return avx512fp16::precode_kernels;
    case Isa::Avx512: return avx512::precode_kernels;
    case Isa::Avx2: break;
  }
  return avx2::precode_kernels;
}

}  // namespace carillon::phy
