// What of equalization on a GPU is the host's.
#include "phy/equalize/cuda.hpp"
#include "phy/equalize/cuda.inl"
#include "phy/equalize/cuda_leave_out.inl"

namespace carillon::phy::cuda {

simt::Launch launch_of(const EqualizeTask& task) {
  return {.x = simt::divide_up(task.shape.users, users_at_once(task)),
          .y = simt::divide_up(task.symbols, kSymbolsAtOnce),
          .z = task.tiles,
          .threads = kEqualizeThreads,
          .shared_bytes = shared_for(task)};
}

simt::Launch launch_of(const LeaveOutTask& task) {
  const std::uint32_t symbols = task.of.shape.users * kTileLanes * std::uint32_t{sizeof(Complex)};
  return {.x = task.of.tiles,
          .y = task.of.symbols,
          .threads = kLeaveOutThreads,
          .shared_bytes = std::uint32_t{sizeof(LeaveOutShared)} + symbols};
}

}  // namespace carillon::phy::cuda
