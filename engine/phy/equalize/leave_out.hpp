// Takes antennas of which nothing came out of a combiner after it was applied.
#pragma once

#include <cstdint>

#include "phy/tile.hpp"
#include "phy/zeroforce/zeroforce.hpp"

namespace carillon::phy {

/// Antennas whose packets of one symbol may be missing before it counts as lost: what each costs
/// grows with those before it.
inline constexpr std::uint32_t kMostLeftOut = 16;

/// Where the other antennas hardly tell what the missing one did, so much of it is left at least:
/// rounding to 16-bit integers leaves less.
inline constexpr float kLeastLeft = 0x1p-10F;

/// s[user] = W·y of a tile, where y is zero at `count` antennas because nothing came of them,
/// becomes what the combiner of the other antennas yields, and post_noise [user][16] its variance.
/// For W = PHᴴ, P = (HᴴH)⁻¹, an antenna's row h of H and column w = Ph* of W are enough: without
/// it, P becomes P + wwᴴ/(1 - hᵀw) (Sherman and Morrison), hence s + w·hᵀs/(1 - hᵀw), and the noise
/// grows by noise·|w|²/(1 - hᵀw). One after the other, that is exact for ZeroForcing; for Mmse as
/// far as post_noise is noise alone. Of Conjugate the gain is restored and interference scaled with
/// noise.
///
/// channels: [missing antenna][user] of H. columns: [missing antenna][user] of W, used up. noise:
/// per antenna and subcarrier, as given to ZeroForceKernels::combine.
void leave_out(Detector detector, std::uint32_t users, std::uint32_t count, float noise,
               const Tile* channels, Tile* columns, Tile* s, float* post_noise) noexcept;

/// Nothing is known of a tile's symbols.
void erase(std::uint32_t users, Tile* s, float* post_noise) noexcept;

}  // namespace carillon::phy
