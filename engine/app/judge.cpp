#include "app/judge.hpp"

#include <algorithm>

namespace carillon::app {

using telemetry::GapRecord;
using telemetry::LateCause;

void Judge::note(const GapRecord& gap) { gaps_[noted_++ % kRemembered] = gap; }

// The longest one: several threads may have stood still at once.
Verdict Judge::overlapping(Tick start, Tick end) const {
  Verdict verdict;
  Tick longest = 0;
  for (std::size_t n = noted_ - std::min(noted_, kRemembered); n < noted_; ++n) {
    const GapRecord& gap = gaps_[n % kRemembered];
    if (gap.start >= end || gap.start + gap.length <= start || gap.length <= longest) continue;
    longest = gap.length;
    verdict = {static_cast<LateCause>(gap.cause), static_cast<std::uint32_t>(n + 1)};
  }
  return verdict;
}

Verdict Judge::cause(const LateFrame& frame) {
  if (const Verdict stalled = overlapping(frame.begun, frame.ended); stalled.gap != 0)
    inherited_ = stalled;
  if (inherited_.gap != 0) return inherited_;
  if (frame.missing_packets > 0) return {LateCause::Lost};
  if (frame.worst_packet_delay > patience_) return {LateCause::Fronthaul};
  return {LateCause::Processing};
}

void Judge::ended(bool caught_up) {
  if (caught_up) inherited_ = {};
}

}  // namespace carillon::app
