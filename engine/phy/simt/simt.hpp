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
//   Own<T>                   a variable that each thread has for itself: own[thread]
//   add(to, value)           atomic addition, whose old value nobody sees
//   Product                  a warp's 16×16 half-precision product with single-precision sums
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "phy/tile.hpp"

#ifdef __CUDACC__
#include <cuda_fp16.h>
#define CARILLON_GPU __device__
#define CARILLON_BOTH __host__ __device__
#else
#define CARILLON_GPU
#define CARILLON_BOTH
#endif

namespace carillon::phy::simt {

/// How a kernel is launched.
struct Launch {
  std::uint32_t x = 1, y = 1, z = 1;  ///< blocks
  std::uint32_t threads = 0;          ///< of each, whole warps
  std::uint32_t shared_bytes = 0;     ///< of each
};

/// Of a block: what every GPU from sm_80 on has, and of one thread.
inline constexpr std::uint32_t kWarp = 32, kMostThreads = 1024, kMostSharedBytes = 163 * 1024;

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

/// A lane of a tile of either precision.
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
