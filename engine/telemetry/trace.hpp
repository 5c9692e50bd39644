// What each thread did and when: a ring per thread, written by it alone, read by anyone at any
// time.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/aligned.hpp"
#include "base/tick.hpp"

namespace carillon::telemetry {

enum class TraceKind : std::uint8_t {
  Task,      ///< a kernel over chunks; `code` is the opcode
  Schedule,  ///< time with the scheduler token
  Receive,   ///< packets taken from the network; `count` of them
  Send,      ///< packets given to the network
  Sleep,
  Stall,  ///< the machine did not run this thread
};

/// 32 bytes, so that two share a cache line. `duration` saturates at 4.29 s, `count` at 65535.
struct TraceEvent {
  Tick start = 0;
  std::uint32_t duration = 0;  ///< ns
  std::uint32_t frame = 0;     ///< modulo 2³²
  std::uint32_t first = 0;     ///< chunk
  std::uint16_t count = 0;
  std::uint16_t instruction = 0;
  std::uint16_t step = 0;
  std::uint16_t code = 0;
  std::uint16_t worker = 0;
  TraceKind kind = TraceKind::Task;
  std::uint8_t cell = 0;  ///< as the runtime numbers them

  Tick end() const { return start + duration; }
  bool operator==(const TraceEvent&) const = default;
};
static_assert(sizeof(TraceEvent) == 32);

/// Into a narrower unsigned field, at its highest value when it does not fit.
template <typename To, typename From>
constexpr To saturate(From value) {
  constexpr auto most = std::numeric_limits<To>::max();
  return value > static_cast<From>(most) ? most : static_cast<To>(value);
}

/// The last `capacity` events of one thread. One writer, any number of readers; the writer never
/// waits: a reader that falls behind loses the oldest events and is told how many.
class TraceRing {
 public:
  /// `capacity` is rounded up to a power of two; 0 makes a ring that keeps nothing.
  explicit TraceRing(std::size_t capacity = 0);
  TraceRing(const TraceRing&) = delete;
  TraceRing& operator=(const TraceRing&) = delete;

  void write(const TraceEvent& event) noexcept {
    if (mask_ == 0) return;
    const std::uint64_t position = written_.load(std::memory_order_relaxed);
    claimed_.store(position + 1, std::memory_order_relaxed);
    // Release on every word: whoever reads one of them also sees the claim.
    const auto words = std::bit_cast<std::array<std::uint64_t, kWords>>(event);
    std::uint64_t* place = words_.data() + (position & mask_) * kWords;
    for (std::size_t w = 0; w < kWords; ++w) {
      std::atomic_ref(place[w]).store(words[w], std::memory_order_release);
    }
    written_.store(position + 1, std::memory_order_release);
  }

  /// A reader's place in the ring.
  struct Cursor {
    std::uint64_t next = 0;
    std::uint64_t lost = 0;  ///< events overwritten before this reader saw them
  };
  /// Copies events from the cursor on, oldest first; returns how many.
  std::size_t read(Cursor& cursor, std::span<TraceEvent> out) const noexcept;

  std::uint64_t written() const { return written_.load(std::memory_order_acquire); }
  std::size_t capacity() const { return mask_ == 0 ? 0 : mask_ + 1; }

 private:
  static constexpr std::size_t kWords = sizeof(TraceEvent) / sizeof(std::uint64_t);

  AlignedArray<std::uint64_t> words_;  // accessed through std::atomic_ref
  std::uint64_t mask_ = 0;             // capacity - 1
  alignas(kCacheLine) std::atomic<std::uint64_t> claimed_{0};
  std::atomic<std::uint64_t> written_{0};
};

}  // namespace carillon::telemetry
