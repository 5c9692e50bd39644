#include "dsp/turn/turn.hpp"

namespace carillon::dsp {

const TurnKernels& turn_kernels(Isa isa) {
  return isa == Isa::Avx2 ? avx2::turn_kernels : avx512::turn_kernels;
}

}  // namespace carillon::dsp
