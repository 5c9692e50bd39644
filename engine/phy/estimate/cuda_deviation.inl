// How far channels are from what EstimateTask made of them for whole groups, and how they change
// from pilot to pilot. A block has an antenna in a pilot symbol; a thread one of the places in a
// group, so that it sums what belongs together, in every so many-th group; and every so many-th
// pilot.
#pragma once

#include "phy/estimate/cuda.hpp"

namespace carillon::phy::cuda {

using simt::operator*;
using simt::operator+;
using simt::operator-;

inline constexpr std::uint32_t kDeviationThreads = 256;

inline constexpr std::uint32_t kChangeSums = 7;  // GroupDeviation::pilot_power, bend and step

/// What a thread found, [of which sum][thread], then [of which sum][place in a group].
struct DeviationShared {
  float part[kChangeSums][kDeviationThreads];
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

template <typename Cta>
CARILLON_GPU void deviate_in_groups(Cta& cta, const DeviationPart& part, DeviationShared& all,
                                    GroupDeviation& to) {
  const DeviationTask& task = part.task;
  const std::uint32_t group = task.group, parts = kDeviationThreads / group;
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

CARILLON_GPU inline void add_change(PilotChange& sum, Complex x, Complex h) {
  sum.squares += simt::norm(x);
  Complex along{sum.along[0], sum.along[1]};
  simt::multiply_add(along, x, simt::conj(h));
  sum.along[0] = along.re;
  sum.along[1] = along.im;
}

template <typename Cta>
CARILLON_GPU void change_between_pilots(Cta& cta, const DeviationPart& part, DeviationShared& all,
                                        GroupDeviation& to) {
  const DeviationTask& task = part.task;
  cta.each_thread([&](std::uint32_t thread) {
    float power = 0;
    PilotChange bend, step;
    const std::uint32_t stride = kDeviationThreads * task.comb;
    std::uint32_t k = part.offset + (thread + 1) * task.comb;
    for (; k + task.comb < task.subcarriers; k += stride) {
      const Complex here = part.pilot(k), after = part.pilot(k + task.comb);
      const Complex mean = 0.5F * (part.pilot(k - task.comb) + after);
      power += simt::norm(here);
      add_change(bend, here - mean, here);
      add_change(step, after - here, here);
    }
    const float found[kChangeSums] = {power,        bend.squares,  bend.along[0], bend.along[1],
                                      step.squares, step.along[0], step.along[1]};
    for (std::uint32_t i = 0; i < kChangeSums; ++i) all.part[i][thread] = found[i];
  });
  for (std::uint32_t left = kDeviationThreads / 2; left > 0; left /= 2)
    cta.each(kChangeSums * left, [&](std::uint32_t i) {
      float* const sums = all.part[i / left];
      sums[i % left] += sums[left + i % left];
    });
  cta.each(1, [&](std::uint32_t) {
    const auto sum = [&](std::uint32_t i) { return all.part[i][0]; };
    to.pilot_power = sum(0);
    to.bend = {sum(1), {sum(2), sum(3)}};
    to.step = {sum(4), {sum(5), sum(6)}};
  });
}

/// Grid: antennas, symbols.
template <typename Cta>
CARILLON_GPU void deviation_block(Cta& cta, const DeviationTask& task) {
  const std::uint32_t symbol = cta.y(), antenna = cta.x(), first = symbol * task.comb;
  const std::uint32_t left = task.users - first, users = left < task.comb ? left : task.comb;
  if (antenna >= kDeviationAntennas * users) return;
  const std::uint32_t offset = antenna % users;
  const DeviationPart part{task, symbol, antenna, first + offset, offset};
  auto& all = *cta.template shared<DeviationShared>();
  GroupDeviation& to = task.deviations[std::size_t{symbol} * task.antennas + antenna];
  cta.each(1, [&](std::uint32_t) { to = {}; });
  if (task.group > 1) deviate_in_groups(cta, part, all, to);
  if (task.comb > 1) change_between_pilots(cta, part, all, to);
}

}  // namespace carillon::phy::cuda
