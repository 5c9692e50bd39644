// The kernels that check blocks where they lie: the slides' average, a checksum, time stamps, and
// the gain that brings a block's samples to scale. Their text (check.inl) also runs on the host.
#pragma once

#include <cstdint>
#include <span>

#include "base/cuda/status.hpp"
#include "fronthaul/gpu/block.hpp"
#include "phy/simt/simt.hpp"

namespace carillon::fronthaul::gpu {

using carillon::cuda::Status;
using carillon::cuda::Stream;

/// A block's sums, and gain × sample / 32768 where that is asked for. `check`'s sums are zero
/// before.
struct InspectTask {
  const BlockMeta* meta;         ///< may lie in the host's memory
  const std::uint32_t* samples;  ///< aligned to 16 bytes; may lie in the host's memory, too
  std::uint32_t count;           ///< samples, a multiple of kSampleUnit; at least one of them
  phy::Complex* scaled;          ///< [count]; null: nobody asks
  BlockCheck* check;
};

/// Time stamps of blocks in the order in which they came; `state` [kMostChannels] goes on from what
/// was checked before.
struct StampTask {
  const BlockMeta* meta;              ///< [slot]
  std::uint32_t slots, first, count;  ///< slots of the ring; the first one, and how many of them
  ChannelState* state;
  BlockCheck* checks;  ///< [slot]
};

phy::simt::Launch launch_of(const InspectTask&);
phy::simt::Launch launch_of(const StampTask&);

/// In order on the stream.
Status inspect(const InspectTask&, Stream);
Status stamp(const StampTask&, Stream);

/// The same text on the host, one thread after the other.
void inspect_on_host(const InspectTask&);
void stamp_on_host(const StampTask&);

/// A block's sums, plainly: what the kernels are held against.
BlockCheck sums_of(std::span<const std::uint32_t> samples);

/// Whether two blocks have the same sums, whatever their time stamps say.
bool same_sums(const BlockCheck& a, const BlockCheck& b);

}  // namespace carillon::fronthaul::gpu
