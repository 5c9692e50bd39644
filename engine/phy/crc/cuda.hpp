// A CRC in parallel: every thread has the remainder of a chunk of the message, times the power of x
// that the bits after it amount to; the sum is the remainder of the message.
#pragma once

#include <array>
#include <cstdint>

#include "phy/crc/crc.hpp"
#include "phy/simt/simt.hpp"

namespace carillon::phy::cuda {

// Polynomials modulo g(x) x^(32-w), g the generator of degree w: a word holds x^31 in its highest
// bit. A register that has seen a message holds it times x^32.

/// g(x) x^(32-w) without x^32.
CARILLON_BOTH constexpr std::uint32_t crc_polynomial(Crc kind) {
  return kind == Crc::Crc16    ? 0x1021U << 16
         : kind == Crc::Crc24A ? 0x864CFBU << 8
         : kind == Crc::Crc24B ? 0x800063U << 8
                               : 0;
}

CARILLON_BOTH constexpr std::uint32_t crc_times_x(std::uint32_t a, std::uint32_t polynomial) {
  return a << 1 ^ ((0 - (a >> 31)) & polynomial);
}

CARILLON_BOTH constexpr std::uint32_t crc_product(std::uint32_t a, std::uint32_t b,
                                                  std::uint32_t polynomial) {
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < 32; ++i, b <<= 1)
    sum = crc_times_x(sum, polynomial) ^ ((0 - (b >> 31)) & a);
  return sum;
}

/// x^n.
constexpr std::uint32_t crc_power(std::uint32_t n, std::uint32_t polynomial) {
  std::uint32_t power = 1, square = 2;
  for (; n != 0; n >>= 1, square = crc_product(square, square, polynomial))
    if ((n & 1) != 0) power = crc_product(power, square, polynomial);
  return power;
}

/// How a message of `bits` is cut: chunk i begins at i * chunk_bits, the last may be shorter.
struct CrcChunks {
  static constexpr std::uint32_t kPowers = 10;  // up to 1024 chunks
  std::uint32_t polynomial = 0, width = 0;      ///< width 0: no CRC
  std::uint32_t bits = 0, chunks = 0, chunk_bits = 0;
  std::uint32_t power[kPowers] = {};  ///< x^(chunk_bits 2^k)
  std::uint32_t last = 0;             ///< x^n, n the bits of the last chunk
};

/// `bits` at least 1, in at most `most` chunks (1 … 1024).
constexpr CrcChunks crc_chunks(Crc kind, std::uint32_t bits, std::uint32_t most) {
  CrcChunks result{};
  result.polynomial = crc_polynomial(kind);
  result.width = crc_bits(kind);
  result.bits = bits;
  result.chunk_bits = simt::round_up(simt::divide_up(bits, most), 32);
  result.chunks = simt::divide_up(bits, result.chunk_bits);
  result.last = crc_power(bits - (result.chunks - 1) * result.chunk_bits, result.polynomial);
  std::uint32_t power = crc_power(result.chunk_bits, result.polynomial);
  for (std::uint32_t& each : result.power) {
    each = power;
    power = crc_product(power, power, result.polynomial);
  }
  return result;
}

/// What chunk i adds to the register of the whole message. word_at(n), n a multiple of 32: bits n …
/// n+31, the first in the highest place; those past the message may be anything.
template <typename WordAt>
CARILLON_BOTH constexpr std::uint32_t crc_of_chunk(const CrcChunks& how, std::uint32_t i,
                                                   WordAt&& word_at) {
  const std::uint32_t begin = i * how.chunk_bits, left = how.bits - begin;
  const std::uint32_t end = begin + (left < how.chunk_bits ? left : how.chunk_bits);
  std::uint32_t sum = 0;
  for (std::uint32_t at = begin; at < end; at += 32) {
    const std::uint32_t count = end - at < 32 ? end - at : 32;
    sum ^= word_at(at) & ~std::uint32_t{0} << (32 - count);
    for (std::uint32_t bit = 0; bit < count; ++bit) sum = crc_times_x(sum, how.polynomial);
  }
  const std::uint32_t after = how.chunks - 1 - i;  // chunks
  if (after == 0) return sum;
  sum = crc_product(sum, how.last, how.polynomial);
  for (std::uint32_t k = 0; k < CrcChunks::kPowers; ++k)
    if (((after - 1) >> k & 1) != 0) sum = crc_product(sum, how.power[k], how.polynomial);
  return sum;
}

/// The parity bits from the register, as crc() returns them.
CARILLON_BOTH constexpr std::uint32_t crc_parity(const CrcChunks& how, std::uint32_t sum) {
  return how.width == 0 ? 0 : sum >> (32 - how.width);
}

}  // namespace carillon::phy::cuda
