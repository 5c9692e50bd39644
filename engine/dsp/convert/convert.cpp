#include "dsp/convert/convert.hpp"

namespace carillon::dsp {

const ConvertKernels& convert_kernels(Isa isa) {
  return isa == Isa::Avx2 ? avx2::convert_kernels : avx512::convert_kernels;
}

}  // namespace carillon::dsp
