#include "runtime/pace.hpp"

#include <algorithm>
#include <utility>

namespace carillon::runtime {

// Counts the steps before that one. After so many as are remembered there are none left.
void Pace::settle(std::int64_t until, std::uint32_t all) {
  const std::int64_t last = std::min(until, first_ + kSteps);
  for (; first_ < last; ++first_) {
    asked_ += std::min(at(first_).asked, all) * static_cast<double>(kStep);
    got_ += at(first_).got;
    at(first_) = {};
  }
  first_ = std::max(first_, until);
}

void Pace::ended(Tick ready, Tick end, std::uint16_t queue, std::uint32_t sms, double alone,
                 std::uint32_t all) {
  if (queue < kQueues) ready = std::max(ready, std::exchange(free_[queue], end));
  settle((end - kLatest) / kStep, all);
  const Tick took = std::max(static_cast<Tick>(alone), end - ready - kUsual);
  const Tick from = std::max(end - took, first_ * kStep);
  for (std::int64_t step = from / kStep; step <= end / kStep; ++step) {
    const Tick part = std::min(end, (step + 1) * kStep) - std::max(from, step * kStep);
    at(step).asked += static_cast<std::uint32_t>(sms * part / kStep);
    at(step).got += sms * alone * static_cast<double>(part) / static_cast<double>(took);
  }
  if (asked_ >= static_cast<double>(all) * static_cast<double>(kWindow)) close_window();
}

void Pace::close_window() {
  const double share = got_ / asked_;
  shares_ = {share, shares_[0], shares_[1]};
  const double most = share < kHardly ? share : *std::ranges::max_element(shares_);
  others_ = most > kFull ? 0 : 1 - most;
  asked_ = got_ = 0;
}

}  // namespace carillon::runtime
