// What follows from combiners: one for every subcarrier, half precision, the antennas' power. All
// of it is limited by memory: each row of W is read once from it, and once more from the cache when
// its largest component is known.
#pragma once

#include <cmath>

#include "phy/estimate/held.hpp"
#include "phy/zeroforce/cuda_factor.inl"

namespace carillon::phy::cuda::zeroforce {

/// Threads that go over a row for each lane.
inline constexpr std::uint32_t kParts = 16;
inline constexpr std::uint32_t kExpandThreads = kTileLanes * kParts;
/// Shared memory: RowSums of each thread, factors and held_ratio() of the lanes, and what
/// expand_scalars() turns over.
inline constexpr std::uint32_t kFactorsAt = kExpandThreads * 8;
inline constexpr std::uint32_t kHeldAt = kFactorsAt + kTileLanes * 4;
inline constexpr std::uint32_t kTurnedAt = kHeldAt + kTileLanes * 4;

/// What one thread, and then all, found of a lane's row of W.
struct RowSums {
  float largest, power;
};
static_assert(sizeof(RowSums) * kExpandThreads == kFactorsAt);

CARILLON_GPU inline RowSums with(RowSums sums, Complex w) {
  return {std::fmax(sums.largest, std::fmax(std::fabs(w.re), std::fabs(w.im))),
          sums.power + simt::norm(w)};
}

/// Leaves in sums[lane] what value(lane, antenna) comes to; sums has room for kExpandThreads.
template <typename Cta, typename Value>
CARILLON_GPU void sum_rows(Cta& cta, std::uint32_t antennas, RowSums* sums, Value&& value) {
  cta.each(kExpandThreads, [&](std::uint32_t i) {
    RowSums own = {0, 0};
    for (std::uint32_t a = i / kTileLanes; a < antennas; a += kParts)
      own = with(own, value(i % kTileLanes, a));
    sums[i] = own;
  });
  cta.each(kTileLanes, [&](std::uint32_t lane) {
    RowSums all = sums[lane];
    for (std::uint32_t part = 1; part < kParts; ++part) {
      const RowSums next = sums[part * kTileLanes + lane];
      all = {std::fmax(all.largest, next.largest), all.power + next.power};
    }
    sums[lane] = all;
  });
}

/// The power of two that brings `largest` to ¼…½; 1 for a row of zeros.
CARILLON_GPU inline float row_factor(float largest) {
  return largest > 0 ? std::ldexp(1.0F, -2 - std::ilogb(largest)) : 1;
}
/// Read and written at once.
struct alignas(4) HalfEntry {
  std::uint16_t re, im;
};
CARILLON_GPU inline void store_half(Complex w, float factor, HalfComplex* to) {
  *reinterpret_cast<HalfEntry*>(to) = {simt::to_half(factor * w.re), simt::to_half(factor * w.im)};
}

/// Past the users' outermost pilots noise is more, as the CPU has it, in some of a block's lanes.
struct HeldLanes {
  HeldBand band;
  const float* ratio;  ///< of each lane; nullptr: in none
};

/// A block's, of CSI lanes first…last. A user's part takes long, so that all threads have some.
template <typename Cta, typename LaneOf>
CARILLON_GPU HeldLanes find_held(Cta& cta, const ExpandTask& expand, std::uint32_t first,
                                 std::uint32_t last, LaneOf&& lane_of) {
  const CombineTask& task = expand.of;
  const HeldBand band{expand.subcarriers, task.comb, expand.group};
  if (task.held == nullptr || task.detector == Detector::Conjugate ||
      band.inside(first, last - first + 1))
    return {band, nullptr};
  float* const sums = cta.template shared<float>();
  float* const ratio = cta.template shared<float>(kHeldAt);
  cta.each(kExpandThreads, [&](std::uint32_t i) {
    const std::uint32_t lane = lane_of(i % kTileLanes);
    sums[i] = lane > last ? 0 : band.spread(lane, i / kTileLanes, kParts, task.users, task.held);
  });
  cta.each(kTileLanes, [&](std::uint32_t lane) {
    float sum = 0;
    for (std::uint32_t part = 0; part < kParts; ++part) sum += sums[part * kTileLanes + lane];
    ratio[lane] = held_ratio(sum, *task.mean_noise);
  });
  return {band, ratio};
}

/// Noise after combining: factor() left out the noise itself where it regularised, and what of a
/// user's own symbol interpolation and a combiner that is shared get wrong.
CARILLON_GPU inline float post_noise(const ExpandTask& expand, const HeldLanes& held,
                                     std::uint32_t place, std::uint32_t lane, std::uint32_t user,
                                     float power) {
  const CombineTask& task = expand.of;
  float after = task.variances[std::size_t{lane} * task.users + user];
  if ((task.flags[lane] & kRegularised) != 0) after = kept(after + *task.mean_noise * power);
  if (task.residual == nullptr) return after;
  if (held.ratio != nullptr)
    after += after * held.ratio[place] + held.band.share(lane, user) * task.held[user].common;
  return std::fmin(after + task.residual[user], kPostNoiseCeiling);
}

CARILLON_BOTH constexpr std::uint32_t subcarrier_tiles(const ExpandTask& task) {
  const std::uint32_t all = simt::divide_up(task.subcarriers, kTileLanes);
  const std::uint32_t begin = task.of.first_tile * task.group;
  const std::uint32_t end = begin + task.of.tiles * task.group;
  return begin >= all ? 0 : (end < all ? end : all) - begin;
}

/// Group 16: a row of W has the same user's combiners of 16 subcarrier tiles as its lanes.
template <typename Cta>
CARILLON_GPU void expand_scalars(Cta& cta, const ExpandTask& task) {
  const CombineTask& of = task.of;
  const std::uint32_t tile = of.first_tile + cta.x(), user = cta.y();
  const std::uint32_t stride = of.antennas + 1;  // other banks for other lanes
  const Tile* const w = of.w + tile * of.tile_stride + user * of.user_stride;
  RowSums* const sums = cta.template shared<RowSums>();
  Entry* const turned = cta.template shared<Entry>(kTurnedAt);
  float* const factors = cta.template shared<float>(kFactorsAt);
  in_batches<4, Complex>(
      cta, of.antennas * kTileLanes,
      [&](std::uint32_t i) {
        const std::uint32_t antenna = i / kTileLanes < of.antennas ? i / kTileLanes : 0;
        return simt::get(w[antenna], i % kTileLanes);
      },
      [&](std::uint32_t i, Complex held) {
        turned[i % kTileLanes * stride + i / kTileLanes] = {held.re, held.im};
      });
  const auto value = [&](std::uint32_t lane, std::uint32_t antenna) {
    const Entry entry = turned[lane * stride + antenna];
    return Complex{entry.re, entry.im};
  };
  const std::uint32_t first = tile * kTileLanes,
                      all = simt::divide_up(task.subcarriers, kTileLanes);
  const HeldLanes held_lanes =
      find_held(cta, task, first, (first + kTileLanes < all ? first + kTileLanes : all) - 1,
                [&](std::uint32_t lane) { return first + lane; });
  sum_rows(cta, of.antennas, sums, value);
  cta.each(kTileLanes * kTileLanes, [&](std::uint32_t i) {
    const std::uint32_t n = i / kTileLanes;
    if (first + n >= all) return;
    const std::size_t row = std::size_t{first + n} * of.users + user;
    task.post_noise[row * kTileLanes + i % kTileLanes] =
        post_noise(task, held_lanes, n, first + n, user, sums[n].power);
    if (i % kTileLanes != 0) return;
    factors[n] = row_factor(sums[n].largest);
    if (task.half_scale != nullptr) task.half_scale[row] = 1 / (factors[n] * kHalfScale);
  });
  cta.each(of.antennas * kTileLanes, [&](std::uint32_t i) {
    const std::uint32_t n = i / of.antennas, antenna = i % of.antennas;
    if (first + n >= all) return;
    const std::size_t to = (first + n) * task.tile_stride + user * task.user_stride + antenna;
    if (task.scalars != nullptr) task.scalars[to] = value(n, antenna);
    if (task.half_scalars != nullptr)
      store_half(value(n, antenna), factors[n], task.half_scalars + to);
  });
}

/// Other groups: a lane has a group's combiner.
template <typename Cta>
CARILLON_GPU void expand_tiles(Cta& cta, const ExpandTask& task) {
  const CombineTask& of = task.of;
  const std::uint32_t tile = of.first_tile * task.group + cta.x(), user = cta.y();
  RowSums* const sums = cta.template shared<RowSums>();
  float* const factor = cta.template shared<float>(kFactorsAt);
  const auto lane_of = [&](std::uint32_t lane) { return (tile * kTileLanes + lane) / task.group; };
  const auto value = [&](std::uint32_t lane, std::uint32_t antenna) {
    const std::uint32_t n = lane_of(lane);
    return simt::get(of.w[n / kTileLanes * of.tile_stride + user * of.user_stride + antenna],
                     n % kTileLanes);
  };
  // In single precision, and with nothing regularised, W need not be read for its sums.
  std::uint32_t flags = 0;
  for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) flags |= of.flags[lane_of(lane)];
  const HeldLanes held_lanes = find_held(cta, task, lane_of(0), lane_of(kTileLanes - 1), lane_of);
  const bool wanted = task.half_scale != nullptr || (flags & kRegularised) != 0;
  sum_rows(cta, wanted ? of.antennas : 0, sums, value);
  const std::size_t row = std::size_t{tile} * of.users + user;
  cta.each(kTileLanes, [&](std::uint32_t lane) {
    task.post_noise[row * kTileLanes + lane] =
        post_noise(task, held_lanes, lane, lane_of(lane), user, sums[lane].power);
    if (lane != 0) return;
    float most = 0;
    for (std::uint32_t i = 0; i < kTileLanes; ++i) most = std::fmax(most, sums[i].largest);
    *factor = row_factor(most);
    if (task.half_scale != nullptr) task.half_scale[row] = 1 / (*factor * kHalfScale);
  });
  if (task.tiles == nullptr && task.half == nullptr) return;
  in_batches<4, Complex>(
      cta, of.antennas * kTileLanes,
      [&](std::uint32_t i) {
        const std::uint32_t antenna = i / kTileLanes < of.antennas ? i / kTileLanes : 0;
        return value(i % kTileLanes, antenna);
      },
      [&](std::uint32_t i, Complex held) {
        const std::uint32_t lane = i % kTileLanes, antenna = i / kTileLanes;
        const std::size_t to = tile * task.tile_stride + user * task.user_stride + antenna;
        if (task.tiles != nullptr) simt::put(task.tiles[to], lane, held);
        if (task.half != nullptr) store_half(held, *factor, task.half[to].at + lane);
      });
}

