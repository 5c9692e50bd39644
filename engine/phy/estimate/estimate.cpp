#include "phy/estimate/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>

namespace carillon::phy {
namespace avx2 {
extern const EstimateKernels estimate_kernels;
}
namespace avx512 {
extern const EstimateKernels estimate_kernels;
}

const EstimateKernels& estimate_kernels(Isa isa) {
  return isa == Isa::Avx2 ? avx2::estimate_kernels : avx512::estimate_kernels;
}

namespace {

constexpr std::uint32_t kMostComb = 16, kMostGroup = 16;

void check(const char* name, std::uint32_t value, std::uint32_t least, std::uint32_t most) {
  if (value < least || value > most)
    throw std::invalid_argument(std::string(name) + " " + std::to_string(value) +
                                " is not within " + std::to_string(least) + " to " +
                                std::to_string(most));
}

Interpolation interpolate(std::uint32_t tile, std::uint32_t subcarriers, std::uint32_t comb,
                          std::uint32_t offset) {
  Interpolation pattern{};
  const auto start = static_cast<std::int32_t>(tile * kTileLanes);
  const std::uint32_t last = offset + (subcarriers - 1 - offset) / comb * comb;
  for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
    const std::uint32_t k = tile * kTileLanes + lane;
    if (k >= subcarriers) continue;
    const std::uint32_t left = k < offset ? offset : k - (k - offset) % comb;
    const bool between = k > left && left < last;  // else at a pilot or held at an edge
    const float share = between ? static_cast<float>(k - left) / static_cast<float>(comb) : 0.0F;
    pattern.left_lane[lane] = static_cast<std::int32_t>(left) - start;
    pattern.right_lane[lane] = between ? static_cast<std::int32_t>(left + comb) - start : 0;
    pattern.left[lane] = 1 - share;
    pattern.right[lane] = share;
  }
  return pattern;
}

TileMean mean_of(const Interpolation& pattern) {
  constexpr std::uint32_t kAround = 3 * kTileLanes;  // lanes of the tile before, of this, after
  float shares[kAround] = {}, total = 0;
  for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
    const auto pilot = [&](std::int32_t at) -> float& {
      return shares[static_cast<std::uint32_t>(at + static_cast<std::int32_t>(kTileLanes))];
    };
    pilot(pattern.left_lane[lane]) += pattern.left[lane];
    pilot(pattern.right_lane[lane]) += pattern.right[lane];
    total += pattern.left[lane] + pattern.right[lane];  // 1 for each subcarrier there is
  }
  TileMean mean;
  for (std::uint32_t i = 0; i < kAround; ++i) {
    if (shares[i] == 0) continue;
    constexpr auto kTileFloats = static_cast<std::int32_t>(sizeof(Tile) / sizeof(float));
    const auto tile = static_cast<std::int32_t>(i / kTileLanes) - 1;
    mean.weight[mean.count] = shares[i] / total;
    mean.at[mean.count++] = tile * kTileFloats + static_cast<std::int32_t>(i % kTileLanes);
  }
  return mean;
}

}  // namespace

EstimatePlan::EstimatePlan(std::uint32_t subcarriers, std::uint32_t comb, std::uint32_t offset,
                           std::uint32_t group)
    : subcarriers_(subcarriers), comb_(comb), offset_(offset), group_(group) {
  check("subcarriers", subcarriers, 1, 4096);
  check("comb", comb, 1, kMostComb);
  check("offset", offset, 0, std::min(comb, subcarriers) - 1);
  check("group", group, 1, kMostGroup);
  pilots_ = (subcarriers - offset + comb - 1) / comb;
  for (std::uint32_t tile = 0; tile < group; ++tile) {
    auto& lanes = group_lanes_.emplace_back();
    for (std::uint32_t i = 0; i < kTileLanes; ++i)
      lanes[i] = static_cast<std::int32_t>((tile * kTileLanes + i) / group);
  }
  for (std::uint32_t tile = 0; tile < tiles(); ++tile) {
    const Interpolation pattern = interpolate(tile, subcarriers, comb, offset);
    std::size_t known = 0;
    while (known < patterns_.size() &&
           std::memcmp(&patterns_[known], &pattern, sizeof pattern) != 0)
      ++known;
    if (known == patterns_.size()) {
      patterns_.push_back(pattern);
      means_.push_back(mean_of(pattern));
    }
    pattern_of_.push_back(static_cast<std::uint16_t>(known));
  }
}

void EstimatePlan::add_shares(std::uint32_t subcarrier, double times, Shares& to) const {
  const Interpolation& pattern = interpolation(subcarrier / kTileLanes);
  const std::uint32_t start = subcarrier / kTileLanes * kTileLanes, at = subcarrier % kTileLanes;
  const auto add = [&](std::int32_t pilot, float weight) {
    if (weight != 0) to[start + static_cast<std::uint32_t>(pilot)] += times * double{weight};
  };
  add(pattern.left_lane[at], pattern.left[at]);
  add(pattern.right_lane[at], pattern.right[at]);
}

