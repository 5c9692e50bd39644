// When the radio unit's frames are on air, learnt from when their packets come: the packets of a
// symbol leave at the symbol's air end, so the least delayed one tells. Between hosts nothing but
// this frame time is exchanged.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>

#include "base/tick.hpp"

namespace carillon::fronthaul {

/// Reading is safe from any thread at any time.
class FrameClock {
 public:
  static constexpr Tick kNothing = std::numeric_limits<Tick>::max();

  explicit FrameClock(Tick duration) : duration_(duration) {}

  /// False until the first packet.
  bool locked() const noexcept { return epoch_.load(std::memory_order_acquire) != kNothing; }
  /// Instant of the frame's first sample on air. Only when locked.
  Tick air_start(std::uint64_t frame) const noexcept {
    return epoch_.load(std::memory_order_acquire) + static_cast<Tick>(frame) * duration_;
  }
  /// The frame on air; 0 before the first. Only when locked.
  std::uint64_t frame_at(Tick instant) const noexcept;
  Tick duration() const noexcept { return duration_; }

  /// The zeroth frame's air start, were this packet not delayed. `symbol_end` from the frame's
  /// start.
  Tick epoch_of(std::uint64_t frame, Tick symbol_end, Tick arrival) const noexcept {
    return arrival - symbol_end - static_cast<Tick>(frame) * duration_;
  }
  /// Takes the first packet's epoch until frames have been learnt. Any thread.
  void begin(Tick epoch) noexcept;
  /// One frame's least epoch. The estimate is the lower quartile of the last kFrames: a frame that
  /// was delayed as a whole, or one forged early packet, does not move it; slow drift does. Any
  /// thread; skipped when another one is at it.
  void learn(std::uint64_t frame, Tick frame_epoch) noexcept;
  /// Forgets all frames before this one: the radio has restarted. Any thread.
  void restart(std::uint64_t frame, Tick epoch) noexcept;

 private:
  static constexpr std::size_t kFrames = 16;

  const Tick duration_;
  std::atomic<Tick> epoch_{kNothing};
  std::atomic_flag learning_ = ATOMIC_FLAG_INIT;
  std::atomic<bool> forget_{false};
  std::atomic<std::uint64_t> since_{0};
  std::array<Tick, kFrames> history_{};
  std::size_t seen_ = 0;
};

}  // namespace carillon::fronthaul
