// A queue from one thread to another: one producer, one consumer, no waiting.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned.hpp"

namespace carillon::runtime {

template <typename T>
class EventRing {
 public:
  /// Holds at least `capacity` elements.
  explicit EventRing(std::size_t capacity)
      : elements_(std::bit_ceil(capacity)), mask_(elements_.size() - 1) {}

  /// Not visible before publish(). False when full.
  bool push(const T& element) noexcept {
    if (staged_ - head_.load(std::memory_order_acquire) > mask_) return false;
    elements_[staged_++ & mask_] = element;
    return true;
  }
  void publish() noexcept {
    if (tail_.load(std::memory_order_relaxed) == staged_)
      return;  // leaves the reader's cache alone
    tail_.store(staged_, std::memory_order_release);
  }

  std::size_t pop(std::span<T> out) noexcept {
    const std::size_t head = head_.load(std::memory_order_relaxed);
    const std::size_t tail = tail_.load(std::memory_order_acquire);
    const std::size_t count = tail - head < out.size() ? tail - head : out.size();
    for (std::size_t i = 0; i < count; ++i) out[i] = elements_[(head + i) & mask_];
    if (count != 0) head_.store(head + count, std::memory_order_release);
    return count;
  }

 private:
  std::vector<T> elements_;
  std::size_t mask_;
  alignas(kCacheLine) std::atomic<std::size_t> head_{0};
  alignas(kCacheLine) std::atomic<std::size_t> tail_{0};
  std::size_t staged_ = 0;  // the producer's own
};

}  // namespace carillon::runtime