std::map<std::uint32_t, double> EstimatePlan::shares(std::uint32_t lane) const {
  const std::uint32_t first = lane * group_, end = std::min(subcarriers_, first + group_);
  Shares shares;
  for (std::uint32_t k = first; k < end; ++k) add_shares(k, 1.0 / (end - first), shares);
  return shares;
}

DeviationPlan EstimatePlan::deviation_plan() const {
  DeviationPlan plan{subcarriers_, group_, pilots_, 0, {}};
  add_group_noise(plan.per_noise);
  if (comb_ == 1 || pilots_ < 3) return plan;
  for (std::uint32_t i = 1; i < comb_; ++i) {
    const float share = static_cast<float>(i) / static_cast<float>(comb_);
    plan.between += share * share * (1 - share) * (1 - share);
  }
  plan.between *= static_cast<float>(pilots_ - 1) / static_cast<float>(subcarriers_);
  const auto inner = static_cast<float>(pilots_ - 2);
  plan.per_noise.pilot_power = inner;
  plan.per_noise.bend = {1.5F * inner, {inner, 0}};
  plan.per_noise.step = {2 * inner, {-inner, 0}};
  return plan;
}

void EstimatePlan::add_group_noise(GroupDeviation& sum) const {
  for (std::uint32_t first = 0; first < subcarriers_; first += group_) {
    const Shares mean = shares(first / group_);
    for (std::uint32_t k = first; k < std::min(subcarriers_, first + group_); ++k) {
      Shares difference;
      for (const auto& [pilot, share] : mean) difference[pilot] = -share;
      add_shares(k, 1, difference);
      double along = 0;
      for (const auto& [pilot, share] : difference) {
        sum.squares += static_cast<float>(share * share);
        if (const auto of = mean.find(pilot); of != mean.end()) along += share * of->second;
      }
      sum.along_re[k - first] += static_cast<float>(along);
      for (const auto& [pilot, share] : mean) sum.power += static_cast<float>(share * share);
    }
  }
}

float EstimatePlan::noise_gain() const {
  const std::uint32_t groups = (subcarriers_ + group_ - 1) / group_;
  double sum = 0;
  for (std::uint32_t n = 0; n < groups; ++n)
    for (const auto& [pilot, share] : shares(n)) sum += share * share;
  return static_cast<float>(sum / groups);
}

CombPlan::CombPlan(std::uint32_t subcarriers, std::uint32_t comb, std::uint32_t group) {
  for (std::uint32_t offset = 0; offset == 0 || offset < comb; ++offset)
    plans_.emplace_back(subcarriers, comb, offset, group);
  if (group == 1 || kTileLanes % comb != 0) return;
  if (comb == 1 && group != kTileLanes) return;  // a single user is quicker by itself
  std::vector<Shares> all;
  for (std::uint32_t n = 0; n * group < subcarriers; ++n) {
    all.push_back(shares_of(n));
    std::uint32_t first = subcarriers, last = 0;  // pilots
    for (const auto& shares : all.back()) {
      first = std::min(first, shares.begin()->first);
      last = std::max(last, shares.rbegin()->first);
    }
    const std::uint32_t first_tile = first / kTileLanes;
    groups_.push_back({0, static_cast<std::uint16_t>(first_tile)});
    tiles_at_once_ = std::max(tiles_at_once_, last / kTileLanes - first_tile + 1);
  }
  for (std::uint32_t n = 0; n < all.size(); ++n) {
    const auto begin =
        std::min<std::uint32_t>(groups_[n].first_tile, plans_[0].tiles() - tiles_at_once_);
    LaneShares lanes;
    for (const auto& shares : all[n])
      for (const auto& [pilot, share] : shares)
        lanes.of[pilot / kTileLanes - begin][pilot % kTileLanes] = static_cast<float>(share);
    groups_[n] = {keep(lanes), static_cast<std::uint16_t>(begin)};
  }
}

CombPlan::Shares CombPlan::shares_of(std::uint32_t group) const {
  Shares shares;
  for (const EstimatePlan& plan : plans_) shares.push_back(plan.shares(group));
  return shares;
}

std::uint16_t CombPlan::keep(const LaneShares& shares) {
  const auto known = std::ranges::find_if(shares_, [&](const LaneShares& other) {
    return std::memcmp(&shares, &other, sizeof shares) == 0;
  });
  const auto place = known - shares_.begin();
  if (known == shares_.end()) shares_.push_back(shares);
  return static_cast<std::uint16_t>(place);
}

}  // namespace carillon::phy
