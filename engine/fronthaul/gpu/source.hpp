// A radio's stand-in that sends known blocks over local stream sockets, one for each channel, from
// a thread of its own. What every block must sum to is known beforehand.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/aligned.hpp"
#include "fronthaul/gpu/block.hpp"

namespace carillon::fronthaul::gpu {

struct SourcePlan {
  std::uint32_t channels = 1;
  std::uint32_t samples = 1024;  ///< of a block, a multiple of kSampleUnit
  double msps = 0;               ///< of each channel, 10⁶ samples/s; 0: as fast as they are taken
  bool announce = false;         ///< sends metadata alone; who gets it fetches the samples
};

class Source {
 public:
  /// Blocks that a paced radio holds before it drops what is not taken, and at least so many s.
  static constexpr std::uint32_t kHeldBlocks = 8;
  static constexpr double kHeldSeconds = 0.01;

  /// Starts to send: of each sequence number a block of every channel in turn, BlockMeta then
  /// samples, unless those are fetched. Throws std::invalid_argument on a shape that cannot be,
  /// std::system_error without sockets, std::bad_alloc.
  explicit Source(const SourcePlan& plan);
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  /// Stops, though nobody takes what it has sent.
  ~Source();

  /// The receiving end.
  int socket(std::uint32_t channel) const { return ends_[channel].receiving; }
  /// The sums of a block's samples.
  const BlockCheck& expected(std::uint64_t sequence, std::uint32_t channel) const {
    return sums_[pattern(sequence, channel)];
  }
  /// Where a block's samples lie, for who fetches them, and all memory in which any do.
  const std::uint32_t* samples(std::uint64_t sequence, std::uint32_t channel) const {
    return samples_.data() + pattern(sequence, channel) * kSampleUnit;
  }
  std::span<const std::uint32_t> memory() const { return samples_.span(); }
  /// Blocks that were not sent because nobody took them in time.
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  /// Of the sending thread, so far.
  double cpu_seconds() const { return cpu_seconds_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kPatterns = 7;  // a prime, so that channels do not share one
  struct Ends {
    int sending = -1, receiving = -1;
  };

  static std::uint32_t pattern(std::uint64_t sequence, std::uint32_t channel) {
    return static_cast<std::uint32_t>((sequence + 3 * channel) % kPatterns);
  }
  void close() noexcept;
  void send(const std::stop_token& stop) noexcept;
  bool send_round(std::uint64_t sequence) noexcept;
  bool wait_for(std::uint64_t sequence, double start, const std::stop_token& stop) noexcept;

  SourcePlan plan_;
  AlignedArray<std::uint32_t> samples_;  // patterns overlap: each begins kSampleUnit after another
  std::array<BlockCheck, kPatterns> sums_;
  std::vector<Ends> ends_;
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<double> cpu_seconds_{0};
  std::jthread thread_;
};

/// Takes exactly one block off a socket, its samples straight to where they go. False when the
/// source has ended.
bool receive_block(int socket, BlockMeta* meta, std::byte* payload, std::size_t bytes) noexcept;

/// Of the calling thread.
double thread_cpu_seconds() noexcept;

}  // namespace carillon::fronthaul::gpu
