#include "dsp/demodulate/demodulate.hpp"

namespace carillon::dsp {

const DemodulateKernels& demodulate_kernels(Isa isa) {
  return isa == Isa::Avx2 ? avx2::demodulate_kernels : avx512::demodulate_kernels;
}

}  // namespace carillon::dsp
