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

}  // namespace carillon::phy
