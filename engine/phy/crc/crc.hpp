// Cyclic redundancy checks of TS 38.212 5.1.
#pragma once

#include <cstddef>
#include <cstdint>

namespace carillon::phy {

enum class Crc : std::uint8_t { None, Crc16, Crc24A, Crc24B };

constexpr std::uint32_t crc_bits(Crc kind) {
  return kind == Crc::None ? 0 : kind == Crc::Crc16 ? 16 : 24;
}

/// The parity bits of the first `bits` bits (MSB first), p0 in the highest of crc_bits(kind) bits;
/// 0 for Crc::None. Over a message with its own parity attached the result is 0.
std::uint32_t crc(Crc kind, const std::uint8_t* payload, std::size_t bits) noexcept;

}  // namespace carillon::phy
