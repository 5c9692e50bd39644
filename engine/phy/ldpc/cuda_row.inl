// What a row of the base graph is to its threads: four lanes to a word, messages packed, and minima
// that threads which share a row's edges put together.
#pragma once

#include <cstdint>

#include "phy/simt/simt.hpp"

namespace carillon::phy::cuda {

inline constexpr std::uint32_t kByteOnes = 0x01010101, kByteSigns = 0x80808080,
                               kByteRests = 0x7f7f7f7f;
inline constexpr std::uint32_t kMessageOffset = 2, kMessageClip = 30;  // as in row.inl

// --- A row's messages: words 0 and 1 have the two magnitudes, 5 bits a lane. Flags fill up the
// rest of these bytes and then further words.

CARILLON_BOTH constexpr std::uint32_t flag_word(std::uint32_t flag) {
  return flag < 6 ? flag / 3 : 2 + (flag - 6) / 8;
}
CARILLON_BOTH constexpr std::uint32_t flag_bit(std::uint32_t flag) {
  return flag < 6 ? 5 + flag % 3 : (flag - 6) % 8;
}
CARILLON_BOTH constexpr std::uint32_t sign_flag(std::uint32_t edge) { return 2 * edge; }
CARILLON_BOTH constexpr std::uint32_t least_flag(std::uint32_t edge) { return 2 * edge + 1; }

CARILLON_BOTH constexpr std::uint32_t record_words(std::uint32_t degree) {
  return degree <= 3 ? 2 : flag_word(2 * degree - 1) + 1;
}

/// The bits of a record that are signs. A variable of this type has to be constexpr: what a loop
/// over edges would compute otherwise takes a GPU longer than the row does.
template <std::uint32_t kDegree>
struct SignBits {
  std::uint32_t word[record_words(kDegree)] = {};

  CARILLON_BOTH constexpr SignBits() {
    for (std::uint32_t j = 0; j < kDegree; ++j)
      word[flag_word(sign_flag(j))] |= kByteOnes << flag_bit(sign_flag(j));
  }
};

// --- Bytes

CARILLON_GPU inline std::uint32_t choose(std::uint32_t mask, std::uint32_t yes, std::uint32_t no) {
  return (mask & yes) | (~mask & no);
}

/// Highest bits of the bytes that are zero.
CARILLON_GPU inline std::uint32_t zeros(std::uint32_t word) {
  return ~(((word & kByteRests) + kByteRests) | word) & kByteSigns;
}

/// value & ~bits, by a subtraction: compilers would repeat the mask wherever the result is used.
CARILLON_GPU inline std::uint32_t without(std::uint32_t value, std::uint32_t bits) {
  return value - simt::opaque(value & bits);
}

/// Of bytes a < 128 with their highest bit set and b <= 128: max(a - b, 0).
CARILLON_GPU inline std::uint32_t excess(std::uint32_t a_marked, std::uint32_t b) {
  const std::uint32_t difference = a_marked - b;
  return difference & simt::sign_bytes(difference) & kByteRests;
}

/// The two least of the magnitudes seen, at most kMessageClip; highest bits set.
struct TwoLeast {
  std::uint32_t least = kByteSigns | kMessageClip * kByteOnes;
  std::uint32_t second = kByteSigns | kMessageClip * kByteOnes;

  CARILLON_GPU void include(std::uint32_t magnitude) {
    const std::uint32_t over = excess(least, magnitude);
    least -= over;
    second -= excess(second, magnitude + over);
  }
};

/// What the edges of a row's checks know together, of those that were included.
struct RowChecks {
  TwoLeast two;
  std::uint32_t parity = 0;

  CARILLON_GPU void include(std::uint32_t sign, std::uint32_t magnitude) {
    parity ^= sign;
    two.include(magnitude);
  }
  CARILLON_GPU void merge(const RowChecks& other) {
    parity ^= other.parity;
    two.include(other.two.least ^ kByteSigns);
    two.second -= excess(two.second, other.two.second ^ kByteSigns);
  }
};

}  // namespace carillon::phy::cuda
