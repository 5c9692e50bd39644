// What CUDA kernels are written with, so that the same text runs on a GPU and, for tests, on the
// host.
//
// A kernel is a function template over a Cta (a CUDA thread block): a row of phases. In a phase
// every thread does its part, and none reads what another writes in the same phase; a barrier ends
// it. On a GPU the threads run a phase side by side (simt/device.cuh), on the host one after the
// other, in whatever order a test chooses (tests/support/emulated_cta.hpp): a result that depends
// on that order is a race. A Cta has
//
//   x(), y(), z()            which of the grid's blocks it is
//   threads()                of the block
//   shared<T>(offset)        its shared memory, from a byte on
//   each(n, f)               a phase: f(i) for i < n, spread over the threads
//   each_thread(f)           a phase: f(thread), once for each
//   each_warp(f)             a phase: f(warp), all of a warp's threads together; only what is said
//                            to be of a warp may be called there
//   each_team<K>(f)          a phase: f(team), once for each team of K neighbouring threads, K = 1,
//                            2 or 4. In team.together<Part>(read, write) each of its threads does
//                            read(thread, part), then the team's parts merge what they have in
//                            `common`, then each thread does write(thread, part). Only a team's
//                            threads wait for each other there. A warp's teams have to come by the
//                            same calls of together()
//   Own<T>                   a variable that each thread has for itself: own[thread]
//   add(to, value)           atomic addition, whose old value nobody sees
//   Product                  a warp's 16×16 half-precision product with single-precision sums
//   Products<I, J>           I × J of them next to each other, which share what they read
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "phy/tile.hpp"

// CARILLON_GPU: for kernels; CARILLON_BOTH: for the host, too. Before a loop: CARILLON_UNROLL, so
// that arrays indexed by its counter stay in registers; CARILLON_UNROLL_4, so that four rounds'
// loads are under way together.
#ifdef __CUDACC__
#include <cuda_fp16.h>
#define CARILLON_GPU __device__
#define CARILLON_BOTH __host__ __device__
#define CARILLON_UNROLL _Pragma("unroll")
#define CARILLON_UNROLL_4 _Pragma("unroll 4")
#else
#define CARILLON_GPU
#define CARILLON_BOTH
#define CARILLON_UNROLL
#define CARILLON_UNROLL_4
#endif

