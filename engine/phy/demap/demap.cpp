#include "phy/demap/demap.hpp"

namespace carillon::phy {

const DemapKernels& demap_kernels(Isa isa) {
  return isa == Isa::Avx2 ? avx2::demap_kernels : avx512::demap_kernels;
}

}  // namespace carillon::phy
