#include "phy/ldpc/ldpc.hpp"

#include "phy/ldpc/workspace.hpp"

namespace carillon::phy {

LdpcScratch::LdpcScratch() : memory_(sizeof(LdpcWorkspace)) {}

const LdpcKernels& ldpc_kernels(Isa isa) {
  switch (isa) {
    case Isa::Avx512Fp16: return avx512fp16::ldpc_kernels;
    case Isa::Avx512: return avx512::ldpc_kernels;
    case Isa::Avx2: break;
  }
  return avx2::ldpc_kernels;
}

}  // namespace carillon::phy
