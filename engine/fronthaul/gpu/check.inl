// A thread block sums a slice of a block's samples in registers, then in shared memory, and adds
// what it has to the block's sums once. Four samples are one load, as wide as a thread's loads are:
// over the bus, and from memory, a warp then asks for 512 bytes in a row.
#pragma once

#include "fronthaul/gpu/check.hpp"

namespace carillon::fronthaul::gpu {

inline constexpr std::uint32_t kInspectThreads = 256;
inline constexpr std::uint32_t kInspectLoads = 8;  // of a thread, four samples each
inline constexpr std::uint32_t kSliceLoads = kInspectThreads * kInspectLoads;
inline constexpr std::uint32_t kSliceSamples = 4 * kSliceLoads;  // 8192: sums of I fit 32 bits

struct alignas(16) FourSamples {
  std::uint32_t at[4];
};

CARILLON_GPU inline std::int32_t i_of(std::uint32_t word) {
  return static_cast<std::int16_t>(word & 0xffff);
}
CARILLON_GPU inline std::int32_t q_of(std::uint32_t word) {
  return static_cast<std::int16_t>(word >> 16);
}
CARILLON_GPU inline unsigned long long widen(std::uint32_t sum) {
  return static_cast<unsigned long long>(static_cast<long long>(static_cast<std::int32_t>(sum)));
}

template <typename Cta>
CARILLON_GPU void inspect_block(Cta& cta, const InspectTask& task) {
  enum : std::uint32_t { kI, kQ, kPlain, kPlaced, kSums };
  std::uint32_t* const sums = cta.template shared<std::uint32_t>();
  cta.each(kSums, [&](std::uint32_t n) { sums[n] = 0; });
  const std::uint32_t first = cta.x() * kSliceLoads;
  const std::uint32_t loads = task.count / 4;
  const FourSamples* const from = reinterpret_cast<const FourSamples*>(task.samples);
  const float gain = task.meta->gain / 32768;
  cta.each_thread([&](std::uint32_t thread) {
    std::uint32_t own[kSums] = {};
    CARILLON_UNROLL
    for (std::uint32_t n = 0; n < kInspectLoads; ++n) {
      const std::uint32_t load = first + n * kInspectThreads + thread;
      if (load >= loads) continue;
      const FourSamples four = from[load];
      CARILLON_UNROLL
      for (std::uint32_t k = 0; k < 4; ++k) {
        const std::uint32_t word = four.at[k], place = 4 * load + k;
        own[kI] += static_cast<std::uint32_t>(i_of(word));
        own[kQ] += static_cast<std::uint32_t>(q_of(word));
        own[kPlain] += word;
        own[kPlaced] += (place + 1) * word;
        if (task.scaled != nullptr)
          task.scaled[place] = {gain * static_cast<float>(i_of(word)),
                                gain * static_cast<float>(q_of(word))};
      }
    }
    CARILLON_UNROLL
    for (std::uint32_t n = 0; n < kSums; ++n) cta.add(&sums[n], own[n]);
  });
  cta.each(1, [&](std::uint32_t) {
    cta.add(&task.check->sum_i, widen(sums[kI]));
    cta.add(&task.check->sum_q, widen(sums[kQ]));
    cta.add(&task.check->plain, sums[kPlain]);
    cta.add(&task.check->placed, sums[kPlaced]);
  });
}

CARILLON_GPU inline void stamp_one(const BlockMeta& meta, ChannelState& state, BlockCheck& check) {
  check.missing = 0;
  if (state.begun == 0 || meta.first_sample == state.next_sample) {
    check.stamp = Stamp::InOrder;
  } else if (meta.first_sample > state.next_sample) {
    check.stamp = Stamp::Gap;
    check.missing = meta.first_sample - state.next_sample;
  } else {
    check.stamp = meta.first_sample == state.newest_first ? Stamp::Repeated : Stamp::Old;
    return;  // what is newest stays so
  }
  state = {meta.first_sample + meta.samples, meta.first_sample, 1, 0};
}

// A thread for each channel goes through all blocks and takes its own: they are few, and their
// order is what matters. One more has the blocks of channels that do not exist.
template <typename Cta>
CARILLON_GPU void stamp_block(Cta& cta, const StampTask& task) {
  cta.each(kMostChannels + 1, [&](std::uint32_t channel) {
    for (std::uint32_t n = 0; n < task.count; ++n) {
      const std::uint32_t slot = (task.first + n) % task.slots;
      const BlockMeta& meta = task.meta[slot];
      const std::uint32_t of = meta.channel < kMostChannels ? meta.channel : kMostChannels;
      if (of != channel) continue;
      if (channel == kMostChannels) {
        task.checks[slot].stamp = Stamp::Channel;
        task.checks[slot].missing = 0;
      } else {
        stamp_one(meta, task.state[channel], task.checks[slot]);
      }
    }
  });
}

}  // namespace carillon::fronthaul::gpu
