#include "dsp/combine/combine.hpp"

namespace carillon::dsp {

const CombineKernels& combine_kernels(Isa isa) {
  return isa == Isa::Avx2 ? avx2::combine_kernels : avx512::combine_kernels;
}

}  // namespace carillon::dsp
