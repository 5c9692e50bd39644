#include "dsp/scale/scale.hpp"

namespace carillon::dsp {

const ScaleKernels& scale_kernels(Isa isa) {
  return isa == Isa::Avx2 ? avx2::scale_kernels : avx512::scale_kernels;
}

}  // namespace carillon::dsp
