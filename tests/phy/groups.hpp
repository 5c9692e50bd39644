// Coefficients of groups of subcarriers, and the same for each subcarrier.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "phy/zeroforce/array.hpp"
#include "support/test.hpp"

namespace carillon::phy::testing {

/// Each subcarrier's coefficients, which are words of 32 bits in lines of sixteen.
template <typename T>
AlignedArray<T> spread(LaneGroups of, std::span<const T> groups) {
  AlignedArray<T> lanes(groups.size());
  const auto* const from = reinterpret_cast<const std::byte*>(groups.data());
  auto* const to = reinterpret_cast<std::byte*>(lanes.data());
  for (std::size_t i = 0; i < groups.size_bytes() / 4; ++i) {
    const std::size_t lane = (kTileLanes * of.tile + i % kTileLanes) / of.group;
    std::memcpy(to + 4 * i, from + 4 * (i / kTileLanes * kTileLanes + lane), 4);
  }
  return lanes;
}
template <typename T>
AlignedArray<T> spread(LaneGroups of, const AlignedArray<T>& groups) {
  return spread(of, std::span<const T>(groups.data(), groups.size()));
}

/// Calls check(groups) for every tile of every size of groups.
template <typename Check>
void for_groups(Check&& check) {
  for (std::uint8_t group = 1; group < kTileLanes; ++group)
    for (std::uint8_t tile = 0; tile < group; ++tile) check(LaneGroups{group, tile});
}

/// Bit for bit.
inline void expect_same(const Tiles& a, const Tiles& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(std::memcmp(&a[i], &b[i], sizeof a[i]), 0) << "row " << i;
}

}  // namespace carillon::phy::testing
