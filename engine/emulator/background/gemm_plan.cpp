#include "emulator/background/gemm.inl"

namespace carillon::emulator {

phy::simt::Launch launch_of(const GemmTask& task) {
  return {.x = task.n / kGemmEdge,
          .y = task.m / kGemmEdge,
          .threads = kGemmThreads,
          .shared_bytes = 2 * kGemmTerms * kGemmEdge * static_cast<std::uint32_t>(sizeof(float))};
}

}  // namespace carillon::emulator
