// What the antenna-array stages (combine, equalize, precode) must know of their arrays.
#pragma once

#include <cstdint>

namespace carillon::phy {

/// A block of coefficients is [users][antenna_stride] tiles (or complex scalars) of which the first
/// `antennas` of each row count. The padding is never read nor written; choose a stride whose row
/// is no multiple of 4 KiB, else all rows compete for the same cache sets.
struct ArrayShape {
  std::uint32_t antennas;        ///< M, up to 256
  std::uint32_t users;           ///< K ≤ M, up to 128
  std::uint32_t antenna_stride;  ///< ≥ antennas
};

}  // namespace carillon::phy
