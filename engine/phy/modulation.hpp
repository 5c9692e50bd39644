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

/// Half the distance of neighbouring points when the mean energy of a symbol is 1.
constexpr float half_distance(Modulation modulation) {
  switch (modulation) {
    case Modulation::Qpsk: return 0.70710678118654752F;    // 1 / sqrt(2)
    case Modulation::Qam16: return 0.31622776601683793F;   // 1 / sqrt(10)
    case Modulation::Qam64: return 0.15430334996209191F;   // 1 / sqrt(42)
    case Modulation::Qam256: return 0.07669649888473704F;  // 1 / sqrt(170)
  }
  return 0;
}

/// Soft bits are int8: kLlrScale × ln(P(0)/P(1)), rounded, saturating at ±kLlrLimit. 0 says
/// nothing.
inline constexpr float kLlrScale = 4.0F;
inline constexpr float kLlrLimit = 127.0F;

}  // namespace carillon::phy
