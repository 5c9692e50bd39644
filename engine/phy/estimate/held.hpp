// What holding a channel past its user's outermost pilot leaves there. One number for the whole
// band would not do: it is a few subcarriers that have many times as much as the others.
#pragma once

#include <algorithm>
#include <cstdint>

#include "phy/estimate/residual.hpp"

namespace carillon::phy {

/// The pilots of users in combs, user u's at subcarriers k ≡ u (mod comb), and groups of estimates.
struct HeldBand {
  std::uint32_t subcarriers, comb, group;

  /// Whether the subcarriers of `count` CSI lanes from `lane` on lie between pilots of all users.
  CARILLON_BOTH constexpr bool inside(std::uint32_t lane, std::uint32_t count) const {
    return lane * group + 1 >= comb && (lane + count) * group + comb <= subcarriers + 1;
  }
  /// The mean over a CSI lane's subcarriers of the squared distance to the pilot whose channel is
  /// held there, in combs.
  CARILLON_BOTH float share(std::uint32_t lane, std::uint32_t user) const {
    const std::uint32_t first = lane * group, offset = user % comb;
    const std::uint32_t end = first + group < subcarriers ? first + group : subcarriers;
    const std::uint32_t last = offset + (subcarriers - 1 - offset) / comb * comb;
    std::uint32_t sum = 0;
    for (std::uint32_t k = first; k < end; ++k) {
      const std::uint32_t away = k < offset ? offset - k : k > last ? k - last : 0;
      sum += away * away;
    }
    return sum == 0 ? 0 : static_cast<float>(sum) / static_cast<float>((end - first) * comb * comb);
  }
  /// What a CSI lane's antennas have of users first, first + step, …; held: [user].
  CARILLON_BOTH float spread(std::uint32_t lane, std::uint32_t first, std::uint32_t step,
                             std::uint32_t users, const HeldResidual* held) const {
    float sum = 0;
    for (std::uint32_t u = first; u < users; u += step) sum += share(lane, u) * held[u].spread;
    return sum;
  }
};

/// Of a lane's spread to the noise that combine() knew.
CARILLON_BOTH constexpr float held_ratio(float spread, float noise) {
  return spread > 0 && noise > 0 ? spread / noise : 0;
}

/// To post_noise[user][16] of a CSI tile, which combine() found with `noise`. A matched filter's
/// has more of other users' signals in it than that.
inline void add_held(const HeldBand& band, std::uint32_t csi_tile, std::uint32_t users,
                     const HeldResidual* held, float noise, float* post_noise) {
  const std::uint32_t first = csi_tile * kTileLanes;
  if (band.inside(first, kTileLanes)) return;
  const std::uint32_t lanes = (band.subcarriers + band.group - 1) / band.group;
  for (std::uint32_t lane = first; lane < std::min(lanes, first + kTileLanes); ++lane) {
    const float spread = held_ratio(band.spread(lane, 0, 1, users, held), noise);
    for (std::uint32_t u = 0; u < users; ++u) {
      float& after = post_noise[u * kTileLanes + lane % kTileLanes];
      after += after * spread + band.share(lane, u) * held[u].common;
    }
  }
}

}  // namespace carillon::phy
