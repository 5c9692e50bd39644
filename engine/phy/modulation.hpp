// Constellations of TS 38.211 5.1 and the scale of soft bits.
#pragma once

#include <cstdint>

namespace carillon::phy {

/// The value is the number of bits per symbol, Qm.
enum class Modulation : std::uint8_t { Qpsk = 2, Qam16 = 4, Qam64 = 6, Qam256 = 8 };

inline constexpr std::uint32_t kMaxBitsPerSymbol = 8;

constexpr std::uint32_t bits_per_symbol(Modulation modulation) {
  return static_cast<std::uint32_t>(modulation);
}

/// Soft bits are int8: kLlrScale × ln(P(0)/P(1)), rounded, saturating at ±kLlrLimit. 0 says
/// nothing.
inline constexpr float kLlrScale = 4.0F;
inline constexpr float kLlrLimit = 127.0F;

}  // namespace carillon::phy
