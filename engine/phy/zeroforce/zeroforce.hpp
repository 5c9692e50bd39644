// Combiners from channel estimates: zero-forcing, MMSE and matched filter, 16 subcarriers at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/aligned.hpp"
#include "base/isa.hpp"
#include "phy/tile.hpp"
#include "phy/zeroforce/array_shape.hpp"

namespace carillon::phy {

enum class Detector : std::uint8_t { ZeroForcing, Mmse, Conjugate };

/// Post-combining noise is kept within these, whatever the channel: dividing by it stays finite
/// when there is no noise, and a user without a channel carries no information.
inline constexpr float kPostNoiseFloor = 1e-8F, kPostNoiseCeiling = 1e8F;

/// Where separating a user from the others would amplify noise by more than 1/kLoading (48 dB, near
/// what rounding leaves), every user's own power is raised by this share.
inline constexpr float kLoading = 0x1p-16F;

/// Working memory of one thread, for any shape with at most the given number of users: a square of
/// tiles that is, in turn, Gram matrix, Cholesky factor, the factor's inverse, the Gram's inverse.
struct ZeroForceScratch {
  explicit ZeroForceScratch(std::uint32_t users)
      : matrix(std::size_t{users} * (users | 1)), diagonal(users) {}

  AlignedArray<Tile> matrix;
  AlignedArray<Tile> diagonal;  ///< of the Gram matrix, and what regularisation adds to it
};

/// H is M×K per lane, csi[user][antenna] = H(antenna, user); lanes are independent (subcarriers, or
/// groups of them).
struct ZeroForceKernels {
  /// w: [user][antenna] of W, K×M with diag(WH) = 1:
  ///   ZeroForcing  (HᴴH)⁻¹Hᴴ, so WH = I
  ///   Mmse         (HᴴH + noise·I)⁻¹Hᴴ, each row divided by its gain (unbiased)
  ///   Conjugate    Hᴴ, each row divided by its gain
  /// post_noise: [user][16] variance of noise and residual interference after w, for symbols of
  /// unit energy, within kPostNoiseFloor…kPostNoiseCeiling. noise: per antenna and subcarrier, ≥ 0.
  /// Where users cannot be told apart, HᴴH + kLoading·diag(HᴴH) takes the place of HᴴH, and
  /// post_noise includes the interference this leaves. A user of no channel at all (power below
  /// 1e-30) or of one beyond a float (above 1e30) gets a row of zeros and kPostNoiseCeiling.
  /// Everything is finite for finite csi. Returns how many of the 16 lanes have such users; empty
  /// tail lanes count. csi and w must not overlap.
  std::uint32_t (*combine)(Detector detector, ArrayShape shape, float noise, const Tile* csi,
                           Tile* w, float* post_noise, ZeroForceScratch& scratch) noexcept;

  /// Where `group` (2…16) neighbouring subcarriers share a combiner, combine() ran with lanes =
  /// groups: lane n of tile t belongs to group 16·t + n. Tiles of groups below 16 stay so;
  /// this gives the subcarriers of one of their tiles what belongs to groups otherwise, from and to
  /// [row][16].
  void (*spread_groups)(LaneGroups of, std::uint32_t rows, const float* groups,
                        float* lanes) noexcept;

  /// A combiner for groups of 16, one for each subcarrier tile, of the first `tiles` (1…16) tiles
  /// of a group tile at once: w[tile * w_stride] is [user][antenna_stride] scalars. What belongs to
  /// groups otherwise: spread_lanes().
  void (*expand_scalars)(ArrayShape shape, std::uint32_t tiles, const Tile* w_groups, Complex* w,
                         std::size_t w_stride) noexcept;

  /// power[antenna] += |w|² summed over users and lanes, lane i times[i] times; of scalars over
  /// `lanes` subcarriers.
  void (*antenna_power)(ArrayShape shape, const Tile* w, const float* times, float* power) noexcept;
  void (*antenna_power_scalar)(ArrayShape shape, const Complex* w, std::uint32_t lanes,
                               float* power) noexcept;

  /// A combiner of any of these layouts in half precision, each user's row times a power of two
  /// that brings its largest component to ¼…½. scale[user] undoes this and kHalfScale.
  void (*halve)(ArrayShape shape, const Tile* w, HalfTile* half, float* scale) noexcept;
  void (*halve_scalar)(ArrayShape shape, const Complex* w, HalfComplex* half,
                       float* scale) noexcept;

  /// A combiner in 16-bit integers, each lane of a user's row times a factor of its own that brings
  /// its norm to kInt16Norm: w = scale · integers, scale [user][16]. Σ|w|² must be a float; below
  /// 1e-36 it counts as nothing.
  void (*quantize_rows)(ArrayShape shape, const Tile* w, Int16Tile* integers,
                        float* scale) noexcept;
  /// The same for a precoder, whose sums are over users: scale [antenna][16].
  void (*quantize_columns)(ArrayShape shape, const Tile* w, Int16Tile* integers,
                           float* scale) noexcept;
  /// expand_scalars() of integers whose lanes are groups.
  void (*expand_int16)(ArrayShape shape, std::uint32_t tiles, const Int16Tile* w_groups,
                       Int16Complex* w, std::size_t w_stride) noexcept;
};

const ZeroForceKernels& zeroforce_kernels(Isa isa = active_isa());

/// A number for each of `count` rows and group: groups [row][16] → tiles [tile][row] of the first
/// `tiles` (1…16) groups. With `lanes` of 16 each is there 16 times.
void spread_lanes(std::uint32_t count, std::uint32_t tiles, const float* groups, float* spread,
                  std::uint32_t lanes = 1) noexcept;

}  // namespace carillon::phy
