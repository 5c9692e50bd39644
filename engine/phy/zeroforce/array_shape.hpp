// What the antenna-array stages (combine, equalize, precode) must know of their arrays.
#pragma once

#include <cstddef>
#include <cstdint>

namespace carillon::phy {

/// A block of coefficients is [users][antenna_stride] tiles (or complex scalars) of which the first
/// `antennas` of each row count. The padding is never read nor written; choose a stride whose row
/// is no multiple of 4 KiB, else all rows compete for the same cache sets.
struct ArrayShape {
  std::uint32_t antennas;        ///< M, up to 256
  std::uint32_t users;           ///< K, up to 128; a combiner separates at most M
  std::uint32_t antenna_stride;  ///< ≥ antennas
};

/// Where coefficients' lanes are groups of `group` (1…15) subcarriers: the subcarriers of the
/// tile-th (0…group-1) tile that a tile of them is for, subcarrier i having lane (16·tile + i) /
/// group.
struct LaneGroups {
  std::uint8_t group = 1, tile = 0;
};

}  // namespace carillon::phy
