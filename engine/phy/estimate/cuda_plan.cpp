// What of channel estimation on a GPU is the host's.
#include <algorithm>
#include <map>

#include "phy/estimate/cuda.hpp"
#include "phy/estimate/cuda.inl"
#include "phy/estimate/cuda_deviation.inl"

namespace carillon::phy::cuda {
EstimateTaps taps_of(const std::vector<EstimatePlan>& plans) {
  EstimateTaps result;
  if (plans.empty()) return result;
  result.tiles = csi_tiles(plans[0].subcarriers(), plans[0].group());
  const std::uint32_t lanes = result.tiles * kTileLanes;
  std::vector<std::map<std::uint32_t, double>> all;
  for (const EstimatePlan& plan : plans)
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      all.push_back(plan.shares(lane));
      result.count = std::max(result.count, static_cast<std::uint32_t>(all.back().size()));
    }
  result.taps.resize(plans.size() * result.count * lanes);
  for (std::size_t i = 0; i < all.size(); ++i) {
    Tap* to = &result.taps[i / lanes * result.count * lanes + i % lanes];
    for (const auto& [pilot, weight] : all[i]) {
      *to = {pilot, static_cast<float>(weight)};
      to += lanes;
    }
  }
  return result;
}

simt::Launch launch_of(const EstimateTask& task) {
  return {.x = task.tiles,
          .y = simt::divide_up(task.users, kEstimateUsers),
          .z = simt::divide_up(task.antennas, kEstimateAntennas),
          .threads = kEstimateUsers * simt::kWarp};
}

simt::Launch launch_of(const DeviationTask& task) {
  return {.x = std::min(task.antennas, kDeviationAntennas * std::min(task.users, task.comb)),
          .y = task.symbols,
          .threads = kDeviationThreads,
          .shared_bytes = sizeof(DeviationShared)};
}

}  // namespace carillon::phy::cuda
