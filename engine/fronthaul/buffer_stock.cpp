#include "fronthaul/buffer_stock.hpp"

#include <new>

#include "base/aligned.hpp"

namespace carillon::fronthaul {
namespace {

constexpr std::size_t round_up(std::size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

constexpr std::uint32_t first_of(std::uint64_t head) { return static_cast<std::uint32_t>(head); }
constexpr std::uint64_t next_head(std::uint64_t head, std::uint32_t first) {
  return (((head >> 32) + 1) << 32) | first;
}

// No buffer's index, nor the end of the list.
constexpr std::uint32_t mark_of(std::uint32_t holder) {
  return kNoBuffer - BufferStock::kHolders + holder;
}

}  // namespace

std::size_t BufferStock::bytes(std::uint32_t count, std::uint32_t buffer_bytes) {
  return kCacheLine + round_up(std::size_t{count} * sizeof(std::uint32_t)) +
         std::size_t{count} * buffer_bytes;
}

BufferStock::BufferStock(void* memory, std::uint32_t count, std::uint32_t buffer_bytes,
                         bool initialise)
    : count_(count), buffer_bytes_(buffer_bytes) {
  auto* bytes = static_cast<std::byte*>(memory);
  head_ = reinterpret_cast<std::atomic<std::uint64_t>*>(bytes);
  next_ = reinterpret_cast<std::atomic<std::uint32_t>*>(bytes + kCacheLine);
  buffers_ = bytes + kCacheLine + round_up(std::size_t{count} * sizeof(std::uint32_t));
  if (!initialise) return;
  new (head_) std::atomic<std::uint64_t>(count == 0 ? kNoBuffer : 0);
  for (std::uint32_t i = 0; i < count; ++i)
    new (&next_[i]) std::atomic<std::uint32_t>(i + 1 < count ? i + 1 : kNoBuffer);
}

std::uint32_t BufferStock::acquire() noexcept {
  std::uint64_t head = head_->load(std::memory_order_acquire);
  for (;;) {
    const std::uint32_t first = first_of(head);
    if (first >= count_) return kNoBuffer;
    const std::uint32_t next = next_[first].load(std::memory_order_relaxed);
    if (head_->compare_exchange_weak(head, next_head(head, next), std::memory_order_acq_rel,
                                     std::memory_order_acquire))
      return first;
  }
}

void BufferStock::release(std::span<const std::uint32_t> buffers) noexcept {
  std::uint32_t first = kNoBuffer, last = kNoBuffer;
  for (const std::uint32_t buffer : buffers) {
    if (buffer >= count_) continue;
    if (first == kNoBuffer)
      first = buffer;
    else
      next_[last].store(buffer, std::memory_order_relaxed);
    last = buffer;
  }
  if (first == kNoBuffer) return;
  std::uint64_t head = head_->load(std::memory_order_relaxed);
  do {
    next_[last].store(first_of(head), std::memory_order_relaxed);
  } while (!head_->compare_exchange_weak(head, next_head(head, first), std::memory_order_acq_rel,
                                         std::memory_order_relaxed));
}

void BufferStock::note(std::uint32_t buffer, std::uint32_t holder) noexcept {
  if (buffer < count_) next_[buffer].store(mark_of(holder), std::memory_order_relaxed);
}

void BufferStock::reclaim(std::uint32_t holder) noexcept {
  for (std::uint32_t buffer = 0; buffer < count_; ++buffer)
    if (next_[buffer].load(std::memory_order_relaxed) == mark_of(holder)) release({&buffer, 1});
}

std::uint32_t BufferStock::available() const noexcept {
  std::uint32_t free = 0;
  std::uint32_t buffer = first_of(head_->load(std::memory_order_acquire));
  while (buffer < count_ && free < count_) {
    ++free;
    buffer = next_[buffer].load(std::memory_order_relaxed);
  }
  return free;
}

}  // namespace carillon::fronthaul
