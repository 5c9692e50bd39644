#include "phy/ldpc/ldpc.hpp"

#include <algorithm>
#include <bit>

#include "phy/ldpc/workspace.hpp"

namespace carillon::phy {
namespace {

// What a row costs, in vectors of 64 lanes: those of the pack and two more whatever its size.
std::uint32_t cost(LdpcCode code, std::uint32_t pack) {
  return (code.lifting * pack + 63) / 64 + 2;
}

}  // namespace

std::uint32_t ldpc_pack(LdpcCode code, std::uint32_t count) noexcept {
  std::uint32_t best = 1;
  for (std::uint32_t pack = 2; pack <= kMaxPack && code.lifting * pack <= kMaxLanes; pack *= 2) {
    const std::uint32_t blocks = std::min(pack, count);
    if (cost(code, pack) * best < cost(code, std::bit_ceil(best)) * blocks) best = blocks;
  }
  return best;
}

LdpcScratch::LdpcScratch() : memory_(sizeof(LdpcWorkspace)) {}

const LdpcKernels& ldpc_kernels(Isa isa) {
  return isa == Isa::Avx2 ? avx2::ldpc_kernels : avx512::ldpc_kernels;
}

}  // namespace carillon::phy
