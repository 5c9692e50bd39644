// How much work is to be done once more to emulate a slower clock. Pure: times are given to it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/tick.hpp"

namespace carillon::runtime {

/// Of one opcode on one worker. What is owed is time: the first time that a claim's chunks are done
/// says how long they take, and further ones find their data in the cache. A time that is far above
/// the usual is the system's, which is not to be slower.
class ClockDebt {
 public:
  /// Of a claim's chunks, those that are to be done once more before they are done in earnest.
  std::uint32_t due(std::uint32_t chunks) const noexcept {
    if (!(again_ > 0) || owed_ < again_ / 2) return 0;
    return static_cast<std::uint32_t>(std::clamp(owed_ / again_, 1.0, static_cast<double>(chunks)));
  }
  /// They were, in so long.
  void rehearsed(std::uint32_t chunks, Tick elapsed) noexcept {
    const double each = credible(elapsed, chunks);
    if (first_ == 0)
      first_ = each;
    else
      settle(again_, each);
    owed_ -= std::max(each, 1.0) * chunks;
  }
  /// The claim is done, in earnest in so long: it was to take 1 + extra times what it did at first.
  void done(double extra, std::uint32_t chunks, Tick elapsed) noexcept {
    const double each = credible(elapsed, chunks);
    const double first = first_ > 0 ? first_ : each;
    settle(usual_, first);
    settle(again_, each);
    owed_ += ((1 + extra) * first - each) * chunks;
    first_ = 0;
  }

 private:
  static constexpr double kMost = 3, kWeight = 1.0 / 16;

  double credible(Tick elapsed, std::uint32_t chunks) const noexcept {
    const double each = static_cast<double>(elapsed) / chunks;
    return usual_ > 0 ? std::min(each, kMost * usual_) : each;
  }
  static void settle(double& mean, double value) noexcept {
    mean += (value - mean) * (mean > 0 ? kWeight : 1);
  }

  double owed_ = 0;                           // ns
  double first_ = 0, usual_ = 0, again_ = 0;  // of a chunk: of this claim, at first, and again
};

}  // namespace carillon::runtime
