// Kernels that do nothing but last, and tell when they were over. All times by %globaltimer, ns.
#pragma once

#include <cstdint>

#include "base/cuda/status.hpp"

namespace carillon::bench {

/// Blocks that stay for a while.
struct Stay {
  std::uint32_t ns = 0;
  std::uint32_t* left = nullptr;  ///< on the device, 0: counts the blocks that are over
  std::uint64_t* end = nullptr;   ///< on the device: when the last block was over
  std::uint32_t* word = nullptr;  ///< of the host, or null: written then by the last block
  std::uint32_t value = 0;        ///< what it writes
};
cuda::Status stay(const Stay& task, std::uint32_t blocks, cuda::Stream stream);

/// Shows the clock `count` times: the i-th time, from 1 on, when the host's word `asked` is i. Then
/// it is in shown[i - 1], on the device, and after that the host's word `told` is i.
struct ShowClock {
  const std::uint32_t* asked = nullptr;
  std::uint32_t* told = nullptr;
  std::uint64_t* shown = nullptr;
  std::uint32_t count = 0;
};
/// It waits for the host 2 s at most in all, and then ends.
cuda::Status show_clock(const ShowClock& task, cuda::Stream stream);

/// By how much the clock jumped, so many times in a row; `jumps` is on the device.
cuda::Status watch_clock(std::uint64_t* jumps, std::uint32_t count, cuda::Stream stream);

/// A block that stays so many cycles of its SM; 0: it does nothing at all.
cuda::Status idle(std::uint64_t cycles, cuda::Stream stream);

}  // namespace carillon::bench
