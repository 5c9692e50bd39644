#include "app/judge.hpp"

#include <algorithm>

namespace carillon::app {

using telemetry::GapRecord;
using telemetry::LateCause;

void Judge::note(const GapRecord& gap) { gaps_[noted_++ % kRemembered] = gap; }

// The longest one: several threads may have stood still at once.
const GapRecord* Judge::overlapping(Tick start, Tick end) const {
  const GapRecord* longest = nullptr;
  for (std::size_t i = 0; i < std::min(noted_, kRemembered); ++i) {
    const GapRecord& gap = gaps_[i];
    if (gap.start >= end || gap.start + gap.length <= start) continue;
    if (longest == nullptr || gap.length > longest->length) longest = &gap;
  }
  return longest;
}

LateCause Judge::cause(const LateFrame& frame) {
  if (const GapRecord* gap = overlapping(frame.begun, frame.ended)) {
    inherited_ = static_cast<LateCause>(gap->cause);
    return inherited_;
  }
  if (inherited_ != LateCause::None) return inherited_;
  if (frame.missing_packets > 0) return LateCause::Lost;
  if (frame.worst_packet_delay > patience_) return LateCause::Fronthaul;
  return LateCause::Processing;
}

void Judge::ended(bool caught_up) {
  if (caught_up) inherited_ = LateCause::None;
}

}  // namespace carillon::app
