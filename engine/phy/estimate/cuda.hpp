// Channel estimates on a GPU: those of all users and antennas in one launch, from the pilot rows
// that cuda::receive() leaves. What they are is EstimatePlan's (estimate.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/cuda/status.hpp"
#include "phy/estimate/estimate.hpp"
#include "phy/simt/simt.hpp"

namespace carillon::phy::cuda {

using carillon::cuda::Status;
using carillon::cuda::Stream;

/// A pilot's share in an estimate.
struct Tap {
  std::uint32_t pilot;  ///< subcarrier
  float weight;         ///< 0: there is no such pilot
};

/// What interpolation and averaging come to: each lane of the CSI is a sum of a few pilots.
struct EstimateTaps {
  std::uint32_t tiles = 0;  ///< of CSI
  std::uint32_t count = 0;  ///< taps of a lane: 2 for group 1, up to 16 for groups
  std::vector<Tap> taps;    ///< [plan][tap][16·tiles], tail lanes of weight 0
};
/// Of plans that differ in nothing but where their pilots are.
EstimateTaps taps_of(const std::vector<EstimatePlan>& plans);

struct EstimateUser {
  std::uint32_t row;   ///< the symbol that has its pilots
  std::uint32_t plan;  ///< which of taps_of()'s
};

/// rows[user.row * row_stride + antenna * antenna_stride + tile * tile_stride], pilots divided out
/// → csi[tile * csi_tile_stride + user * csi_user_stride + antenna]. Users next to each other best
/// share a row, as a comb's do. Users whose symbol has come can go ahead of the others: then `of`
/// and `csi` point to the first of them.
struct EstimateTask {
  std::uint32_t tiles, tap_count;
  const Tap* taps;
  std::uint32_t users, antennas;
  const EstimateUser* of;  ///< [user]
  const Tile* rows;
  std::size_t row_stride, antenna_stride, tile_stride;
  Tile* csi;
  std::size_t csi_tile_stride, csi_user_stride;
};

/// After estimate() with groups or combs: EstimateKernels::deviation of the antennas of
/// kDeviationAntennas. Pointers are to a symbol that users have pilots in, and to the first of
/// these users.
struct DeviationTask {
  std::uint32_t subcarriers, comb, group;  ///< as EstimatePlan's
  std::uint32_t antennas, symbols;
  std::uint32_t users;  ///< from the first symbol's first on: at least one in each symbol
  const Tile* rows;
  std::size_t row_stride, antenna_stride, tile_stride;
  const Tile* csi;
  std::size_t csi_tile_stride, csi_user_stride;
  GroupDeviation* deviations;  ///< [symbol][antenna]
};

simt::Launch launch_of(const EstimateTask&);
simt::Launch launch_of(const DeviationTask&);

/// In order on the stream; what it points to is on its device.
Status estimate(const EstimateTask&, Stream);
Status deviate(const DeviationTask&, Stream);

}  // namespace carillon::phy::cuda
