// What a combiner leaves of symbols because it was made with channels that are not quite those of
// its subcarriers: by how far these are from their mean over a group, and pilots of a comb from
// what their neighbours lead one to expect.
#pragma once

#include <cmath>
#include <cstdint>

#include "phy/simt/simt.hpp"
#include "phy/tile.hpp"

namespace carillon::phy {

/// Whether estimates can differ from channels by more than noise.
constexpr bool leaves_residual(std::uint32_t comb, std::uint32_t group) {
  return comb > 1 || group > 1;
}

/// Differences x of channels at pilots, by their neighbours: sums over the pilots h(p) of a comb
/// that have one on either side.
struct PilotChange {
  float squares = 0;        // Σ|x|²
  float along[2] = {0, 0};  // Σ x·h(p)*

  CARILLON_BOTH void add(const PilotChange& other) {
    squares += other.squares;
    for (int i = 0; i < 2; ++i) along[i] += other.along[i];
  }
};

/// How far subcarriers' channels h(k) are from the mean h(n) of their group: sums over the
/// subcarriers of a band, for groups of several. And how channels change from pilot to pilot, for
/// combs of several users.
struct GroupDeviation {
  float power = 0;                                             // Σ|h(n)|²
  float squares = 0;                                           // Σ|h(k) - h(n)|²
  float along_re[kTileLanes] = {}, along_im[kTileLanes] = {};  // [k % group]: Σ(h(k) - h(n))·h(n)*
  float pilot_power = 0;                                       // Σ|h(p)|²
  PilotChange bend = {};                                       // of h(p) - (h(before) + h(after))/2
  PilotChange step = {};                                       // of h(after) - h(p)

