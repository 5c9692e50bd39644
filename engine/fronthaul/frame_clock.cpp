#include "fronthaul/frame_clock.hpp"

#include <algorithm>

namespace carillon::fronthaul {

std::uint64_t FrameClock::frame_at(Tick instant) const noexcept {
  const Tick since = instant - epoch_.load(std::memory_order_acquire);
  return since < 0 ? 0 : static_cast<std::uint64_t>(since / duration_);
}

void FrameClock::set(Tick epoch) noexcept {
  set_.store(true, std::memory_order_relaxed);
  epoch_.store(epoch, std::memory_order_release);
}

void FrameClock::begin(Tick epoch) noexcept {
  Tick before = epoch_.load(std::memory_order_acquire);
  while (!learnt_.load(std::memory_order_acquire) && epoch < before &&
         !epoch_.compare_exchange_weak(before, epoch, std::memory_order_acq_rel)) {
  }
}

void FrameClock::restart(std::uint64_t frame, Tick epoch) noexcept {
  since_.store(frame, std::memory_order_relaxed);
  forget_.store(true, std::memory_order_relaxed);
  epoch_.store(epoch, std::memory_order_release);
}

void FrameClock::learn(std::uint64_t frame, Tick frame_epoch) noexcept {
  if (is_set() || learning_.test_and_set(std::memory_order_acquire)) return;
  Tick before = epoch_.load(std::memory_order_acquire);
  if (forget_.exchange(false, std::memory_order_relaxed)) seen_ = 0;
  if (frame >= since_.load(std::memory_order_relaxed)) {
    history_[seen_++ % kFrames] = frame_epoch;
    const std::size_t count = std::min(seen_, kFrames);
    std::array<Tick, kFrames> sorted;
    std::copy_n(history_.begin(), count, sorted.begin());
    const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(count);
    const auto quartile = sorted.begin() + static_cast<std::ptrdiff_t>(count / 4);
    std::nth_element(sorted.begin(), quartile, end);
    const Tick slew = seen_ <= kFrames ? kNothing : most_slew();
    const Tick next = before + std::clamp(*quartile - before, -slew, slew);
    // A restart meanwhile wins.
    epoch_.compare_exchange_strong(before, next, std::memory_order_acq_rel);
    learnt_.store(true, std::memory_order_release);
  }
  learning_.clear(std::memory_order_release);
}

Tick agreed_epoch(std::span<Tick> symbols) noexcept {
  if (symbols.empty()) return FrameClock::kNothing;
  if (symbols.size() > 1) std::ranges::nth_element(symbols, symbols.begin() + 1);
  return symbols.size() > 1 ? symbols[1] : symbols[0];
}

}  // namespace carillon::fronthaul
