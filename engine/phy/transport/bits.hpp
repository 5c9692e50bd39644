// Copying runs of bits between packed arrays at any bit offset, a word at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace carillon::phy {

enum class BitOrder : std::uint8_t { MsbFirst, LsbFirst };

namespace detail {

// 8 bytes as a word whose first bit is the lowest (LSB first) or the highest one (MSB first).
template <BitOrder kOrder>
std::uint64_t load_word(const std::uint8_t* p, std::size_t bytes) {
  std::uint64_t word = 0;
  std::memcpy(&word, p, bytes);
  return kOrder == BitOrder::MsbFirst ? __builtin_bswap64(word) : word;
}

template <BitOrder kOrder>
void store_word(std::uint8_t* p, std::uint64_t word, std::size_t bytes) {
  if (kOrder == BitOrder::MsbFirst) word = __builtin_bswap64(word);
  std::memcpy(p, &word, bytes);
}

template <BitOrder kOrder>
constexpr std::uint64_t earlier(std::uint64_t word, std::size_t bits) {
  return kOrder == BitOrder::MsbFirst ? word << bits : word >> bits;
}

template <BitOrder kOrder>
constexpr std::uint64_t later(std::uint64_t word, std::size_t bits) {
  return kOrder == BitOrder::MsbFirst ? word >> bits : word << bits;
}

// `count` (1…56) bits at bit `from`: one load of the bytes that hold them.
template <BitOrder kOrder>
std::uint64_t load_bits(const std::uint8_t* source, std::size_t from, std::size_t count) {
  const std::size_t shift = from % 8;
  return earlier<kOrder>(load_word<kOrder>(source + from / 8, (shift + count + 7) / 8), shift);
}

// Writes the first `count` bits (shift + count <= 64) of `word`, keeping their neighbours.
template <BitOrder kOrder>
void merge_bits(std::uint8_t* target, std::size_t to, std::uint64_t word, std::size_t count) {
  const std::size_t shift = to % 8, bytes = (shift + count + 7) / 8;
  const std::uint64_t ones = kOrder == BitOrder::MsbFirst ? ~std::uint64_t{0} << (64 - count)
                                                          : ~std::uint64_t{0} >> (64 - count);
  const std::uint64_t mask = later<kOrder>(ones, shift);
  const std::uint64_t old = load_word<kOrder>(target + to / 8, bytes);
  store_word<kOrder>(target + to / 8, (old & ~mask) | (later<kOrder>(word, shift) & mask), bytes);
}

}  // namespace detail

/// Copies `count` bits from bit `from` of `source` to bit `to` of `target`; reads and writes no
/// byte that holds none of them, and keeps the other bits of the bytes it writes.
template <BitOrder kOrder>
void copy_bits(std::uint8_t* target, std::size_t to, const std::uint8_t* source, std::size_t from,
               std::size_t count) {
  using namespace detail;
  if (count == 0) return;
  if (const std::size_t head = std::min(count, (8 - to % 8) % 8); head > 0) {
    merge_bits<kOrder>(target, to, load_bits<kOrder>(source, from, head), head);
    to += head;
    from += head;
    count -= head;
  }
  target += to / 8;
  if (const std::size_t shift = from % 8; shift == 0) {
    std::memcpy(target, source + from / 8, count / 8);
    target += count / 8;
    from += count / 8 * 8;
    count %= 8;
  } else {
    // A word of the target spans 9 bytes of the source, the last of which it needs shift bits of.
    for (; count >= 64; count -= 64, from += 64, target += 8) {
      const std::uint8_t* p = source + from / 8;
      const std::uint64_t next = load_word<kOrder>(p + 8, 1);
      store_word<kOrder>(
          target, earlier<kOrder>(load_word<kOrder>(p, 8), shift) | later<kOrder>(next, 64 - shift),
          8);
    }
  }
  for (std::size_t to_copy; count > 0; count -= to_copy, from += to_copy, target += to_copy / 8) {
    to_copy = std::min<std::size_t>(count, 56);
    merge_bits<kOrder>(target, 0, load_bits<kOrder>(source, from, to_copy), to_copy);
  }
}

}  // namespace carillon::phy
