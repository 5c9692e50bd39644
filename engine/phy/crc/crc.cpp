#include "phy/crc/crc.hpp"

#include <immintrin.h>

#include <array>
#include <bit>
#include <cstring>

namespace carillon::phy {
namespace {

// The register holds the remainder in its highest bits, whatever the width: the generator
// polynomial without its leading term, shifted to the top. A 16-bit CRC is then the 32-bit CRC of
// g(x) x^16.
constexpr std::uint32_t polynomial(Crc kind) {
  switch (kind) {
    case Crc::Crc16: return 0x1021U << 16;
    case Crc::Crc24A: return 0x864CFBU << 8;
    case Crc::Crc24B: return 0x800063U << 8;
    case Crc::None: break;
  }
  return 0;
}

constexpr std::uint32_t shift_one(std::uint32_t remainder, std::uint32_t poly) {
  return (remainder << 1) ^ ((remainder >> 31) != 0 ? poly : 0);
}

// x^n mod g, in the register's form (n counted from the register's x^32).
constexpr std::uint32_t power(std::uint32_t poly, unsigned n) {
  std::uint32_t remainder = poly;
  for (unsigned i = 0; i < n; ++i) remainder = shift_one(remainder, poly);
  return remainder;
}

struct Tables {
  std::uint32_t poly;
  // slice[k][b]: byte b followed by k zero bytes.
  std::array<std::array<std::uint32_t, 256>, 8> slice;
  // Multipliers that carry the high and the low half of a 128-bit accumulator 512 or 128 bits on.
  std::uint64_t fold512[2], fold128[2];
};

constexpr Tables make_tables(Crc kind) {
  Tables t{};
  t.poly = polynomial(kind);
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t remainder = b << 24;
    for (int i = 0; i < 8; ++i) remainder = shift_one(remainder, t.poly);
    t.slice[0][b] = remainder;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t b = 0; b < 256; ++b) {
      const std::uint32_t before = t.slice[k - 1][b];
      t.slice[k][b] = (before << 8) ^ t.slice[0][before >> 24];
    }
  t.fold512[0] = power(t.poly, 512 - 32);
  t.fold512[1] = power(t.poly, 512 + 64 - 32);
  t.fold128[0] = power(t.poly, 128 - 32);
  t.fold128[1] = power(t.poly, 128 + 64 - 32);
  return t;
}

constinit const Tables kCrc16 = make_tables(Crc::Crc16);
constinit const Tables kCrc24A = make_tables(Crc::Crc24A);
constinit const Tables kCrc24B = make_tables(Crc::Crc24B);

const Tables& tables(Crc kind) {
  return kind == Crc::Crc16 ? kCrc16 : kind == Crc::Crc24A ? kCrc24A : kCrc24B;
}

std::uint32_t update(const Tables& t, std::uint32_t remainder, const std::uint8_t* p,
                     std::size_t bytes) {
  for (; bytes >= 8; bytes -= 8, p += 8) {
    remainder ^= static_cast<std::uint32_t>(p[0]) << 24 | static_cast<std::uint32_t>(p[1]) << 16 |
                 static_cast<std::uint32_t>(p[2]) << 8 | p[3];
    remainder = t.slice[7][remainder >> 24] ^ t.slice[6][remainder >> 16 & 255] ^
                t.slice[5][remainder >> 8 & 255] ^ t.slice[4][remainder & 255] ^ t.slice[3][p[4]] ^
                t.slice[2][p[5]] ^ t.slice[1][p[6]] ^ t.slice[0][p[7]];
  }
  for (; bytes > 0; --bytes, ++p) remainder = (remainder << 8) ^ t.slice[0][(remainder >> 24) ^ *p];
  return remainder;
}

#define CARILLON_PCLMUL __attribute__((target("pclmul,ssse3"), always_inline)) inline

CARILLON_PCLMUL __m128i load_msb_first(const std::uint8_t* p) {
  const __m128i reverse = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)), reverse);
}

CARILLON_PCLMUL __m128i fold(__m128i accumulator, __m128i multipliers, __m128i next) {
  return _mm_xor_si128(next, _mm_xor_si128(_mm_clmulepi64_si128(accumulator, multipliers, 0x00),
                                           _mm_clmulepi64_si128(accumulator, multipliers, 0x11)));
}

// Carry-less folding (V. Gopal et al., Intel, 2009) of at least 64 bytes in 16-byte steps, in four
// chains to hide the multiplier's latency; what is left is 16 bytes with the same remainder.
__attribute__((target("pclmul,ssse3"))) std::uint32_t fold_blocks(const Tables& t,
                                                                  const std::uint8_t* p,
                                                                  std::size_t blocks) {
  const auto multipliers = [](const std::uint64_t* m) {
    return _mm_set_epi64x(static_cast<long long>(m[1]), static_cast<long long>(m[0]));
  };
  const __m128i by512 = multipliers(t.fold512), by128 = multipliers(t.fold128);
  __m128i a = load_msb_first(p), b = load_msb_first(p + 16), c = load_msb_first(p + 32),
          d = load_msb_first(p + 48);
  p += 64;
  for (blocks -= 4; blocks >= 4; blocks -= 4, p += 64) {
    a = fold(a, by512, load_msb_first(p));
    b = fold(b, by512, load_msb_first(p + 16));
    c = fold(c, by512, load_msb_first(p + 32));
    d = fold(d, by512, load_msb_first(p + 48));
  }
  a = fold(fold(fold(a, by128, b), by128, c), by128, d);
  for (; blocks > 0; --blocks, p += 16) a = fold(a, by128, load_msb_first(p));
  const __m128i reverse = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  alignas(16) std::uint8_t rest[16];
  _mm_store_si128(reinterpret_cast<__m128i*>(rest), _mm_shuffle_epi8(a, reverse));
  return update(t, 0, rest, sizeof rest);
}

const bool kHasPclmul = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("ssse3");

}  // namespace

std::uint32_t crc(Crc kind, const std::uint8_t* payload, std::size_t bits) noexcept {
  if (kind == Crc::None) return 0;
  const Tables& t = tables(kind);
  std::size_t bytes = bits / 8;
  std::uint32_t remainder = 0;
  if (kHasPclmul && bytes >= 64) {
    remainder = fold_blocks(t, payload, bytes / 16);
    payload += bytes / 16 * 16;
    bytes %= 16;
  }
  remainder = update(t, remainder, payload, bytes);
  if (bits % 8 != 0) {
    remainder ^= static_cast<std::uint32_t>(payload[bytes] & (0xFF00 >> bits % 8)) << 24;
    for (std::size_t i = 0; i < bits % 8; ++i) remainder = shift_one(remainder, t.poly);
  }
  return remainder >> (32 - crc_bits(kind));
}

}  // namespace carillon::phy
