// Modulation on a GPU, as part of precoding (phy/precode/cuda.hpp): coded bits of a user's runs to
// the constellation points of a tile. One thread gathers a constellation bit of all 16 lanes, which
// are neighbours in memory; then one thread makes a lane's point of what the threads before have
// left in shared memory.
#pragma once

#include "phy/demap/cuda.inl"
#include "phy/simt/simt.hpp"
#include "phy/transport/runs.hpp"

namespace carillon::phy::cuda {

/// A user's bits in one tile of one symbol.
struct TileBits {
  std::uint16_t plane[kMaxBitsPerSymbol];  ///< bit `lane` of plane[i]: constellation bit i
  std::uint32_t held;                      ///< lanes with data
  std::uint32_t of_symbol;                 ///< Qm
};

CARILLON_BOTH constexpr std::uint32_t lanes_of(const TileRun& run) {
  return ((1U << run.count) - 1) << run.first;
}

/// Constellation bit i of the run's lanes, at their places, flipped where `signs` says so.
CARILLON_GPU inline std::uint32_t gather(const TileRun& run, std::uint32_t i, std::uint32_t signs,
                                         const std::uint8_t* coded) {
  const std::uint32_t bit = i * run.places.plane_stride + run.element;
  const std::uint8_t* const bytes = coded + run.buffer + bit / 8;
  const std::uint32_t window =
      bytes[0] | std::uint32_t{bytes[1]} << 8 | std::uint32_t{bytes[2]} << 16;
  return ((window >> bit % 8 << run.first) ^ signs) & lanes_of(run);
}

/// 38.211 5.1.3–5.1.6: the innermost bit moves ±1 from the middle of ±2, that from the middle of
/// ±4, …. part: 0 for the real, 1 for the imaginary one.
CARILLON_GPU inline float component(const TileBits& bits, std::uint32_t part, std::uint32_t lane) {
  float point = 1;
  for (std::uint32_t i = bits.of_symbol; i > 0;) {
    i -= 2;
    if ((bits.plane[i + part] >> lane & 1) != 0) point = -point;
    if (i > 0) point = static_cast<float>(1U << (bits.of_symbol - i) / 2) - point;
  }
  return amplitude(bits.of_symbol) * point;
}

CARILLON_GPU inline Complex point(const TileBits& bits, std::uint32_t lane) {
  if ((bits.held >> lane & 1) == 0) return {0, 0};
  return {component(bits, 0, lane), component(bits, 1, lane)};
}

}  // namespace carillon::phy::cuda
