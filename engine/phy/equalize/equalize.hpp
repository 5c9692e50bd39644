// Equalization: M antennas' subcarriers to K users' symbols, s = W·y, lane by lane.
#pragma once

#include "base/isa.hpp"
#include "phy/modulation.hpp"
#include "phy/tile.hpp"
#include "phy/zeroforce/array_shape.hpp"

namespace carillon::phy {

/// s[user] = Σ w[user][antenna] · y[antenna]: y and s are one tile per antenna and user.
struct EqualizeKernels {
  /// Each group of subcarriers, {} for each subcarrier, has its own combiner: w is tiles.
  void (*per_group)(ArrayShape shape, LaneGroups of, const Tile* w, const Tile* y,
                    Tile* s) noexcept;
  /// The tile's 16 lanes share one: w is scalars.
  void (*per_tile)(ArrayShape shape, const Complex* w, const Tile* y, Tile* s) noexcept;

  /// The same from half precision, s[user] = scale[user] · Σ w[user][antenna] · y[antenna], as
  /// ZeroForceKernels::halve and OfdmKernels::receive_half prepare w, scale and y. AVX-512-FP16
  /// also multiplies and adds at most 16 antennas in half precision, the others in single.
  void (*per_group_half)(ArrayShape shape, LaneGroups of, const HalfTile* w, const float* scale,
                         const HalfTile* y, Tile* s) noexcept;
  void (*per_tile_half)(ArrayShape shape, const HalfComplex* w, const float* scale,
                        const HalfTile* y, Tile* s) noexcept;

  /// The same in 16-bit integers, y being brought to them on the way: w as
  /// ZeroForceKernels::quantize_rows prepares it, with a scale for each user's lane (of w's) or,
  /// of scalars, each user. Σ|y|² of a lane must be a float.
  void (*per_group_int16)(ArrayShape shape, LaneGroups of, const Int16Tile* w, const float* scale,
                          const Tile* y, Tile* s) noexcept;
  void (*per_tile_int16)(ArrayShape shape, const Int16Complex* w, const float* scale, const Tile* y,
                         Tile* s) noexcept;
};

const EqualizeKernels& equalize_kernels(Isa isa = active_isa());

/// What products are rounded to.
enum class Rounding : std::uint8_t {
  HalfSums,  ///< factors and their sums to half precision, as AVX-512-FP16 does it
  Half,      ///< factors only: sums are in single precision, as those of tensor cores
  Int16,     ///< factors to 16-bit integers, as EqualizeKernels does it; sums are exact
};

/// Whether rounding costs less than 0.1 dB of noise at a block error rate of 1 %, even where half
/// of the users are received 30 dB below the others. docs/performance.md derives it.
bool suffices(Rounding rounding, std::uint32_t antennas, std::uint32_t users,
              Modulation modulation) noexcept;

}  // namespace carillon::phy
