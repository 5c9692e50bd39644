// The near future of a device: how many of its SMs are spoken for, and when (MegaStation's
// GPUStatTable, §4.5: SMs, estimated start and end of every planned executor, added up over time).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/tick.hpp"

namespace carillon::runtime {

class Outlook {
 public:
  static constexpr Tick kStep = 8 * kMicrosecond;
  static constexpr std::uint32_t kSteps = 1024;

  /// What is before `now` is over.
  void advance(Tick now) {
    const std::int64_t step = now / kStep;
    if (step - first_ >= kSteps) {
      used_.fill(0);
      first_ = step;
    }
    for (; first_ < step; ++first_) at(first_) = 0;
  }

  /// An executor that is planned: as much of it as lies within the time looked at. Of the steps in
  /// which it begins and ends it has a part, or many short ones would add up to more than they are.
  struct Entry {
    std::int64_t first = 0, last = -1;
    std::uint32_t sms = 0, head = 0, tail = 0;
  };
  Entry add(Tick start, Tick end, std::uint32_t sms) {
    Entry entry{clip(start), clip(end), sms};
    const auto part = [&](std::int64_t step) {
      const Tick from = std::max(start, step * kStep), to = std::min(end, (step + 1) * kStep);
      return static_cast<std::uint32_t>(sms * std::max<Tick>(to - from, 0) / kStep);
    };
    entry.head = part(entry.first);
    entry.tail = entry.last > entry.first ? part(entry.last) : 0;
    each(entry, [&](std::int64_t step, std::uint32_t used) { at(step) += used; });
    return entry;
  }
  void remove(const Entry& entry) {
    each(entry, [&](std::int64_t step, std::uint32_t used) {
      if (step >= first_) at(step) -= used;
    });
  }

  /// The most SMs in use at once between the two.
  std::uint32_t most(Tick start, Tick end) const {
    std::uint32_t most = 0;
    const std::int64_t last = clip(end);
    for (std::int64_t step = clip(start); step <= last; ++step) most = std::max(most, at(step));
    return most;
  }

  /// From when on, not before `start`, at most so many are in use for one step.
  Tick when(Tick start, std::uint32_t sms) const {
    std::int64_t step = clip(start);
    while (step + 1 < first_ + kSteps && at(step) > sms) ++step;
    return std::max(start, step * kStep);
  }

  /// When so much work, in SM·ns, is done from `start` on with what is left of so many SMs.
  Tick done(Tick start, double work, std::uint32_t sms) const {
    std::int64_t step = clip(start);
    for (Tick now = start;; now = ++step * kStep) {
      const double free = std::max({sms - std::min(sms, at(step)), sms / kLeast, 1U});
      const Tick end = (step + 1) * kStep;
      if (free * static_cast<double>(end - now) >= work || step + 1 >= first_ + kSteps)
        return now + static_cast<Tick>(work / free);
      work -= free * static_cast<double>(end - now);
    }
  }

 private:
  template <typename Take>
  static void each(const Entry& entry, Take&& take) {
    if (entry.last < entry.first) return;
    take(entry.first, entry.head);
    for (std::int64_t step = entry.first + 1; step < entry.last; ++step) take(step, entry.sms);
    if (entry.last > entry.first) take(entry.last, entry.tail);
  }
  static constexpr std::uint32_t kLeast = 10;  // of all SMs, the part that one always gets; or one
  std::int64_t clip(Tick time) const {
    return std::clamp<std::int64_t>(time / kStep, first_, first_ + kSteps - 1);
  }
  std::uint32_t& at(std::int64_t step) { return used_[static_cast<std::uint64_t>(step) % kSteps]; }
  std::uint32_t at(std::int64_t step) const {
    return used_[static_cast<std::uint64_t>(step) % kSteps];
  }

  std::array<std::uint32_t, kSteps> used_{};
  std::int64_t first_ = 0;
};

}  // namespace carillon::runtime
