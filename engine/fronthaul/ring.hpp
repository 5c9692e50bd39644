// A bounded first-in-first-out ring over memory given to it, which two processes may share.
// Each place carries the turn it waits for, so any number of threads may push and pop; one on each
// side never retries. (The bounded queue described by D. Vyukov.)
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "base/aligned.hpp"

namespace carillon::fronthaul {

template <typename T>
class Ring {
  static_assert(std::is_trivially_copyable_v<T>);
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

 public:
  static std::size_t capacity_for(std::size_t wanted) { return std::bit_ceil(wanted | 1); }
  /// Bytes of memory for a ring of `wanted` items or more, a multiple of the cache line.
  static std::size_t bytes(std::size_t wanted) {
    const std::size_t places = capacity_for(wanted) * sizeof(Place);
    return sizeof(Control) + (places + kCacheLine - 1) / kCacheLine * kCacheLine;
  }

  Ring() = default;
  /// `memory` is aligned to a cache line and outlives the ring. Exactly one of those who share it
  /// initialises it, before the others look.
  Ring(void* memory, std::size_t wanted, bool initialise)
      : control_(static_cast<Control*>(memory)),
        places_(reinterpret_cast<Place*>(static_cast<std::byte*>(memory) + sizeof(Control))),
        mask_(capacity_for(wanted) - 1) {
    if (!initialise) return;
    new (control_) Control;
    for (std::size_t i = 0; i <= mask_; ++i) {
      new (&places_[i]) Place;
      places_[i].turn.store(i, std::memory_order_relaxed);
    }
  }

  /// False when full.
  bool push(const T& value) noexcept {
    std::uint64_t at = control_->tail.load(std::memory_order_relaxed);
    for (;;) {
      Place& place = places_[at & mask_];
      const auto ahead = static_cast<std::int64_t>(place.turn.load(std::memory_order_acquire) - at);
      if (ahead < 0) return false;
      if (ahead == 0 &&
          control_->tail.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
        place.value = value;
        place.turn.store(at + 1, std::memory_order_release);
        return true;
      }
      if (ahead > 0) at = control_->tail.load(std::memory_order_relaxed);
    }
  }

  /// False when empty.
  bool pop(T& value) noexcept {
    std::uint64_t at = control_->head.load(std::memory_order_relaxed);
    for (;;) {
      Place& place = places_[at & mask_];
      const auto ahead =
          static_cast<std::int64_t>(place.turn.load(std::memory_order_acquire) - (at + 1));
      if (ahead < 0) return false;
      if (ahead == 0 &&
          control_->head.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
        value = place.value;
        place.turn.store(at + mask_ + 1, std::memory_order_release);
        return true;
      }
      if (ahead > 0) at = control_->head.load(std::memory_order_relaxed);
    }
  }

  /// Whether pop() would find nothing, at some moment of this call.
  bool empty() const noexcept {
    const std::uint64_t at = control_->head.load(std::memory_order_relaxed);
    return places_[at & mask_].turn.load(std::memory_order_acquire) < at + 1;
  }
  std::size_t capacity() const noexcept { return mask_ + 1; }

  /// For who comes after producers that were killed: what these had claimed and not filled, which
  /// would hold up consumers for ever, is filled with `value`. Consumers may be at work.
  void fill_claimed(const T& value) noexcept {
    const std::uint64_t tail = control_->tail.load(std::memory_order_acquire);
    for (std::uint64_t i = 0; i <= mask_; ++i) {
      Place& place = places_[i];
      const std::uint64_t turn = place.turn.load(std::memory_order_acquire);
      if ((turn & mask_) != i || turn >= tail) continue;
      place.value = value;
      place.turn.store(turn + 1, std::memory_order_release);
    }
  }

  /// For who comes after consumers that were killed: what these had claimed and not freed, which
  /// would hold up producers for ever, goes to `take` and is freed. Producers may be at work.
  template <typename Take>
  void free_claimed(Take&& take) {
    const std::uint64_t head = control_->head.load(std::memory_order_acquire);
    for (std::uint64_t i = 0; i <= mask_; ++i) {
      Place& place = places_[i];
      const std::uint64_t at = place.turn.load(std::memory_order_acquire) - 1;
      if ((at & mask_) != i || at >= head) continue;
      take(std::as_const(place.value));
      place.turn.store(at + mask_ + 1, std::memory_order_release);
    }
  }

 private:
  struct Control {
    alignas(kCacheLine) std::atomic<std::uint64_t> tail{0};
    alignas(kCacheLine) std::atomic<std::uint64_t> head{0};
  };
  struct Place {
    std::atomic<std::uint64_t> turn{0};
    T value{};
  };

  Control* control_ = nullptr;
  Place* places_ = nullptr;
  std::uint64_t mask_ = 0;
};

}  // namespace carillon::fronthaul