  void add(const GroupDeviation& other) {
    power += other.power;
    squares += other.squares;
    for (std::uint32_t i = 0; i < kTileLanes; ++i) {
      along_re[i] += other.along_re[i];
      along_im[i] += other.along_im[i];
    }
    pilot_power += other.pilot_power;
    bend.add(other.bend);
    step.add(other.step);
  }
};

/// Antennas at which a user's deviations are measured: with their many subcarriers enough to tell
/// them from noise. Of the users that share a pilot symbol, user u's are the antennas
/// a ≡ u (mod users).
inline constexpr std::uint32_t kDeviationAntennas = 16;

/// The pilots of one user, as deviations have them.
struct DeviationPlan {
  std::uint32_t subcarriers, group, pilots;
  /// Squared error of interpolation over that of a bend, on the mean over the band: a share t of
  /// the way from one pilot to the next the channel is t·(1 - t) bends away from the line between
  /// them.
  float between;
  GroupDeviation per_noise;  ///< what noise of unit variance at the pilots leads one to expect
};

/// What a combiner leaves of symbols of unit energy, by the deviations of a user at some antennas.
/// A part of them is common to all antennas, like the slope of a delay: the combiner passes it on
/// with the user's own symbol. The rest it weighs like noise.
struct Residual {
  float common = 0;  // variance of the user's symbol; 0 where noise explains it
  float spread = 0;  // variance at an antenna, by chance also less than none …
  float doubt = 0;   // … with noise's variance of it
};

/// Standard deviations of what noise alone yields that a residual has to exceed: else noise would
/// pass for one in half of all frames.
inline constexpr float kLeastResidual = 2;

/// Of sharing, from the sum over `antennas` antennas whose pilots have noise of variance `noise`.
CARILLON_BOTH inline Residual residual_of_group(const DeviationPlan& plan,
                                                const GroupDeviation& sum, std::uint32_t antennas,
                                                float noise) {
  const auto of = static_cast<float>(antennas);
  const GroupDeviation& per = plan.per_noise;
  const float each = noise * of, power = sum.power - each * per.power;
  if (plan.group == 1 || !(power > 0)) return {};
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

/// A channel's power stands out from that of noise by so many standard deviations of the latter, or
/// nothing is said of how it changes: what noise leaves is far more, and is divided by a power that
/// may by chance be near 0.
inline constexpr float kLeastPower = 4;

/// Of one bend or step, from sums as above.
CARILLON_BOTH inline Residual residual_of_change(const PilotChange& sum, const PilotChange& per,
                                                 float sum_power, float pilots, float antennas,
                                                 float noise) {
  const float each = noise * antennas, power = sum_power - each * pilots;
  if (!(power > kLeastPower * noise * std::sqrt(pilots * antennas))) return {};
  const float re = (sum.along[0] - each * per.along[0]) / power;
  const float im = (sum.along[1] - each * per.along[1]) / power;
  const float variance = noise * per.squares / pilots;  // of noise, in one
  const float by_noise = variance * (sum_power / power) / power;
  const float excess = re * re + im * im - by_noise;
  const float common = excess > kLeastResidual * by_noise ? excess : 0;
  // Neighbours' noise is not independent; twice a variance squared is a little more than it has.
  return {common, (sum.squares - each * per.squares - common * power) / (pilots * antennas),
          2 * variance * variance / (pilots * antennas)};
}

/// Of a delay that turns a channel by the angle t from pilot to pilot, a step is 4·x and a bend
/// 4·x² for x = sin²(t/2), and between pilots lines are off by 1/cos⁴(t/4) times as much as t·(1 -
/// t) bends, which is 4 for the longest delay that pilots show. Of several delays bends and steps
/// give a mean x, but the longest ones leave most: the root of the mean comes nearer to what they
/// leave.
/// Only where bends are far more than noise leaves, standard deviations: else its bends would count
/// for more than its steps.
inline constexpr float kClearBend = 8;

CARILLON_BOTH inline float beyond_bends(const DeviationPlan& plan, const GroupDeviation& sum,
                                        float each) {
  const GroupDeviation& per = plan.per_noise;
  const float bend = sum.bend.squares - each * per.bend.squares;
  const float step = sum.step.squares - each * per.step.squares;
  if (!(bend > 0)) return 1;
  const float x = bend < step ? std::sqrt(bend / step) : 1;
  const float root = 2 / (1 + std::sqrt(1 - x));  // 1/cos²(t/4)
  return root * root;
}

/// From the sum over `antennas` antennas, whose pilots have noise of variance `noise`.
CARILLON_BOTH inline Residual residual(const DeviationPlan& plan, const GroupDeviation& sum,
                                       std::uint32_t antennas, float noise) {
  Residual all = residual_of_group(plan, sum, antennas, noise);
  const GroupDeviation& per = plan.per_noise;
  const Residual bend = residual_of_change(sum.bend, per.bend, sum.pilot_power, per.pilot_power,
                                           static_cast<float>(antennas), noise);
  const bool clear = bend.spread > kClearBend * std::sqrt(bend.doubt);
  const float between =
      plan.between * (clear ? beyond_bends(plan, sum, noise * static_cast<float>(antennas)) : 1);
  all.common += between * bend.common;
  all.spread += between * bend.spread;
  all.doubt += between * between * bend.doubt;
  return all;
}

/// What spreads of all users, and their doubts, add to the noise of all.
CARILLON_BOTH inline float shared_residual(float spread, float doubt) {
  return spread > kLeastResidual * std::sqrt(doubt) ? spread : 0;
}

/// What holding the channel of its outermost pilot leaves of a user's symbols that far away from it
/// as from one pilot to the next: with the square of the distance.
struct HeldResidual {
  float common = 0, spread = 0;  // as Residual's; 0 where noise explains them
};

CARILLON_BOTH inline HeldResidual held_residual(const DeviationPlan& plan,
                                                const GroupDeviation& sum, std::uint32_t antennas,
                                                float noise) {
  const GroupDeviation& per = plan.per_noise;
  const Residual step = residual_of_change(sum.step, per.step, sum.pilot_power, per.pilot_power,
                                           static_cast<float>(antennas), noise);
  return {step.common, shared_residual(step.spread, step.doubt)};
}

}  // namespace carillon::phy
