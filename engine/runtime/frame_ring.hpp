// Who may use a ring slot: one word per slot says which frame it belongs to, in which state, and
// how many receivers are writing to it, so that no slot is reused under anybody's hands.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/aligned.hpp"
#include "base/thread.hpp"

namespace carillon::runtime {

class FrameRing {
 public:
  enum class State : std::uint8_t {
    Virgin,     // never used
    Free,       // the frame named here is over; a later one may come
    Filling,    // somebody is beginning the frame
    Live,       // receivers may hold it
    Ended,      // done or dropped; the consumer has it
    Releasing,  // the consumer is through; waits for the last receiver to leave
  };
  enum class Begin : std::uint8_t { Won, AlreadyLive, Refused };

  explicit FrameRing(std::uint32_t size) : words_(size) {}

  std::uint32_t size() const { return static_cast<std::uint32_t>(words_.size()); }
  std::uint16_t slot(std::uint64_t frame) const {
    return static_cast<std::uint16_t>(frame % words_.size());
  }
  State state(std::uint16_t slot) const noexcept { return state_of(at(slot).load()); }
  std::uint64_t frame(std::uint16_t slot) const noexcept { return frame_of(at(slot).load()); }

  /// Nobody uses the slot: a later frame could begin there.
  bool vacant(std::uint16_t slot) const noexcept {
    const State now = state(slot);
    return now == State::Virgin || now == State::Free;
  }

  /// Won: the caller fills the slot and calls fill_done. A frame cannot begin twice, unless it is
  /// over and to be done `again`.
  Begin begin(std::uint64_t frame, bool again = false) noexcept {
    std::atomic<std::uint64_t>& word = at(slot(frame));
    std::uint64_t seen = word.load(std::memory_order_acquire);
    for (;;) {
      const State state = state_of(seen);
      const std::uint64_t next = frame_of(seen) + (again ? 0 : 1);
      const bool free = state == State::Virgin || (state == State::Free && frame >= next);
      if (!free) {
        const bool same = frame_of(seen) == frame;
        return same && (state == State::Filling || state == State::Live) ? Begin::AlreadyLive
                                                                         : Begin::Refused;
      }
      if (word.compare_exchange_weak(seen, make(frame, State::Filling, 0),
                                     std::memory_order_acquire)) {
        return Begin::Won;
      }
    }
  }
  void fill_done(std::uint64_t frame) noexcept {
    at(slot(frame)).store(make(frame, State::Live, 0));
  }

  /// Counts the caller among the frame's users; false unless it is live. Filling takes some tens of
  /// nanoseconds; if whoever fills is not running we do not wait for it, lest we keep it from
  /// running.
  bool enter(std::uint64_t frame) noexcept {
    std::atomic<std::uint64_t>& word = at(slot(frame));
    std::uint64_t seen = word.load(std::memory_order_acquire);
    for (int patience = 1000; frame_of(seen) == frame;) {
      if (state_of(seen) == State::Filling) {
        if (--patience == 0) return false;
        spin_pause();
        seen = word.load(std::memory_order_acquire);
      } else if (state_of(seen) != State::Live) {
        return false;
      } else if (word.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire)) {
        return true;
      }
    }
    return false;
  }
  /// True when the slot was waiting for this user to leave.
  bool leave(std::uint64_t frame) noexcept {
    const std::uint64_t left = at(slot(frame)).fetch_sub(1) - 1;
    return state_of(left) == State::Releasing && users_of(left) == 0;
  }

  /// The scheduler: Live → Ended.
  void end(std::uint16_t slot) noexcept { move(slot, State::Ended); }
  /// The consumer: Ended → Releasing; false when the frame is not there.
  bool release(std::uint64_t frame) noexcept {
    const std::uint64_t seen = at(slot(frame)).load();
    if (frame_of(seen) != frame || state_of(seen) != State::Ended) return false;
    move(slot(frame), State::Releasing);
    return true;
  }
  /// The scheduler: is the slot released and has everybody left?
  bool abandoned(std::uint16_t slot) const noexcept {
    const std::uint64_t seen = at(slot).load();
    return state_of(seen) == State::Releasing && users_of(seen) == 0;
  }
  /// The scheduler: Releasing → Free.
  void free(std::uint16_t slot) noexcept { move(slot, State::Free); }

 private:
  // frame:44 (69 years at an eighth of a millisecond) | state:4 | users:16
  static std::uint64_t make(std::uint64_t frame, State state, std::uint32_t users) {
    return frame << 20 | std::uint64_t{static_cast<std::uint8_t>(state)} << 16 | users;
  }
  static std::uint64_t frame_of(std::uint64_t word) { return word >> 20; }
  static State state_of(std::uint64_t word) { return static_cast<State>(word >> 16 & 0xf); }
  static std::uint32_t users_of(std::uint64_t word) { return word & 0xffff; }

  // Only the users change under the mover.
  void move(std::uint16_t slot, State to) noexcept {
    std::atomic<std::uint64_t>& word = at(slot);
    std::uint64_t seen = word.load();
    while (!word.compare_exchange_weak(seen, make(frame_of(seen), to, users_of(seen)))) {
    }
  }

  struct alignas(kCacheLine) Word {
    std::atomic<std::uint64_t> value{0};
  };
  std::atomic<std::uint64_t>& at(std::uint16_t slot) { return words_[slot].value; }
  const std::atomic<std::uint64_t>& at(std::uint16_t slot) const { return words_[slot].value; }

  std::vector<Word> words_;
};

}  // namespace carillon::runtime
