// What of summing repeated bits on a GPU is the host's.
#include "phy/demap/cuda.hpp"
#include "phy/demap/cuda.inl"

namespace carillon::phy::cuda {

static_assert(amplitude(2) == half_distance(Modulation::Qpsk) &&
              amplitude(4) == half_distance(Modulation::Qam16) &&
              amplitude(6) == half_distance(Modulation::Qam64) &&
              amplitude(8) == half_distance(Modulation::Qam256));

Recovery recovery(const SoftMap& map, std::size_t e, std::size_t d) {
  return {
      {map.pieces[0], map.pieces[1], map.pieces[2]}, map.piece_count, map.lap, map.E, map.N, e, d};
}

simt::Launch launch_of(const RecoverTask& task) {
  return {.x = task.count,
          .y = simt::divide_up(task.most_places, kRecoverThreads),
          .threads = kRecoverThreads};
}

}  // namespace carillon::phy::cuda
