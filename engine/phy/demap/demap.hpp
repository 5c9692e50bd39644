// Soft demodulation: equalized symbols to int8 soft bits at their place in the decoder's buffer.
#pragma once

#include <cstdint>

#include "base/isa.hpp"
#include "phy/modulation.hpp"
#include "phy/tile.hpp"
#include "phy/transport/transport.hpp"

namespace carillon::phy {

/// Consecutive resource elements of a code block: lanes [first, first + count) of one user's tiles
/// s[0], s[stride], …, first < 16.
struct SoftRun {
  const SoftMap& map;    ///< of the code block
  std::uint32_t re = 0;  ///< the first element, counted from the block's first
  std::uint32_t first = 0, count;
  const Tile* s;
  std::size_t stride = 1;
  /// noise[t * noise_stride + lane] is the variance of noise on a unit-energy symbol, both
  /// components together. Of a symbol with infinity, or with what is no variance (NaN, below zero),
  /// nothing is known: its soft bits are 0.
  const float* noise;
  std::size_t noise_stride = kTileLanes;
  /// Bit `lane` of signs[i * sign_stride + t] is set where scrambling flips bit i. One more is
  /// readable after each plane's last.
  const std::uint16_t* signs;
  std::size_t sign_stride = 0;
  std::int8_t* soft;  ///< the block's buffer
};

/// Most that an LLR may change over half the distance 2a of two points, kLlrScale·4·a²/noise: with
/// less noise a symbol next to a decision's boundary gets less than it deserves.
inline constexpr float kMostLlrSlope = 255;

struct DemapKernels {
  /// Max-log LLRs (38.211 5.1) in the scale of modulation.hpp to their places, within one step of
  /// the exact ones; but in 64QAM below -5 dB and 256QAM below 12 dB points far outside the
  /// constellation may get less. Writes no other byte of `soft`, so that runs of a block may be
  /// demapped by several threads.
  void (*demap)(Modulation, const SoftRun&) noexcept;

  /// Fetches the places that demap() of the same run will write, as many as go straight on in all
  /// planes: elsewhere than in the caches, they would hold it up.
  void (*fetch)(const SoftRun&) noexcept;

  /// For a map that is not direct: d order (N places, overwritten; 0 where nothing was sent) from E
  /// soft bits in e order, repetitions added with saturation.
  void (*recover)(const SoftMap&, const std::int8_t* e, std::int8_t* d) noexcept;

  /// Sum over the lanes in `mask` of |s - nearest constellation point|², for EVM.
  float (*error_power)(Modulation, const Tile& s, std::uint32_t mask) noexcept;
};

const DemapKernels& demap_kernels(Isa isa = active_isa());

namespace avx2 {
extern const DemapKernels demap_kernels;
}
namespace avx512 {
extern const DemapKernels demap_kernels;
}

}  // namespace carillon::phy
