#include "app/judge.hpp"

#include <algorithm>

namespace carillon::app {

using telemetry::GapRecord;
using telemetry::LateCause;

void Judge::note(const GapRecord& gap) { gaps_[noted_++ % kRemembered] = gap; }

// The longest one's number, since several threads may have stood still at once; 0: none.
std::size_t Judge::overlapping(Tick start, Tick end) const {
  std::size_t number = 0;
  Tick longest = 0;
  for (std::size_t n = noted_ - std::min(noted_, kRemembered); n < noted_; ++n) {
    const GapRecord& gap = gaps_[n % kRemembered];
    if (gap.start >= end || gap.start + gap.length <= start || gap.length <= longest) continue;
    longest = gap.length;
    number = n + 1;
  }
  return number;
}

Verdict Judge::cause(const LateFrame& frame) {
  const Tick decided = std::min(frame.ended, frame.due);
  if (const std::size_t number = overlapping(frame.begun, decided); number != 0) {
    const GapRecord& gap = gaps_[(number - 1) % kRemembered];
    inherited_ = {static_cast<LateCause>(gap.cause), static_cast<std::uint32_t>(number)};
    inherited_since_ = gap.start;
  }
  if (inherited_.gap != 0 && inherited_since_ < decided) return inherited_;
  if (frame.missing_packets > 0) return {LateCause::Lost};
  if (frame.worst_packet_delay > patience_) return {LateCause::Fronthaul};
  return {LateCause::Processing};
}

void Judge::ended(bool caught_up) {
  if (caught_up) inherited_ = {};
}

}  // namespace carillon::app
