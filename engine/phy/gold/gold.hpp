// The pseudo-random sequence c(n) of TS 38.211 5.2.1.
#pragma once

#include <cstddef>
#include <cstdint>

namespace carillon::phy {

/// c(first) … c(first + bits - 1), LSB first; the last byte's spare bits are 0. Any `first` costs
/// the same.
void gold(std::uint32_t c_init, std::size_t first, std::size_t bits, std::uint8_t* out) noexcept;

/// c sorted by constellation bit: bit j of plane i is c(j * bits_per_symbol + i), 0 <= j < symbols,
/// LSB first, plane i at planes + i * plane_bytes, which is at least gold_plane_bytes(symbols).
/// With j counting the resource elements of a transport block, plane i masks constellation bit i
/// of element j, whatever code block it belongs to.
void gold_planes(std::uint32_t c_init, std::uint32_t bits_per_symbol, std::size_t symbols,
                 std::uint8_t* planes, std::size_t plane_bytes) noexcept;

/// Room for a plane, with the spare bytes that lane_signs may read.
constexpr std::size_t gold_plane_bytes(std::size_t symbols) { return (symbols + 7) / 8 + 4; }

/// The signs of one tile: signs[i] has bit `lane` = bit (element + lane - first) of plane i for the
/// lanes from `first` on. Lanes past the last element of the block hold what happens to follow.
void lane_signs(const std::uint8_t* planes, std::size_t plane_bytes, std::uint32_t bits_per_symbol,
                std::size_t element, std::uint32_t first, std::uint16_t* signs) noexcept;

/// Seed for scrambling codeword 0 of PUSCH or PDSCH: 38.211 6.3.1.1, 7.3.1.1.
constexpr std::uint32_t data_scrambling_seed(std::uint32_t rnti, std::uint32_t n_id) {
  return (rnti << 15) + n_id;
}

}  // namespace carillon::phy
