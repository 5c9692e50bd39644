#include "dataflow/changes.hpp"

#include <algorithm>
#include <utility>

namespace carillon::dataflow {

bool Changes::add(const Change& change) {
  const std::uint64_t all = all_added_.load(std::memory_order_relaxed);
  if (all - made_.load(std::memory_order_acquire) == added_.size()) return false;
  added_[all % added_.size()] = change;
  all_added_.store(all + 1, std::memory_order_release);
  return true;
}

namespace {

constexpr auto kLater = [](const auto& one, const auto& other) {
  return std::pair{one.change.at, one.number} > std::pair{other.change.at, other.number};
};

}  // namespace

// Swaps them to where they wait, so that no string is freed here.
const Change* Changes::next(std::uint64_t end) noexcept {
  for (; taken_ != all_added_.load(std::memory_order_acquire); ++taken_) {
    Waiting& own = waiting_[count_++];
    std::swap(own.change, added_[taken_ % added_.size()]);
    own.number = taken_;
    std::push_heap(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count_),
                   kLater);
  }
  return count_ > 0 && waiting_[0].change.at < end ? &waiting_[0].change : nullptr;
}

void Changes::made(std::uint64_t at) noexcept {
  const std::uint64_t wanted = waiting_[0].change.at;
  std::pop_heap(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count_), kLater);
  --count_;
  if (wanted != 0 && wanted < at)
    late_.store(late_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  made_.store(made_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

}  // namespace carillon::dataflow
