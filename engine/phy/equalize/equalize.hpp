// Equalization: M antennas' subcarriers to K users' symbols, s = W·y, lane by lane.
#pragma once

#include "base/isa.hpp"
#include "phy/modulation.hpp"
#include "phy/tile.hpp"
#include "phy/zeroforce/array_shape.hpp"

namespace carillon::phy {

/// s[user] = Σ w[user][antenna] · y[antenna]: y and s are one tile per antenna and user.
struct EqualizeKernels {
  /// Each lane has its own combiner: w is tiles.
  void (*per_subcarrier)(ArrayShape shape, const Tile* w, const Tile* y, Tile* s) noexcept;
  /// The tile's 16 lanes share one: w is scalars.
  void (*per_tile)(ArrayShape shape, const Complex* w, const Tile* y, Tile* s) noexcept;

  /// The same from half precision, s[user] = scale[user] · Σ w[user][antenna] · y[antenna], as
  /// ZeroForceKernels::halve and OfdmKernels::receive_half prepare w, scale and y. AVX-512-FP16
  /// also multiplies and adds at most 16 antennas in half precision, the others in single.
  void (*per_subcarrier_half)(ArrayShape shape, const HalfTile* w, const float* scale,
                              const HalfTile* y, Tile* s) noexcept;
  void (*per_tile_half)(ArrayShape shape, const HalfComplex* w, const float* scale,
                        const HalfTile* y, Tile* s) noexcept;
};

const EqualizeKernels& equalize_kernels(Isa isa = active_isa());

/// What products of half-precision numbers are summed in: as AVX-512-FP16 does it
/// (EqualizeKernels), or in single precision alone, as tensor cores do.
enum class HalfSums : std::uint8_t { Half, Single };

/// Whether half precision costs less than 0.1 dB of noise at a block error rate of 1 %, even where
/// half of the users are received 30 dB below the others. docs/performance.md derives it.
bool half_suffices(std::uint32_t antennas, std::uint32_t users, Modulation modulation,
                   HalfSums sums = HalfSums::Half) noexcept;

}  // namespace carillon::phy
