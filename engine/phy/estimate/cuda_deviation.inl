// How far channels are from what EstimateTask made of them for whole groups. A block has an antenna
// in a pilot symbol; a thread one of the places in a group, so that it sums what belongs together,
// in every so many-th group.
#pragma once

#include "phy/estimate/cuda.hpp"

namespace carillon::phy::cuda {

using simt::operator*;
using simt::operator+;
using simt::operator-;

inline constexpr std::uint32_t kDeviationThreads = 256;

/// What a thread found, [of which sum][thread], then [of which sum][place in a group].
struct DeviationShared {
  float part[4][kDeviationThreads];
  float sum[2][kTileLanes];
};

/// An antenna's pilots in a symbol, of the user whose channel is looked at there.
struct DeviationPart {
  const DeviationTask& task;
  std::uint32_t symbol, antenna, user, offset;

  CARILLON_GPU Complex pilot(std::uint32_t k) const {
    const Tile* const row = task.rows + symbol * task.row_stride + antenna * task.antenna_stride;
    return simt::get(row[k / kTileLanes * task.tile_stride], k % kTileLanes);
  }
  /// As EstimatePlan interpolates.
  CARILLON_GPU Complex channel(std::uint32_t k) const {
    const std::uint32_t last = offset + (task.subcarriers - 1 - offset) / task.comb * task.comb;
    const std::uint32_t left = k < offset ? offset : k - (k - offset) % task.comb;
    if (k <= left || left >= last) return pilot(left);
    const float share = static_cast<float>(k - left) / static_cast<float>(task.comb);
    return (1 - share) * pilot(left) + share * pilot(left + task.comb);
  }
  CARILLON_GPU Complex mean(std::uint32_t group) const {
    const Tile* const lanes = task.csi + user * task.csi_user_stride + antenna;
    return simt::get(lanes[group / kTileLanes * task.csi_tile_stride], group % kTileLanes);
  }
};

/// Grid: antennas, symbols.
template <typename Cta>
CARILLON_GPU void deviation_block(Cta& cta, const DeviationTask& task) {
  const std::uint32_t symbol = cta.y(), antenna = cta.x(), first = symbol * task.comb;
  const std::uint32_t left = task.users - first, users = left < task.comb ? left : task.comb;
  if (antenna >= kDeviationAntennas * users) return;
  const std::uint32_t offset = antenna % users;
  const DeviationPart part{task, symbol, antenna, first + offset, offset};
  const std::uint32_t group = task.group, parts = kDeviationThreads / group;
  auto& all = *cta.template shared<DeviationShared>();
  cta.each_thread([&](std::uint32_t thread) {
    float power = 0, squares = 0;
    Complex along{0, 0};
    const std::uint32_t place = thread % group;
    for (std::uint32_t n = thread / group; n * group + place < task.subcarriers; n += parts) {
      if (thread >= parts * group) break;
      const Complex mean = part.mean(n), off = part.channel(n * group + place) - mean;
      power += simt::norm(mean);
      squares += simt::norm(off);
      simt::multiply_add(along, off, simt::conj(mean));
    }
    all.part[0][thread] = power;
    all.part[1][thread] = squares;
    all.part[2][thread] = along.re;
    all.part[3][thread] = along.im;
  });
  GroupDeviation& to = task.deviations[std::size_t{symbol} * task.antennas + antenna];
  cta.each(4 * kTileLanes, [&](std::uint32_t i) {
    const std::uint32_t which = i / kTileLanes, place = i % kTileLanes;
    float sum = 0;
    for (std::uint32_t n = 0; place < group && n < parts; ++n)
      sum += all.part[which][n * group + place];
    if (which == 2) to.along_re[place] = sum;
    if (which == 3) to.along_im[place] = sum;
    if (which < 2) all.sum[which][place] = sum;
  });
  cta.each(2, [&](std::uint32_t which) {
    float sum = 0;
    for (std::uint32_t place = 0; place < group; ++place) sum += all.sum[which][place];
    (which == 0 ? to.power : to.squares) = sum;
  });
}

}  // namespace carillon::phy::cuda
