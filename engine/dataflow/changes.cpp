#include "dataflow/changes.hpp"

#include <algorithm>

namespace carillon::dataflow {

bool Changes::add(const Change& change) {
  const std::uint64_t all = all_added_.load(std::memory_order_relaxed);
  if (all - made_.load(std::memory_order_acquire) == added_.size()) return false;
  added_[all % added_.size()] = change;
  all_added_.store(all + 1, std::memory_order_release);
  return true;
}

// Swaps them to where they wait, so that no string is freed here.
const Change* Changes::next(std::uint64_t end) noexcept {
  for (; taken_ != all_added_.load(std::memory_order_acquire); ++taken_) {
    const auto own = waiting_.begin() + static_cast<std::ptrdiff_t>(count_++);
    std::swap(*own, added_[taken_ % added_.size()]);
    const auto place = std::find_if(waiting_.begin(), own,
                                    [&](const Change& other) { return other.at <= own->at; });
    std::rotate(place, own, own + 1);
  }
  return count_ > 0 && waiting_[count_ - 1].at < end ? &waiting_[count_ - 1] : nullptr;
}

void Changes::made(std::uint64_t at) noexcept {
  const Change& change = waiting_[--count_];
  if (change.at != 0 && change.at < at)
    late_.store(late_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  made_.store(made_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

}  // namespace carillon::dataflow
