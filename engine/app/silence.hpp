// How long nothing has come of a radio unit in another process.
#pragma once

#include <cstdint>

#include "base/tick.hpp"

namespace carillon::app {

class Silence {
 public:
  /// After which frames are not waited for any longer. A radio unit that has not been heard yet may
  /// still be making its frames.
  static constexpr Tick kPatience = 10 * kSecond, kFirstPatience = 60 * kSecond;

  explicit Silence(Tick begun) : since_(begun) {}

  /// How many packets have come so far.
  void look(Tick instant, std::uint64_t packets) noexcept {
    if (packets == packets_) return;
    packets_ = packets;
    since_ = instant;
    heard_ = true;
  }
  bool heard() const noexcept { return heard_; }
  bool too_long(Tick instant) const noexcept {
    return instant - since_ > (heard_ ? kPatience : kFirstPatience);
  }

 private:
  Tick since_;
  std::uint64_t packets_ = 0;
  bool heard_ = false;
};

}  // namespace carillon::app
