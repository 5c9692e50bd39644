#include "phy/demap/demap.hpp"

namespace carillon::phy {

const DemapKernels& demap_kernels(Isa isa) {
  switch (isa) {
    case Isa::Avx512Fp16: return avx512fp16::demap_kernels;
    case Isa::Avx512: return avx512::demap_kernels;
    case Isa::Avx2: break;
  }
  return avx2::demap_kernels;
}

}  // namespace carillon::phy
