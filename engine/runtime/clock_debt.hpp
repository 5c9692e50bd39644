// How much work is to be done once more to emulate a slower clock. Pure: it is told of times.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/tick.hpp"

namespace carillon::runtime {

/// Of one opcode on one worker. What is owed is time, since chunks that are done again find their
/// data in the cache and take less than they did.
class ClockDebt {
 public:
  /// Chunks were done in earnest, in so long; `extra` times that is owed now. A time that is far
  /// above the usual is the system's, which is not to be slower.
  void owe(double extra, std::uint32_t chunks, Tick elapsed) noexcept {
    const double each = static_cast<double>(elapsed) / chunks;
    const double told = usual_ > 0 ? std::min(each, kMost * usual_) : each;
    usual_ += (told - usual_) * (usual_ > 0 ? kWeight : 1);
    owed_ += extra * chunks * told;
  }
  /// Of so many chunks, those that are to be done once more now.
  std::uint32_t due(std::uint32_t chunks) const noexcept {
    const double each = rehearsed_ > 0 ? rehearsed_ : usual_;
    if (!(each > 0) || owed_ < each / 2) return 0;
    return static_cast<std::uint32_t>(std::clamp(owed_ / each, 1.0, static_cast<double>(chunks)));
  }
  /// They were, in so long.
  void paid(std::uint32_t chunks, Tick elapsed) noexcept {
    const double each = static_cast<double>(elapsed) / chunks;
    const double told = std::min(each, kMost * usual_);
    rehearsed_ += (told - rehearsed_) * (rehearsed_ > 0 ? kWeight : 1);
    owed_ -= std::max(told, 1.0) * chunks;
  }

 private:
  static constexpr double kMost = 3, kWeight = 1.0 / 16;
  double owed_ = 0, usual_ = 0, rehearsed_ = 0;  // ns: owed; a chunk's in earnest and again
};

}  // namespace carillon::runtime
