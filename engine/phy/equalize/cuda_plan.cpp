// What of equalization on a GPU is the host's.
#include "phy/equalize/cuda.hpp"
#include "phy/equalize/cuda.inl"

namespace carillon::phy::cuda {

simt::Launch launch_of(const EqualizeTask& task) {
  return {.x = simt::divide_up(task.shape.users, users_at_once(task)),
          .y = simt::divide_up(task.symbols, kSymbolsAtOnce),
          .z = task.tiles,
          .threads = kEqualizeThreads,
          .shared_bytes = shared_for(task)};
}

}  // namespace carillon::phy::cuda
