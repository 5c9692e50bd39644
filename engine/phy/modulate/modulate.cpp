#include "phy/modulate/modulate.hpp"

namespace carillon::phy {

const ModulateKernels& modulate_kernels(Isa isa) {
  return isa == Isa::Avx2 ? avx2::modulate_kernels : avx512::modulate_kernels;
}

}  // namespace carillon::phy