namespace carillon::phy::simt {

/// How a kernel is launched.
struct Launch {
  std::uint32_t x = 1, y = 1, z = 1;  ///< blocks
  std::uint32_t threads = 0;          ///< of each, whole warps
  std::uint32_t shared_bytes = 0;     ///< of each
};

/// Of a block: what every GPU from sm_80 on has, and of one thread.
inline constexpr std::uint32_t kWarp = 32, kMostThreads = 1024, kMostSharedBytes = 99 * 1024;
/// Of a grid, in y and in z; x takes 2³¹ - 1.
inline constexpr std::uint32_t kMostBlocks = 65535;

CARILLON_BOTH constexpr std::uint32_t divide_up(std::uint32_t value, std::uint32_t by) {
  return (value + by - 1) / by;
}
CARILLON_BOTH constexpr std::uint32_t round_up(std::uint32_t value, std::uint32_t unit) {
  return divide_up(value, unit) * unit;
}

CARILLON_GPU inline Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
CARILLON_GPU inline Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
CARILLON_GPU inline Complex operator*(float s, Complex a) { return {s * a.re, s * a.im}; }
CARILLON_GPU inline Complex operator*(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
CARILLON_GPU inline void multiply_add(Complex& sum, Complex a, Complex b) {
  sum.re += a.re * b.re;
  sum.re -= a.im * b.im;
  sum.im += a.re * b.im;
  sum.im += a.im * b.re;
}
CARILLON_GPU inline Complex conj(Complex a) { return {a.re, -a.im}; }
CARILLON_GPU inline float norm(Complex a) { return a.re * a.re + a.im * a.im; }

/// IEEE 754 binary16 bit patterns, rounded to nearest (ties to even).
CARILLON_GPU inline std::uint16_t to_half(float value) {
#ifdef __CUDACC__
  return __half_as_ushort(__float2half_rn(value));
#else
  return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
#endif
}
CARILLON_GPU inline float from_half(std::uint16_t bits) {
#ifdef __CUDACC__
  return __half2float(__ushort_as_half(bits));
#else
  return static_cast<float>(std::bit_cast<_Float16>(bits));
#endif
}

/// 1/√value to two units in the last place, value normal and positive.
CARILLON_GPU inline float inverse_root(float value) {
#ifdef __CUDACC__
  return rsqrtf(value);
#else
  return 1 / std::sqrt(value);
#endif
}

/// Four bytes in a word: 0xff for each whose highest bit is set, 0 for the others.
CARILLON_GPU inline std::uint32_t sign_bytes(std::uint32_t word) {
#ifdef __CUDACC__
  std::uint32_t bytes;
  asm("prmt.b32 %0, %1, 0, 0xba98;" : "=r"(bytes) : "r"(word));
  return bytes;
#else
  return (word >> 7 & 0x01010101U) * 0xff;
#endif
}

/// By the lowest five bits of `bits`.
CARILLON_GPU inline std::uint32_t rotate_right(std::uint32_t word, std::uint32_t bits) {
#ifdef __CUDACC__
  return __funnelshift_r(word, word, bits);
#else
  return std::rotr(word, static_cast<int>(bits & 31));
#endif
}
CARILLON_GPU inline std::uint32_t rotate_left(std::uint32_t word, std::uint32_t bits) {
#ifdef __CUDACC__
  return __funnelshift_l(word, word, bits);
#else
  return std::rotl(word, static_cast<int>(bits & 31));
#endif
}

/// The value, of which the compiler then knows nothing: so it does not take apart what it would
/// only have to put together again.
CARILLON_GPU inline std::uint32_t opaque(std::uint32_t value) {
#ifdef __CUDACC__
  asm("" : "+r"(value));
#endif
  return value;
}

CARILLON_GPU inline std::uint32_t reverse_bits(std::uint32_t word) {
#ifdef __CUDACC__
  return __brev(word);
#else
  word = (word >> 1 & 0x55555555) | (word & 0x55555555) << 1;
  word = (word >> 2 & 0x33333333) | (word & 0x33333333) << 2;
  word = (word >> 4 & 0x0f0f0f0f) | (word & 0x0f0f0f0f) << 4;
  return __builtin_bswap32(word);
#endif
}

/// The bits of the integer nearest to a value of at most 2²² in magnitude (ties to even), by one
/// addition: conversions run at a quarter of its rate or less.
CARILLON_GPU inline std::uint32_t rounded_bits(float value) {
  constexpr float kLastIntegers = 12582912.0F;  // 1.5 · 2²³
  const float sum = value + kLastIntegers;
#ifdef __CUDACC__
  return __float_as_uint(sum);
#else
  return std::bit_cast<std::uint32_t>(sum);
#endif
}

/// A lane of a tile of either precision, or of what is the same in all of them.
CARILLON_GPU inline Complex get(const Complex& scalar, std::uint32_t) { return scalar; }
CARILLON_GPU inline Complex get(const Tile& tile, std::uint32_t lane) {
  return {tile.re[lane], tile.im[lane]};
}
CARILLON_GPU inline void put(Tile& tile, std::uint32_t lane, Complex value) {
  tile.re[lane] = value.re;
  tile.im[lane] = value.im;
}
CARILLON_GPU inline Complex get(const HalfTile& tile, std::uint32_t lane) {
  return {from_half(tile.at[lane].re), from_half(tile.at[lane].im)};
}
CARILLON_GPU inline void put(HalfTile& tile, std::uint32_t lane, Complex value) {
  tile.at[lane] = {to_half(value.re), to_half(value.im)};
}

}  // namespace carillon::phy::simt
