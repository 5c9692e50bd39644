#include "dataflow/tags.hpp"

#include <algorithm>

namespace carillon::dataflow {

void TagQueue::put(const Tag& tag) noexcept {
  const std::uint64_t put = put_.load(std::memory_order_relaxed);
  std::uint64_t slowest = put;
  for (const Reader& reader : readers_)
    slowest = std::min(slowest, reader.taken.load(std::memory_order_acquire));
  if (put - slowest == kMostTags) {
    lost_.store(lost_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return;
  }
  tags_[put % kMostTags] = tag;
  put_.store(put + 1, std::memory_order_release);
}

}  // namespace carillon::dataflow
