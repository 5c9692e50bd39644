// Samples on their way from one node to others: lock-free, and mirrored in memory, so that no
// window of them ever wraps.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/aligned.hpp"

namespace carillon::dataflow {

/// Memory that lies twice at neighbouring addresses: what is written behind its end is at its
/// start.
class MirroredMemory {
 public:
  /// Of at least `bytes`: a power of two, and whole pages. Throws std::system_error.
  explicit MirroredMemory(std::size_t bytes);
  ~MirroredMemory();
  MirroredMemory(const MirroredMemory&) = delete;
  MirroredMemory& operator=(const MirroredMemory&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// One thread writes at a time, and one reads for each reader; positions count items from the
/// first.
class Ring {
 public:
  /// Room for at least `items` of `item_bytes` (a power of two), beside `history` that have been
  /// taken and stay. Throws std::system_error, or std::invalid_argument.
  Ring(std::size_t item_bytes, std::uint64_t items, std::size_t readers, std::uint64_t history = 0);

  std::uint64_t capacity() const { return capacity_; }
  std::uint64_t written() const { return written_.load(std::memory_order_acquire); }
  std::uint64_t read(std::size_t reader) const {
    return readers_[reader].position.load(std::memory_order_acquire);
  }

  /// For the writer: how many items it may write, and where.
  std::uint64_t room() const;
  std::byte* place() const { return at(written_.load(std::memory_order_relaxed)); }
  void write(std::uint64_t items) { advance(written_, items); }

  /// For a reader: how many items are there, and where they begin.
  std::uint64_t available(std::size_t reader) const { return written() - read(reader); }
  /// From `history` of those that it has taken; zeros before the first.
  const std::byte* items(std::size_t reader, std::uint64_t history = 0) const {
    return at(readers_[reader].position.load(std::memory_order_relaxed) - history);
  }
  void take(std::size_t reader, std::uint64_t items) { advance(readers_[reader].position, items); }
  /// It reads no more: no room is kept for it.
  void leave(std::size_t reader) {
    readers_[reader].position.store(kGone, std::memory_order_release);
  }

 private:
  static constexpr std::uint64_t kGone = std::numeric_limits<std::uint64_t>::max();
  struct alignas(kCacheLine) Reader {
    std::atomic<std::uint64_t> position{0};
  };

  // Only the thread that owns a position changes it.
  static void advance(std::atomic<std::uint64_t>& position, std::uint64_t items) {
    position.store(position.load(std::memory_order_relaxed) + items, std::memory_order_release);
  }
  std::byte* at(std::uint64_t position) const {
    return memory_.data() + ((position * item_bytes_) & (memory_.bytes() - 1));
  }

  std::size_t item_bytes_;
  MirroredMemory memory_;
  std::uint64_t capacity_;
  alignas(kCacheLine) std::atomic<std::uint64_t> written_{0};
  std::vector<Reader> readers_;
};

}  // namespace carillon::dataflow
