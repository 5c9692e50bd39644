// Encoding by a thread block, as in encode.inl: a word is 32 checks of a row. A column of Z bits
// lies in shared memory followed by itself again, so that any rotation is one run of bits.
#pragma once

#include "phy/ldpc/cuda.hpp"

namespace carillon::phy::cuda {

/// Words of a column, once and twice; the latter odd and with room to read one word on.
CARILLON_BOTH constexpr std::uint32_t bit_words(std::uint32_t bits) { return (bits + 31) / 32; }
CARILLON_BOTH constexpr std::uint32_t doubled_words(std::uint32_t z) {
  return (bit_words(2 * z + 31) + 1) | 1;
}

/// All columns, then core sums.
CARILLON_BOTH constexpr std::uint32_t encode_words(const EncodeTable& table) {
  return (table.info_columns + table.row_end) * doubled_words(table.lifting) +
         kCoreRows * bit_words(table.lifting);
}

/// Bits n … n+31 of a run, the first lowest. Reads the next word too.
CARILLON_GPU inline std::uint32_t bits_from(const std::uint32_t* run, std::uint32_t n) {
  const std::uint64_t two = run[n / 32] | std::uint64_t{run[n / 32 + 1]} << 32;
  return static_cast<std::uint32_t>(two >> n % 32);
}

/// The same of the Z bits from `begin` on, again and again.
CARILLON_GPU inline std::uint32_t bits_around(const std::uint32_t* run, std::uint32_t begin,
                                              std::uint32_t z, std::uint32_t n) {
  std::uint32_t place = n % z, word = 0;
  for (std::uint32_t filled = 0; filled < 32; filled += z - place, place = 0) {
    const std::uint32_t bits = bits_from(run, begin + place);
    word |= (z - place < 32 ? bits & ((1U << (z - place)) - 1) : bits) << filled;
  }
  return word;
}

template <typename Cta>
class Encoder {
 public:
  /// `work`: encode_words() in shared memory.
  CARILLON_GPU Encoder(Cta& cta, const EncodeTable& table, std::uint32_t* work)
      : cta_(cta),
        table_(table),
        z_(table.lifting),
        once_(bit_words(z_)),
        stride_(doubled_words(z_)),
        columns_(work),
        sums_(work + (table.info_columns + table.row_end) * stride_) {}

  /// `info`: K bits in shared memory, the first lowest, and a word to spare.
  CARILLON_GPU void run(const std::uint32_t* info) {
    cta_.each(table_.info_columns * stride_, [&](std::uint32_t i) {
      columns_[i] = bits_around(info, i / stride_ * z_, z_, i % stride_ * 32);
    });
    encode_core();
    cta_.each((table_.row_end - kCoreRows) * once_, [&](std::uint32_t i) {
      const std::uint32_t r = kCoreRows + i / once_, word = i % once_;
      column(table_.info_columns + r)[word] =
          sum(table_.row_begin[r], table_.row_begin[r + 1] - 1U, word);
    });
  }

  /// `count` coded bits at most, at least 1, from place d on: as many as its column has. Above them
  /// the word is arbitrary.
  CARILLON_GPU std::uint32_t coded(std::uint32_t d, std::uint32_t& count) const {
    const std::uint32_t place = d % z_;
    if (count > z_ - place) count = z_ - place;
    return bits_from(columns_ + (d / z_ + 2) * stride_, place);
  }

 private:
  CARILLON_GPU std::uint32_t* column(std::uint32_t c) const { return columns_ + c * stride_; }

  /// 32 checks' sum over the edges.
  CARILLON_GPU std::uint32_t sum(std::uint32_t edge, std::uint32_t end, std::uint32_t word) const {
    std::uint32_t bits = 0;
    for (; edge < end; ++edge)
      bits ^= bits_from(column(table_.edges[edge].column), table_.edges[edge].shift + word * 32);
    return bits;
  }

  /// The four core parity columns from the sums over the information: the first by adding all rows,
  /// then one from each row.
  CARILLON_GPU void encode_core() {
    std::uint32_t* const first = column(table_.info_columns);
    cta_.each(kCoreRows * once_, [&](std::uint32_t i) {
      const std::uint32_t r = i / once_;
      sums_[i] = sum(table_.row_begin[r], table_.core_parity[r], i % once_);
    });
    // In the next column, which nobody reads yet.
    cta_.each(once_, [&](std::uint32_t i) {
      first[stride_ + i] =
          sums_[i] ^ sums_[once_ + i] ^ sums_[2 * once_ + i] ^ sums_[3 * once_ + i];
    });
    cta_.each(stride_, [&](std::uint32_t i) {
      first[i] = bits_around(first + stride_, 0, z_, i * 32 + z_ - table_.first_shift % z_);
    });
    for (std::uint32_t r = 0; r + 1 < kCoreRows; ++r) {
      std::uint32_t* const own = sums_ + r * once_;
      cta_.each(once_, [&](std::uint32_t i) {
        own[i] ^= sum(table_.core_parity[r], table_.row_begin[r + 1] - 1U, i);
      });
      cta_.each(stride_, [&](std::uint32_t i) {
        column(table_.info_columns + r + 1)[i] = bits_around(own, 0, z_, i * 32);
      });
    }
  }

  Cta& cta_;
  const EncodeTable& table_;
  std::uint32_t z_, once_, stride_;
  std::uint32_t* columns_;  // [column][word]; past the core, once only
  std::uint32_t* sums_;     // [core row][word]
};

}  // namespace carillon::phy::cuda
