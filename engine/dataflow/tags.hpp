// Tags on their way from one node to others, beside the samples of a ring.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/aligned.hpp"
#include "dataflow/blocks/tag.hpp"

namespace carillon::dataflow {

/// One thread puts tags at a time, and one takes them for each reader; positions of the ring, never
/// falling.
class TagQueue {
 public:
  explicit TagQueue(std::size_t readers) : tags_(kMostTags), readers_(readers) {}

  /// Those for which there is no room are lost, and counted.
  void put(const Tag& tag) noexcept;
  /// The next one before `end`, if there is one; stays until take().
  const Tag* next(std::size_t reader, std::uint64_t end) const noexcept {
    const std::uint64_t taken = readers_[reader].taken.load(std::memory_order_relaxed);
    if (taken == put_.load(std::memory_order_acquire)) return nullptr;
    const Tag& tag = tags_[taken % kMostTags];
    return tag.position < end ? &tag : nullptr;
  }
  void take(std::size_t reader) noexcept {
    auto& taken = readers_[reader].taken;
    taken.store(taken.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  /// The reader takes no more: none waits for it.
  void leave(std::size_t reader) noexcept {
    readers_[reader].taken.store(std::numeric_limits<std::uint64_t>::max(),
                                 std::memory_order_release);
  }
  std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

 private:
  struct alignas(kCacheLine) Reader {
    std::atomic<std::uint64_t> taken{0};
  };

  std::vector<Tag> tags_;
  std::atomic<std::uint64_t> put_{0}, lost_{0};
  std::vector<Reader> readers_;
};

}  // namespace carillon::dataflow
