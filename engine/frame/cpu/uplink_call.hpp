// What the uplink's kernels share: of received antennas, how noisy they are and which take part.
#pragma once

#include <algorithm>

#include "frame/cpu/worker.hpp"

namespace carillon::frame {

struct UplinkCall : KernelCall {
  using KernelCall::KernelCall;

  /// Whose packets a received symbol was without. [antenna]
  std::uint8_t* absent(std::uint32_t symbol) const {
    return &slot.absent[std::size_t{symbol} * p.antennas_];
  }

  /// The pilot occasion that the task's symbol is of, or has the combiner of.
  std::uint32_t occasion() const { return frame.symbol(task.step).occasion; }
  /// [CSI tile][user][antenna]
  phy::Tile* channels() const { return slot.csi.data() + occasion() * p.csi_size(); }
  /// Among all P symbols of the frame.
  std::uint32_t first_pilot() const { return occasion() * frame.pilots_of_occasion(); }

  /// `place`: among the P symbols of their occasion.
  std::uint32_t users_of_pilot(std::uint32_t place) const {
    return std::min(p.users_ - std::min(p.users_, place * frame.comb()), frame.comb());
  }

  float mean_noise() const {
    float sum = 0;
    std::uint32_t measured = 0;
    const std::size_t first = std::size_t{first_pilot()} * p.antennas_;
    const std::size_t count = std::size_t{frame.pilots_of_occasion()} * p.antennas_;
    for (const float noise : slot.noise.span().subspan(first, count)) {
      if (noise < 0) continue;
      sum += noise;
      ++measured;
    }
    return measured == 0 ? 0 : sum / static_cast<float>(measured);
  }

  // An antenna of which a pilot is missing has no part in the combiner: by its other pilots alone
  // it would bring the interference of the users whose pilot is missing. So at least where enough
  // are left to tell users apart. Returns how many have one.
  std::uint32_t choose_antennas() const {
    auto& out = worker.left_out;
    std::ranges::fill(out, std::uint8_t{0});
    for (const auto s : frame.pilots_of(occasion()))
      for (std::uint32_t a = 0; a < p.antennas_; ++a) out[a] |= absent(s)[a];
    const auto left = static_cast<std::uint32_t>(std::ranges::count(out, 0));
    if (left >= p.together_) return left;
    std::ranges::fill(out, std::uint8_t{0});
    return p.antennas_;
  }

  /// What interpolation and sharing combiners leave on each user's symbols, to worker.residuals and
  /// worker.held.
  void measure_residuals(float noise) {
    for (std::uint32_t u = 0; u < p.users_ && !p.deviation_plans_.empty(); ++u) {
      std::uint32_t antennas = 0;
      const phy::GroupDeviation sum = deviation_of(u, antennas);
      const phy::DeviationPlan& plan = p.deviation_plans_[u % frame.comb()];
      worker.residuals[u] = phy::residual(plan, sum, antennas, noise);
      worker.held[u] = phy::held_residual(plan, sum, antennas, noise);
    }
  }

  phy::GroupDeviation deviation_of(std::uint32_t user, std::uint32_t& antennas) const {
    const std::uint32_t place = user / frame.comb(), offset = user % frame.comb();
    const std::uint32_t users = users_of_pilot(place);
    const std::size_t first = std::size_t{first_pilot() + place} * p.antennas_;
    phy::GroupDeviation sum;
    for (std::uint32_t a = offset; a < std::min(p.antennas_, phy::kDeviationAntennas * users);
         a += users) {
      if (slot.noise[first + a] < 0) continue;
      sum.add(slot.deviation[first + a]);
      ++antennas;
    }
    return sum;
  }

  /// Per antenna and subcarrier, as a combiner of these users is made with. The errors of their
  /// estimates come with their unit-energy symbols: noise like the other.
  template <typename Users>
  float combining_noise(float received, const Users& users) const {
    float estimates = 0, spread = 0, doubt = 0;
    for (const std::uint32_t u : users) {
      estimates += p.estimate_noise_[u % frame.comb()];
      if (p.deviation_plans_.empty()) continue;
      spread += worker.residuals[u].spread;
      doubt += worker.residuals[u].doubt;
    }
    return received * (1 + estimates) + phy::shared_residual(spread, doubt);
  }

  void add_residual(float* post_noise, float times) const {
    if (p.deviation_plans_.empty()) return;
    for (std::uint32_t u = 0; u < p.users_; ++u)
      for (std::uint32_t lane = 0; lane < phy::kTileLanes; ++lane) {
        float& noise = post_noise[u * phy::kTileLanes + lane];
        noise = std::clamp(noise + times * worker.residuals[u].common, phy::kPostNoiseFloor,
                           phy::kPostNoiseCeiling);
      }
  }
};

}  // namespace carillon::frame
