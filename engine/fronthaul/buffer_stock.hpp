// A fixed number of equal packet buffers and the list of those that are free, over memory given to
// it, which two processes may share. Any thread may take and give back; nobody waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace carillon::fronthaul {

inline constexpr std::uint32_t kNoBuffer = 0xffff'ffff;

class BufferStock {
 public:
  static constexpr std::uint32_t kHolders = 16;

  static std::size_t bytes(std::uint32_t count, std::uint32_t buffer_bytes);

  BufferStock() = default;
  /// `memory` is aligned to a cache line and outlives the stock; `buffer_bytes` is a multiple
  /// of 64.
  BufferStock(void* memory, std::uint32_t count, std::uint32_t buffer_bytes, bool initialise);

  /// kNoBuffer when there is none.
  std::uint32_t acquire() noexcept;
  /// Gives buffers back in one step. Indices that do not exist are ignored.
  void release(std::span<const std::uint32_t> buffers) noexcept;

  /// Notes who has a buffer that was acquired: a number below kHolders. Nobody needs to, unless
  /// that may be reclaimed.
  void note(std::uint32_t buffer, std::uint32_t holder) noexcept;
  /// Gives back what a holder that is gone has. Others may take and give back meanwhile.
  void reclaim(std::uint32_t holder) noexcept;

  std::byte* operator[](std::uint32_t buffer) const {
    return buffers_ + std::size_t{buffer} * buffer_bytes_;
  }
  /// All of them.
  std::span<std::byte> all() const { return {buffers_, std::size_t{count_} * buffer_bytes_}; }
  std::uint32_t count() const { return count_; }
  std::uint32_t buffer_bytes() const { return buffer_bytes_; }
  /// Free buffers, counted; exact only while nobody takes or gives back.
  std::uint32_t available() const noexcept;

 private:
  // The list's first buffer in the low half; the high half changes with every step, so that a
  // delayed compare-exchange cannot take an old head for the present one.
  std::atomic<std::uint64_t>* head_ = nullptr;
  std::atomic<std::uint32_t>* next_ = nullptr;  // of a free buffer; of others, who has them
  std::byte* buffers_ = nullptr;
  std::uint32_t count_ = 0, buffer_bytes_ = 0;
};

}  // namespace carillon::fronthaul
