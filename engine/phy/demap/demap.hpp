// Soft demodulation: equalized symbols to int8 soft bits at their place in the decoder's buffer.
#pragma once

#include <cstdint>

#include "base/isa.hpp"
#include "phy/modulation.hpp"
#include "phy/tile.hpp"
#include "phy/transport/transport.hpp"

namespace carillon::phy {

struct DemapKernels {
  /// Max-log LLRs (exact, 38.211 5.1) of one user's tile. noise[lane] is the variance of noise on a
  /// unit-energy symbol, both components together; infinity says nothing is known.
  /// planes[i][lane], i < bits_per_symbol, in the scale of modulation.hpp.
  void (*demap)(Modulation, const Tile& s, const float* noise, std::int8_t (*planes)[16]) noexcept;

  /// Stores lanes [first, first + count) of each plane for elements re… of a code block (counted
  /// from the block's first), negated where signs[i] has the lane's bit set (scrambling). Writes no
  /// other byte of `soft`, so that tiles of a block may be stored by several threads.
  void (*store)(const SoftMap&, std::uint32_t re, std::uint32_t first, std::uint32_t count,
                const std::int8_t (*planes)[16], const std::uint16_t* signs,
                std::int8_t* soft) noexcept;

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
namespace avx512fp16 {
extern const DemapKernels demap_kernels;
}

}  // namespace carillon::phy
