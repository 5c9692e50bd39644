// What a combiner that a group of subcarriers shares leaves of symbols, by how far the channel is
// from its mean over the group.
#pragma once

#include <cmath>
#include <cstdint>

#include "phy/simt/simt.hpp"
#include "phy/tile.hpp"

namespace carillon::phy {

/// How far subcarriers' channels h(k) are from the mean h(n) of their group: sums over the
/// subcarriers of a band.
struct GroupDeviation {
  float power = 0;                                             // Σ|h(n)|²
  float squares = 0;                                           // Σ|h(k) - h(n)|²
  float along_re[kTileLanes] = {}, along_im[kTileLanes] = {};  // [k % group]: Σ(h(k) - h(n))·h(n)*

  void add(const GroupDeviation& other) {
    power += other.power;
    squares += other.squares;
    for (std::uint32_t i = 0; i < kTileLanes; ++i) {
      along_re[i] += other.along_re[i];
      along_im[i] += other.along_im[i];
    }
  }
};

/// Antennas at which a user's deviations within groups are measured: with their many subcarriers
/// enough to tell them from noise. Of the users that share a pilot symbol, user u's are the
/// antennas a ≡ u (mod users).
inline constexpr std::uint32_t kDeviationAntennas = 16;

/// The pilots of one user, as deviations have them.
struct DeviationPlan {
  std::uint32_t subcarriers, group, pilots;
  GroupDeviation per_noise;  ///< what noise of unit variance at the pilots leads one to expect
};

/// What a combiner for a whole group leaves of symbols of unit energy, by the deviations of a user
/// at some antennas. A part of them is common to all antennas, like the slope of a delay: the
/// combiner passes it on with the user's own symbol. The rest it weighs like noise.
struct Residual {
  float common = 0;  // variance of the user's symbol; 0 where noise explains it
  float spread = 0;  // variance at an antenna, by chance also less than none …
  float doubt = 0;   // … with noise's variance of it
};

/// Standard deviations of what noise alone yields that a residual has to exceed: else noise would
/// pass for one in half of all frames.
inline constexpr float kLeastResidual = 2;

/// From the sum over `antennas` antennas, whose pilots have noise of variance `noise`.
CARILLON_BOTH inline Residual residual(const DeviationPlan& plan, const GroupDeviation& sum,
                                       std::uint32_t antennas, float noise) {
  const auto of = static_cast<float>(antennas);
  const GroupDeviation& per = plan.per_noise;
  const float each = noise * of, power = sum.power - each * per.power;
  if (!(power > 0)) return {};
  const auto subcarriers = static_cast<float>(plan.subcarriers),
             group = static_cast<float>(plan.group), pilots = static_cast<float>(plan.pilots);
  // A deviation's part along h(n), at each place in the group, and what noise has of it.
  float along = 0;
  const float by_noise = noise * per.squares / subcarriers * (sum.power / power) / power;
  for (std::uint32_t i = 0; i < plan.group; ++i) {
    const float re = (sum.along_re[i] - each * per.along_re[i]) / power;
    const float im = (sum.along_im[i] - each * per.along_im[i]) / power;
    along += re * re + im * im;
  }
  const float excess = along - by_noise;
  const float common = excess > kLeastResidual * by_noise / std::sqrt(group) ? group * excess : 0;
  return {common, (sum.squares - each * per.squares - common * power) / (subcarriers * of),
          noise * noise / (pilots * of)};
}

/// What spreads of all users, and their doubts, add to the noise of all.
CARILLON_BOTH inline float shared_residual(float spread, float doubt) {
  return spread > kLeastResidual * std::sqrt(doubt) ? spread : 0;
}

}  // namespace carillon::phy
