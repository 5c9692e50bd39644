#include "phy/gold/gold.hpp"

#include <immintrin.h>

#include <array>
#include <cstring>

namespace carillon::phy {
namespace {

// x1(n+31) = x1(n+3) + x1(n);  x2(n+31) = x2(n+3) + x2(n+2) + x2(n+1) + x2(n). Bit i of a 31-bit
// state is s(n+i). Polynomials have x^31 left out.
constexpr std::uint64_t kPolynomial1 = 0b1001, kPolynomial2 = 0b1111;
constexpr std::uint64_t kSkipped = 1600;  // Nc

template <std::uint64_t kPolynomial>
constexpr std::uint64_t taps(std::uint64_t state) {
  return kPolynomial == kPolynomial1 ? state ^ state >> 3
                                     : state ^ state >> 1 ^ state >> 2 ^ state >> 3;
}

// 31 known bits of the sequence to 64: each round knows 28 bits more.
template <std::uint64_t kPolynomial>
constexpr std::uint64_t widen(std::uint64_t state) {
  for (int known = 31; known < 64; known += 28) {
    const std::uint64_t next = taps<kPolynomial>(state >> (known - 31)) & ((1U << 28) - 1);
    state |= next << known;
  }
  return state;
}

// The next 64 bits from 64, by the recurrence of the squared polynomial: s(n+62) = s(n+6) + s(n)
// and s(n+62) = s(n+6) + s(n+4) + s(n+2) + s(n). The last 8 need the first of the new ones.
template <std::uint64_t kPolynomial>
constexpr std::uint64_t advance(std::uint64_t word) {
  const auto square_taps = [](std::uint64_t w) {
    return kPolynomial == kPolynomial1 ? w ^ w >> 6 : w ^ w >> 2 ^ w >> 4 ^ w >> 6;
  };
  const std::uint64_t low = square_taps(word >> 2) & ((std::uint64_t{1} << 56) - 1);
  return low | square_taps(word >> 58 | low << 6) << 56;
}

template <std::uint64_t kPolynomial>
constexpr std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  for (int i = 30; i >= 0; --i) {
    product <<= 1;
    if ((product >> 31) != 0) product ^= (std::uint64_t{1} << 31) | kPolynomial;
    if ((b >> i & 1) != 0) product ^= a;
  }
  return product;
}

// x^n mod the polynomial: bit i set says that s(i) is part of the sum that makes s(n).
template <std::uint64_t kPolynomial>
constexpr std::uint64_t power(std::uint64_t n) {
  std::uint64_t result = 1;
  for (int bit = 63; bit >= 0; --bit) {
    if (result != 1) result = multiply<kPolynomial>(result, result);
    if ((n >> bit & 1) != 0) result = multiply<kPolynomial>(result, 2);
  }
  return result;
}

// s(n) … s(n+30) from s(0) … s(30) and x^n.
template <std::uint64_t kPolynomial>
constexpr std::uint64_t jump(std::uint64_t state, std::uint64_t power) {
  const std::uint64_t first = widen<kPolynomial>(state);
  std::uint64_t result = 0;
  for (int i = 0; i < 31; ++i) result ^= first >> i & (0 - (power >> i & 1));
  return result & 0x7FFFFFFF;
}

constexpr std::uint64_t kStart1 = jump<kPolynomial1>(1, power<kPolynomial1>(kSkipped));
constexpr std::uint64_t kSkip2 = power<kPolynomial2>(kSkipped);

// c(n), 64 bits at a time.
class Generator {
 public:
  Generator(std::uint32_t c_init, std::size_t first) {
    std::uint64_t x1 = kStart1, x2 = jump<kPolynomial2>(c_init & 0x7FFFFFFF, kSkip2);
    if (first != 0) {
      x1 = jump<kPolynomial1>(x1, power<kPolynomial1>(first));
      x2 = jump<kPolynomial2>(x2, power<kPolynomial2>(first));
    }
    x1_ = widen<kPolynomial1>(x1);
    x2_ = widen<kPolynomial2>(x2);
  }

  std::uint64_t next() {
    const std::uint64_t word = x1_ ^ x2_;
    x1_ = advance<kPolynomial1>(x1_);
    x2_ = advance<kPolynomial2>(x2_);
    return word;
  }

 private:
  std::uint64_t x1_, x2_;
};

// Every bits-th bit, starting at each of the first `bits` ones.
__attribute__((target("bmi2"))) void extract(std::uint64_t word, std::uint32_t bits,
                                             std::uint64_t every, std::uint64_t* runs) {
  for (std::uint32_t i = 0; i < bits; ++i) runs[i] = _pext_u64(word, every << i);
}

}  // namespace

void gold(std::uint32_t c_init, std::size_t first, std::size_t bits, std::uint8_t* out) noexcept {
  Generator generator(c_init, first);
  for (; bits >= 64; bits -= 64, out += 8) {
    const std::uint64_t word = generator.next();
    std::memcpy(out, &word, 8);
  }
  if (bits == 0) return;
  const std::uint64_t word = generator.next() & ((std::uint64_t{1} << bits) - 1);
  std::memcpy(out, &word, (bits + 7) / 8);
}

void gold_planes(std::uint32_t c_init, std::uint32_t bits_per_symbol, std::size_t symbols,
                 std::uint8_t* planes, std::size_t plane_bytes) noexcept {
  // Eight symbols are bits_per_symbol bytes: take those out of the stream of 64-bit words.
  Generator generator(c_init, 0);
  std::uint64_t every = 0;
  for (std::uint32_t j = 0; j < 8; ++j) every |= std::uint64_t{1} << j * bits_per_symbol;
  const std::uint32_t step = 8 * bits_per_symbol;
  unsigned __int128 stream = 0;
  std::uint32_t held = 0;
  const std::size_t bytes = (symbols + 7) / 8;
  for (std::size_t byte = 0; byte < bytes; ++byte) {
    if (held < step) {
      stream |= static_cast<unsigned __int128>(generator.next()) << held;
      held += 64;
    }
    std::uint64_t runs[8];
    extract(static_cast<std::uint64_t>(stream), bits_per_symbol, every, runs);
    stream >>= step;
    held -= step;
    for (std::uint32_t i = 0; i < bits_per_symbol; ++i)
      planes[i * plane_bytes + byte] = static_cast<std::uint8_t>(runs[i]);
  }
  for (std::uint32_t i = 0; i < bits_per_symbol; ++i)
    std::memset(planes + i * plane_bytes + bytes, 0, plane_bytes - bytes);
}

void lane_signs(const std::uint8_t* planes, std::size_t plane_bytes, std::uint32_t bits_per_symbol,
                std::size_t element, std::uint32_t first, std::uint16_t* signs) noexcept {
  for (std::uint32_t i = 0; i < bits_per_symbol; ++i) {
    std::uint32_t window;
    std::memcpy(&window, planes + i * plane_bytes + element / 8, sizeof window);
    signs[i] = static_cast<std::uint16_t>(window >> element % 8 << first);
  }
}

}  // namespace carillon::phy
