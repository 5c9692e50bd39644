// What is moved into GPU memory: blocks of a channel's I/Q samples, each with its metadata beside
// it, not among its samples. And what a check finds of a block, wherever it lies.
#pragma once

#include <cstdint>

namespace carillon::fronthaul::gpu {

inline constexpr std::uint32_t kMostChannels = 8;
inline constexpr std::uint32_t kSampleBytes = 4;  ///< int16 I, int16 Q
/// A block's samples are a multiple of this: a GPU's thread loads four, a line is 16.
inline constexpr std::uint32_t kSampleUnit = 16;

/// A block's metadata: a cache line, as it is sent and as it lies in the side ring.
struct alignas(64) BlockMeta {
  std::uint64_t sequence = 0;      ///< of its channel: 0, 1, 2, …
  std::uint64_t first_sample = 0;  ///< its time stamp: of its channel, from the start
  std::uint32_t channel = 0;
  std::uint32_t samples = 0;
  float gain = 1;  ///< what a sample is multiplied by, so that all blocks have one scale
  std::uint32_t padding[9] = {};
};
static_assert(sizeof(BlockMeta) == 64);

/// What a time stamp says beside its channel's blocks before it.
enum class Stamp : std::uint32_t {
  InOrder,
  Gap,       ///< samples before it are missing
  Repeated,  ///< has come before: the same time stamp as the newest block
  Old,       ///< is from before the newest block, or overlaps it
  Channel,   ///< of a channel that does not exist
};

/// Samples as 32-bit words w, I in the lower half, i from 0; all sums modulo the type's range, so
/// that their order is of no matter.
struct BlockCheck {
  unsigned long long sum_i = 0, sum_q = 0;  ///< two's complement; over samples: the average
  std::uint32_t plain = 0;                  ///< Σ w(i)
  std::uint32_t placed = 0;                 ///< Σ (i + 1) w(i): tells of words that changed places
  Stamp stamp = Stamp::InOrder;
  std::uint32_t padding = 0;
  std::uint64_t missing = 0;  ///< samples before it, if Gap

  bool operator==(const BlockCheck&) const = default;
};

/// Where a channel's next block ought to begin. Zero at the start.
struct ChannelState {
  std::uint64_t next_sample = 0;   ///< after the newest block
  std::uint64_t newest_first = 0;  ///< the newest block's own time stamp
  std::uint32_t begun = 0;         ///< 0: nothing has come, and anything may
  std::uint32_t padding = 0;
};

}  // namespace carillon::fronthaul::gpu
