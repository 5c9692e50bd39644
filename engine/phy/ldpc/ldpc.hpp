// Low-density parity-check coding: 3GPP TS 38.212 clause 5.3.2, both base graphs, all 51 lifting
// sizes.
//
// A base-graph column stands for Z neighbouring bits, a row for Z parity checks, an edge for a
// rotated identity. Bits of a code block:
//   information   K = 22Z (base graph 1) or 10Z (2), payload order: most significant bit first; the
//                 last `fillers` of them are zero
//   codeword      N = 66Z or 50Z, "d order": information from bit 2Z on, then parity; coded order:
//                 least significant bit first
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aligned.hpp"
#include "base/isa.hpp"

namespace carillon::phy {

enum class Crc : std::uint8_t;  // phy/crc/crc.hpp

/// TS 38.212 table 5.3.2-1, ascending.
inline constexpr std::array<std::uint16_t, 51> kLiftingSizes = {
    2,  3,   4,   5,   6,   7,   8,   9,   10,  11,  12,  13,  14,  15,  16,  18,  20,
    22, 24,  26,  28,  30,  32,  36,  40,  44,  48,  52,  56,  60,  64,  72,  80,  88,
    96, 104, 112, 120, 128, 144, 160, 176, 192, 208, 224, 240, 256, 288, 320, 352, 384};
inline constexpr std::uint32_t kMaxLifting = 384;

constexpr bool is_lifting_size(std::uint32_t z) {
  for (const std::uint32_t size : kLiftingSizes)
    if (size == z) return true;
  return false;
}

struct LdpcCode {
  std::uint8_t base_graph = 1;  // 1 or 2
  std::uint16_t lifting = kMaxLifting;

  constexpr bool valid() const {
    return (base_graph == 1 || base_graph == 2) && is_lifting_size(lifting);
  }
  constexpr std::uint32_t info_columns() const { return base_graph == 1 ? 22 : 10; }
  constexpr std::uint32_t info_bits() const { return info_columns() * lifting; }              // K
  constexpr std::uint32_t length() const { return (base_graph == 1 ? 66U : 50U) * lifting; }  // N
  friend constexpr bool operator==(LdpcCode, LdpcCode) = default;
};

/// Working memory of one thread, enough for every code. Allocate outside the path.
class LdpcScratch {
 public:
  LdpcScratch();
  std::byte* data() noexcept { return memory_.data(); }

 private:
  AlignedArray<std::byte> memory_;
};

struct DecodeOptions {
  std::uint32_t fillers = 0;         // information bits K-fillers … K-1 are known zeros
  std::uint32_t sent = ~0U;          // places from here on are zero: their rows are skipped
  std::uint32_t max_iterations = 8;  // from 1
  bool early_stop = true;            // false: all iterations, for measurements
  Crc crc{};                         // checked over the first crc_span information bits
  std::uint32_t crc_span = 0;        // bits, the CRC's own included
};

struct DecodeResult {
  std::uint16_t iterations = 0;  // done
  bool parity = false;           // every check of the core and, but for three, of the received rows
  bool crc = false;              // the CRC holds; false when none was asked for
};

/// A code block to decode.
struct DecodeBlock {
  const std::int8_t* soft;  // N LLRs of the d order, scale kLlrScale; positive means 0, zero means
                            // not received; filler places are ignored
  std::uint8_t* info;       // K decided bits
  DecodeResult result{};
};

/// Blocks and lanes (Z for each block, of a power of two of blocks) that can be decoded at once.
inline constexpr std::uint32_t kMaxPack = 32;
inline constexpr std::uint32_t kMaxLanes = 512;

/// How many of `count` blocks to decode at once, for the highest rate: as many as fill vectors.
std::uint32_t ldpc_pack(LdpcCode, std::uint32_t count) noexcept;

/// A soft bit is weak up to here, half of kLlrScale: it is wrong in three of eight cases. That all
/// of a block are right of which more than kMostWeak are weak has a chance of 10^-13.
inline constexpr std::uint8_t kWeak = 2;
inline constexpr std::uint32_t kMostWeak = 64;

struct LdpcKernels {
  /// `info`: K bits; `codeword`: N bits, filler places zero. Both rounded up to whole bytes; spare
  /// bits of the last byte are ignored and written as zero.
  void (*encode)(LdpcCode, const std::uint8_t* info, std::uint8_t* codeword, LdpcScratch&) noexcept;

  /// Row-layered offset-min-sum of one to ldpc_pack() blocks of the same code. A block stops when
  /// all its parity checks hold, when its CRC holds and not all bits are 0, or after
  /// max_iterations; its bits and its result are the same as if it were decoded alone. A block that
  /// has failed by then is peeled, unless too many of its soft bits are weak for all to be right:
  /// checks that lack one bit give it. So it is decoded, whatever max_iterations is, if all that
  /// was received is right and what was not follows in this way.
  void (*decode)(LdpcCode, std::span<DecodeBlock>, const DecodeOptions&, LdpcScratch&) noexcept;
};

const LdpcKernels& ldpc_kernels(Isa isa = active_isa());

namespace avx2 {
extern const LdpcKernels ldpc_kernels;
}
namespace avx512 {
extern const LdpcKernels ldpc_kernels;
}

}  // namespace carillon::phy
