// The unit of all frequency-domain data: 16 neighbouring subcarriers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace carillon::phy {

/// Subcarriers in a tile, whatever the vector width of the machine.
inline constexpr std::uint32_t kTileLanes = 16;

/// One line of real and one of imaginary parts. Tile t holds used subcarriers 16t…16t+15;
/// lanes past the last used subcarrier are zero.
struct alignas(64) Tile {
  float re[kTileLanes];
  float im[kTileLanes];
};

/// A complex number stored as it lies in memory (std::complex<float> has the same layout).
struct Complex {
  float re, im;
};

/// A complex number in half precision: IEEE 754 binary16 bit patterns.
struct HalfComplex {
  std::uint16_t re, im;
};

/// A tile in half precision: one line of re/im pairs.
struct alignas(64) HalfTile {
  HalfComplex at[kTileLanes];
};

/// A complex number of 16-bit integers, times a scale that it shares with others.
struct Int16Complex {
  std::int16_t re, im;
};

/// A tile of them: one line of re/im pairs.
struct alignas(64) Int16Tile {
  Int16Complex at[kTileLanes];
};

/// What the Euclidean norm of either factor of a sum of products of 16-bit integers is brought to:
/// no component exceeds 16 bits then and no sum 31, in whatever order it is added (Cauchy and
/// Schwarz).
inline constexpr float kInt16Norm = 32700;

/// What half-precision tiles of received symbols are multiplied by. Samples are int16, so that one
/// number suits all: the least stay above what binary16 holds with fewer bits (2⁻¹⁴), and of the
/// largest, √2·√4096, 32 products with combiners whose components are ½ do not overflow.
inline constexpr float kHalfScale = 16;

constexpr std::uint32_t tiles_for(std::uint32_t subcarriers) {
  return (subcarriers + kTileLanes - 1) / kTileLanes;
}

}  // namespace carillon::phy
