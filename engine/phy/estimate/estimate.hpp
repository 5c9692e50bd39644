// A user's channel from one antenna's row of least-squares values: linear interpolation across the
// comb with the edges held, then averaging over groups of subcarriers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/isa.hpp"
#include "phy/estimate/residual.hpp"
#include "phy/tile.hpp"

namespace carillon::phy {

/// Tiles of channel coefficients: one lane per subcarrier (group 1) or per group of subcarriers.
constexpr std::uint32_t csi_tiles(std::uint32_t subcarriers, std::uint32_t group) {
  return tiles_for((subcarriers + group - 1) / group);
}

/// How the 16 subcarriers of a tile follow from pilots: a share of the value at lane `left_lane`
/// and one of that at `right_lane`, counted from the start of this tile: -16…15 and 0…31.
struct alignas(64) Interpolation {
  std::int32_t left_lane[kTileLanes], right_lane[kTileLanes];
  float left[kTileLanes], right[kTileLanes];
};

/// The mean over a tile's subcarriers as weights of the few pilots in that tile and its neighbours:
/// what interpolation and averaging come to in one step.
struct TileMean {
  std::uint32_t count = 0;
  float weight[kTileLanes];
  std::int32_t at[kTileLanes];  // floats from the start of this tile to the pilot's real part
};

/// The pilots of one user: subcarriers k ≡ offset (mod comb). Immutable, shared by all threads.
class EstimatePlan {
 public:
  /// comb 1…16, offset < comb, group 1…16, and at least one pilot within `subcarriers`. Throws
  /// std::invalid_argument, naming the argument and its range.
  EstimatePlan(std::uint32_t subcarriers, std::uint32_t comb, std::uint32_t offset,
               std::uint32_t group);

  std::uint32_t subcarriers() const { return subcarriers_; }
  std::uint32_t tiles() const { return tiles_for(subcarriers_); }
  std::uint32_t comb() const { return comb_; }
  std::uint32_t offset() const { return offset_; }
  std::uint32_t group() const { return group_; }
  std::uint32_t pilots() const { return pilots_; }
  /// Variance of an estimate over that of the value at a pilot: what interpolation and averaging
  /// leave of the noise, on the mean over the band.
  float noise_gain() const;
  /// The subcarriers of pilots, and their shares in what lane `lane` % 16 of CSI tile `lane` / 16
  /// is; none past the last.
  std::map<std::uint32_t, double> shares(std::uint32_t lane) const;
  DeviationPlan deviation_plan() const;
  /// The lanes of CSI tile `tile` / group that hold the groups of this tile's subcarriers.
  const std::int32_t* group_lanes(std::uint32_t tile) const {
    return group_lanes_[tile % group_].data();
  }
  const Interpolation& interpolation(std::uint32_t tile) const {
    return patterns_[pattern_of_[tile]];
  }
  const TileMean& mean(std::uint32_t tile) const { return means_[pattern_of_[tile]]; }

 private:
  using Shares = std::map<std::uint32_t, double>;
  void add_shares(std::uint32_t subcarrier, double times, Shares& to) const;
  void add_group_noise(GroupDeviation& sum) const;

  std::uint32_t subcarriers_, comb_, offset_, group_, pilots_;
  std::vector<std::array<std::int32_t, kTileLanes>> group_lanes_;
  std::vector<Interpolation> patterns_;  // distinct ones only, so that they stay in the cache
  std::vector<TileMean> means_;          // of each pattern
  std::vector<std::uint16_t> pattern_of_;
};

/// What the pilots at each lane of a few neighbouring tiles add to the mean over a group's
/// subcarriers of that lane's user. Groups and combs of up to 16 reach into four tiles.
struct alignas(64) LaneShares {
  float of[4][kTileLanes] = {};
};

/// The pilots of all users of a symbol: offsets 0 … comb-1. Immutable, shared by all threads.
class CombPlan {
 public:
  /// As EstimatePlan's.
  CombPlan(std::uint32_t subcarriers, std::uint32_t comb, std::uint32_t group);

  std::uint32_t comb() const { return static_cast<std::uint32_t>(plans_.size()); }
  const EstimatePlan& plan(std::uint32_t offset) const { return plans_[offset]; }
  /// Whether each user is estimated for itself. Not where there are groups of several users, or of
  /// 16 subcarriers, and comb divides 16, so that a lane is the same user's in all tiles: only then
  /// there are shares.
  bool separate() const { return groups_.empty(); }
  struct Group {
    std::uint16_t shares;      // which of shares(), of the pilots in tiles_at_once() tiles …
    std::uint16_t first_tile;  // … from here on
  };
  std::span<const Group> groups() const { return groups_; }
  std::span<const LaneShares> shares() const { return shares_; }
  std::uint32_t tiles_at_once() const { return tiles_at_once_; }

 private:
  using Shares = std::vector<std::map<std::uint32_t, double>>;  // [user]
  Shares shares_of(std::uint32_t group) const;
  std::uint16_t keep(const LaneShares& shares);

  std::vector<EstimatePlan> plans_;
  std::vector<LaneShares> shares_;  // distinct ones only, so that they stay in the cache
  std::vector<Group> groups_;
  std::uint32_t tiles_at_once_ = 0;
};

struct EstimateKernels {
  /// row: tiles of channel values at the user's pilots (other lanes are ignored). group 1:
  /// csi[t * stride] is the channel at each subcarrier. group g: lane i of csi[t * stride] is the
  /// mean over subcarriers n·g … n·g+g-1 of group n = 16·t + i (fewer in the last). Tail lanes
  /// zero.
  void (*estimate)(const EstimatePlan& plan, const Tile* row, Tile* csi,
                   std::size_t stride) noexcept;

  /// The same for the first `users` (0 … comb) of a symbol, user u's at csi[u * user_stride]. All
  /// lanes must be finite.
  void (*estimate_all)(const CombPlan& plan, const Tile* row, std::uint32_t users, Tile* csi,
                       std::size_t user_stride, std::size_t stride) noexcept;

  /// The deviation of the channel that `row` gives from `csi`, which is what estimate() made of it.
  GroupDeviation (*deviation)(const EstimatePlan& plan, const Tile* row, const Tile* csi,
                              std::size_t stride) noexcept;

  /// How that channel changes from pilot to pilot: the rest of a GroupDeviation, for combs.
  GroupDeviation (*change)(const EstimatePlan& plan, const Tile* row) noexcept;
};

const EstimateKernels& estimate_kernels(Isa isa = active_isa());

}  // namespace carillon::phy
