// The matrix product of somebody else: C = A·B in single precision, a block for 64×64 of C. It is
// there to keep a card busy as MegaStation §3.4's background does, and to be right while it does.
#pragma once

#include <cstdint>

#include "base/cuda/status.hpp"
#include "phy/simt/simt.hpp"

namespace carillon::emulator {

/// The paper's: 1280×1024×512, 320 blocks, 1.34 GFLOP.
inline constexpr std::uint32_t kGemmM = 1280, kGemmN = 1024, kGemmK = 512;

/// a[m][k], b[k][n] → c[m][n], of the device, 16-byte aligned. m and n are multiples of 64, k
/// of 32.
struct GemmTask {
  std::uint32_t m, n, k;
  const float* a;
  const float* b;
  float* c;
};

phy::simt::Launch launch_of(const GemmTask&);

/// In order on the stream.
cuda::Status gemm(const GemmTask&, cuda::Stream);

}  // namespace carillon::emulator
