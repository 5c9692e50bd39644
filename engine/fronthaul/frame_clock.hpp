// When the radio unit's frames are on air, learnt from when their packets come: the packets of a
// symbol leave at the symbol's air end, so the least delayed one tells. Between hosts nothing but
// this frame time is exchanged. No single packet moves the clock, and once it has been set it
// slews: nothing that the network brings makes it jump but a radio that begins anew. A radio unit
// in this process tells it: there is nothing to learn then.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <span>

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
  /// It is known when the zeroth frame is on air: nothing is learnt. Before everything else.
  void set(Tick epoch) noexcept;
  bool is_set() const noexcept { return set_.load(std::memory_order_relaxed); }
  /// A packet's epoch: until a frame has been learnt, the least one that came. Any thread.
  void begin(Tick epoch) noexcept;
  /// What one frame's packets agree on, see agreed_epoch(). The estimate is the lower quartile of
  /// the last kFrames, so that frames that were delayed as a whole do not move it. The clock is the
  /// estimate while the first kFrames are learnt; afterwards it follows by most_slew() a frame. Any
  /// thread; skipped when another one is at it.
  void learn(std::uint64_t frame, Tick frame_epoch) noexcept;
  /// Eight thousand millionths: far above any oscillator's drift.
  Tick most_slew() const noexcept { return duration_ / 128; }
  /// Forgets all frames before this one: the radio has restarted. Any thread.
  void restart(std::uint64_t frame, Tick epoch) noexcept;

 private:
  static constexpr std::size_t kFrames = 16;

  const Tick duration_;
  std::atomic<Tick> epoch_{kNothing};
  std::atomic_flag learning_ = ATOMIC_FLAG_INIT;
  std::atomic<bool> set_{false}, forget_{false}, learnt_{false};
  std::atomic<std::uint64_t> since_{0};
  std::array<Tick, kFrames> history_{};
  std::size_t seen_ = 0;
};

/// The second earliest of the epochs of a frame's symbols (reordered), the only one if there is
/// one: the least delay but for one symbol, so that one packet that is forged or damaged tells
/// nothing.
Tick agreed_epoch(std::span<Tick> symbols) noexcept;

}  // namespace carillon::fronthaul
