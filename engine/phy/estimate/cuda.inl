// A warp makes one tile of a user's estimates at a time: a thread for each of its 32 numbers, so
// that what it writes is a line. The block's other warps have neighbouring users, whose pilots lie
// between its own: what a warp leaves of a line of the pilot row, they find in the cache.
#pragma once

#include "phy/estimate/cuda.hpp"

namespace carillon::phy::cuda {

inline constexpr std::uint32_t kEstimateUsers = 8;     // of a block: a warp each
inline constexpr std::uint32_t kEstimateAntennas = 4;  // of a thread: they share its weights

template <typename Cta>
CARILLON_GPU void estimate_block(Cta& cta, const EstimateTask& task) {
  const std::uint32_t tile = cta.x(), first = cta.z() * kEstimateAntennas;
  cta.each_thread([&](std::uint32_t thread) {
    const std::uint32_t user = cta.y() * kEstimateUsers + thread / simt::kWarp;
    if (user >= task.users) return;
    const EstimateUser of = task.of[user];
    const std::uint32_t lane = thread % kTileLanes, plane = thread % simt::kWarp / kTileLanes;
    const std::uint32_t lanes = task.tiles * kTileLanes;
    const Tap* tap = task.taps + std::size_t{of.plan} * task.tap_count * lanes + tile * kTileLanes;
    const Tile* const rows = task.rows + of.row * task.row_stride + first * task.antenna_stride;
    float sum[kEstimateAntennas] = {};
    for (std::uint32_t n = 0; n < task.tap_count; ++n, tap += lanes) {
      const Tap at = tap[lane];
      if (at.weight == 0) continue;
      const Tile* const pilot = rows + at.pilot / kTileLanes * task.tile_stride;
      for (std::uint32_t i = 0; i < kEstimateAntennas; ++i) {
        if (first + i >= task.antennas) continue;
        const Tile& from = pilot[i * task.antenna_stride];
        sum[i] += at.weight * (plane == 0 ? from.re : from.im)[at.pilot % kTileLanes];
      }
    }
    Tile* const to = task.csi + tile * task.csi_tile_stride + user * task.csi_user_stride + first;
    for (std::uint32_t i = 0; i < kEstimateAntennas; ++i)
      if (first + i < task.antennas) (plane == 0 ? to[i].re : to[i].im)[lane] = sum[i];
  });
}

}  // namespace carillon::phy::cuda
