// Precoding: K users' symbols to M antennas' subcarriers, x = Wᵀ·s, lane by lane. By reciprocity
// the downlink's channel is the transpose of the uplink's, so the precoder is the combiner
// transposed: the same memory read the other way.
#pragma once

#include "base/isa.hpp"
#include "phy/tile.hpp"
#include "phy/zeroforce/array_shape.hpp"

namespace carillon::phy {

/// x[antenna] = Σ w[user][antenna] · s[user]: s and x are one tile per user and antenna.
struct PrecodeKernels {
  /// Each group of subcarriers has its own precoder, of one each by default: w is tiles.
  void (*per_group)(ArrayShape shape, LaneGroups of, const Tile* w, const Tile* s,
                    Tile* x) noexcept;
  /// The tile's 16 lanes share one: w is scalars.
  void (*per_tile)(ArrayShape shape, const Complex* w, const Tile* s, Tile* x) noexcept;

  /// The same in 16-bit integers, s being brought to them on the way: w as
  /// ZeroForceKernels::quantize_columns prepares it, with a scale for each antenna's lane (of w's)
  /// or, of scalars, each antenna.
  void (*per_group_int16)(ArrayShape shape, LaneGroups of, const Int16Tile* w, const float* scale,
                          const Tile* s, Tile* x) noexcept;
  void (*per_tile_int16)(ArrayShape shape, const Int16Complex* w, const float* scale, const Tile* s,
                         Tile* x) noexcept;
};

const PrecodeKernels& precode_kernels(Isa isa = active_isa());

}  // namespace carillon::phy
