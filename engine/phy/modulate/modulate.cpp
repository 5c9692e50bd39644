#include "phy/modulate/modulate.hpp"

namespace carillon::phy {

const ModulateKernels& modulate_kernels(Isa isa) {
  switch (isa) {
    case Isa::Avx512Fp16: return avx512fp16::modulate_kernels;
    case Isa::Avx512: return avx512::modulate_kernels;
    case Isa::Avx2: break;
  }
  return avx2::modulate_kernels;
}

}  // namespace carillon::phy
