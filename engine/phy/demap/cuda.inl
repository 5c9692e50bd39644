// Max-log LLRs in single precision. In units of half the distance of two points, a component's
// points are ±1, ±3, …, and the LLR of its sign is s·(m + 1)(|x| - m) with the slope s = 4 a²/σ²,
// where the nearest point is 2m + 1 (demap.inl derives it). That is the largest of the lines
// (m + 1)|x| - m(m + 1): without looking for m it takes one multiply-add and one maximum for each.
// The next bit is the same of half as many points around the middle one.
#pragma once

#include <cmath>

#include "phy/demap/cuda.hpp"
#include "phy/transport/runs.hpp"

namespace carillon::phy::cuda {

/// Half the distance of neighbouring points, as half_distance() for Qm bits.
CARILLON_BOTH constexpr float amplitude(std::uint32_t bits) {
  return bits == 2   ? 0.70710678118654752F
         : bits == 4 ? 0.31622776601683793F
         : bits == 6 ? 0.15430334996209191F
                     : 0.07669649888473704F;
}

template <std::uint32_t kHalf>
CARILLON_GPU float sign_distance(float size) {
  float most = size;
  for (std::uint32_t m = 1; m < kHalf; ++m)
    most = std::fmax(most, static_cast<float>(m + 1) * size - static_cast<float>(m * (m + 1)));
  return most;
}

/// The bits of a component with 2·kHalf points: put(0, LLR), put(2, …), ….
template <std::uint32_t kHalf, typename Put>
CARILLON_GPU void component_llrs(std::uint32_t bit, float x, float slope, const Put& put) {
  const float size = std::fabs(x);
  put(bit, std::copysign(slope * sign_distance<kHalf>(size), x));
  if constexpr (kHalf > 1) component_llrs<kHalf / 2>(bit + 2, kHalf - size, slope, put);
}

/// put(i, LLR) for each of kBits constellation bits of a symbol: kLlrScale·ln(P(0)/P(1)).
/// certainty: 1/noise; where it is NaN or below zero, nothing is known.
template <std::uint32_t kBits, typename Put>
CARILLON_GPU void llrs(Complex s, float certainty, const Put& put) {
  constexpr float a = amplitude(kBits), numerator = kLlrScale * 4 * a * a;
  // Beyond any constellation, but finite: a symbol that is not known at all says nothing.
  constexpr float kFar = 0x1p20F;
  const float slope = certainty > 0 ? std::fmin(numerator * certainty, kMostLlrSlope) : 0;
  const auto point = [](float part) { return std::fmin(std::fmax(part * (1 / a), -kFar), kFar); };
  component_llrs<(1U << kBits / 2) / 2>(0, point(s.re), slope, put);
  component_llrs<(1U << kBits / 2) / 2>(1, point(s.im), slope, put);
}

CARILLON_GPU inline std::int8_t to_soft(float llr, bool flipped) {
  const float kept = std::fmin(std::fmax(flipped ? -llr : llr, -kLlrLimit), kLlrLimit);
  return static_cast<std::int8_t>(simt::rounded_bits(kept));
}

template <std::uint32_t kBits>
CARILLON_GPU void demap_bits(const TileRun& run, std::uint32_t lane, Complex s, float certainty,
                             std::int8_t* soft) {
  const std::uint32_t element = run.element + (lane - run.first);
  std::int8_t* const to = soft + run.buffer;
  llrs<kBits>(s, certainty, [&](std::uint32_t i, float llr) {
    const bool flipped = (run.signs[i] >> lane & 1) != 0;
    to[place_of(run.places, i * run.places.plane_stride + element)] = to_soft(llr, flipped);
  });
}

/// The soft bits of one symbol, in a lane that the run holds, to their places.
CARILLON_GPU inline void demap(const TileRun& run, std::uint32_t lane, Complex s, float certainty,
                               std::int8_t* soft) {
  switch (run.bits) {
    case 2: return demap_bits<2>(run, lane, s, certainty, soft);
    case 4: return demap_bits<4>(run, lane, s, certainty, soft);
    case 6: return demap_bits<6>(run, lane, s, certainty, soft);
    default: return demap_bits<8>(run, lane, s, certainty, soft);
  }
}

/// |s - nearest constellation point|².
CARILLON_GPU inline float error_power(std::uint32_t bits, Complex s) {
  const float a = amplitude(bits), most = static_cast<float>((1U << bits / 2) / 2 - 1);
  const auto error = [&](float part) {
    const float size = std::fabs(part) * (1 / a);
    return size - (2 * std::fmin(std::floor(size * 0.5F), most) + 1);
  };
  return a * a * simt::norm({error(s.re), error(s.im)});
}

inline constexpr std::uint32_t kRecoverThreads = 256;

/// Which bit of the first lap lies at place d; map.lap if none does.
CARILLON_BOTH constexpr std::uint32_t coded_bit_at(const Recovery& map, std::uint32_t d) {
  for (std::uint32_t p = 0; p < map.piece_count; ++p)
    if (d - map.pieces[p].d < map.pieces[p].count) return map.pieces[p].e + (d - map.pieces[p].d);
  return map.lap;
}

/// One thread for each place: neighbours read and write neighbouring bytes. Grid: blocks, of which
/// a frame may have more than the 65535 that other directions hold; places.
template <typename Cta>
CARILLON_GPU void recover_block(Cta& cta, const RecoverTask& task) {
  const Recovery& map = task.blocks[cta.x()];
  cta.each_thread([&](std::uint32_t thread) {
    constexpr int kLimit = static_cast<int>(kLlrLimit);
    const std::uint32_t d = cta.y() * kRecoverThreads + thread;
    if (d >= map.N) return;
    int sum = 0;
    const std::uint32_t first = coded_bit_at(map, d);
    if (first < map.lap)
      for (std::uint32_t e = first; e < map.E; e += map.lap) {
        sum += task.e[map.e + e];
        sum = sum > kLimit ? kLimit : sum < -kLimit ? -kLimit : sum;
      }
    task.d[map.d + d] = static_cast<std::int8_t>(sum);
  });
}

}  // namespace carillon::phy::cuda