/// Grid: tiles (of csi for group 16, else of subcarriers), users.
template <typename Cta>
CARILLON_GPU void expand_block(Cta& cta, const ExpandTask& task) {
  if (task.group == kTileLanes) return expand_scalars(cta, task);
  expand_tiles(cta, task);
}

inline constexpr std::uint32_t kPowerAntennas = 8;  // of a block: a kilobyte of a row of W
inline constexpr std::uint32_t kPowerNumbers = kPowerAntennas * 2 * kTileLanes;
inline constexpr std::uint32_t kPowerUsers = 4;  // at once
inline constexpr std::uint32_t kPowerThreads = kPowerNumbers * kPowerUsers;

/// The subcarriers that have combiner n.
CARILLON_BOTH constexpr std::uint32_t times_used(const AntennaPowerTask& task, std::uint32_t n) {
  const std::uint32_t first = n * task.group;
  if (first >= task.subcarriers) return 0;
  const std::uint32_t rest = task.subcarriers - first;
  return rest < task.group ? rest : task.group;
}

/// Grid: tiles of csi, antennas.
template <typename Cta>
CARILLON_GPU void antenna_power_block(Cta& cta, const AntennaPowerTask& task) {
  const CombineTask& of = task.of;
  const std::uint32_t tile = of.first_tile + cta.x(), first = cta.y() * kPowerAntennas;
  float* const sums = cta.template shared<float>();
  cta.each(kPowerThreads, [&](std::uint32_t i) {
    const std::uint32_t number = i % kPowerNumbers, antenna = first + number / (2 * kTileLanes);
    const std::uint32_t lane = number % kTileLanes;
    float sum = 0;
    if (antenna < of.antennas) {
      const Tile* w = of.w + tile * of.tile_stride + antenna;
      for (std::uint32_t user = i / kPowerNumbers; user < of.users; user += kPowerUsers) {
        const Tile& from = w[user * of.user_stride];
        const float part = (number / kTileLanes % 2 == 0 ? from.re : from.im)[lane];
        sum += part * part;
      }
    }
    sums[i] = static_cast<float>(times_used(task, tile * kTileLanes + lane)) * sum;
  });
  for (std::uint32_t left = kPowerThreads / 2; left >= kPowerNumbers; left /= 2)
    cta.each(left, [&](std::uint32_t i) { sums[i] += sums[left + i]; });
  for (std::uint32_t left = kTileLanes; left > 0; left /= 2)
    cta.each(kPowerAntennas * left, [&](std::uint32_t i) {
      float* const own = sums + i / left * 2 * kTileLanes + i % left;
      own[0] += own[left];
    });
  cta.each(kPowerAntennas, [&](std::uint32_t a) {
    if (first + a < of.antennas)
      task.power[std::size_t{tile} * of.antennas + first + a] = sums[a * 2 * kTileLanes];
  });
}

inline constexpr std::uint32_t kGainThreads = 256;

/// One block: a thread for each antenna, and the most of all.
template <typename Cta>
CARILLON_GPU void gain_block(Cta& cta, const GainTask& task) {
  float* const most = cta.template shared<float>();
  cta.each_thread([&](std::uint32_t thread) {
    float own = 0;
    for (std::uint32_t antenna = thread; antenna < task.antennas; antenna += kGainThreads) {
      float sum = 0;
      for (std::uint32_t tile = 0; tile < task.tiles; ++tile)
        sum += task.power[std::size_t{tile} * task.antennas + antenna];
      own = std::fmax(own, sum);
    }
    most[thread] = own;
  });
  for (std::uint32_t left = kGainThreads / 2; left > 0; left /= 2)
    cta.each(left, [&](std::uint32_t i) { most[i] = std::fmax(most[i], most[left + i]); });
  cta.each(1,
           [&](std::uint32_t) { *task.gain = *most > 0 ? std::sqrt(task.target / *most) : 0.0F; });
}

}  // namespace carillon::phy::cuda::zeroforce
