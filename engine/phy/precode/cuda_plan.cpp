// What of precoding on a GPU is the host's.
#include "phy/precode/cuda.hpp"
#include "phy/precode/cuda.inl"

namespace carillon::phy::cuda {

simt::Launch launch_of(const PrecodeTask& task) {
  return {.x = simt::divide_up(task.shape.antennas, antennas_at_once(task)),
          .y = simt::divide_up(task.symbols, kPrecodeSymbols),
          .z = task.tiles,
          .threads = precode_threads(task),
          .shared_bytes = shared_for(task)};
}

}  // namespace carillon::phy::cuda
