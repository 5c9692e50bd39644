#include "app/judge.hpp"

#include <algorithm>

namespace carillon::app {

using telemetry::GapRecord;
using telemetry::LateCause;

namespace {

// What a gap held up runs on cold caches, beside what other threads make up for.
constexpr Tick kDelayPerGap = 2;
// Where nine tenths of all time are used, a gap takes this many times as long to be worked off.
constexpr Tick kRecovery = 10;
constexpr Tick kUsual = 16;  // frames, about, that say what is usual

}  // namespace

std::uint32_t cause_of_block(std::uint32_t found, LateCause frame) {
  const bool stood_still = frame == LateCause::OperatingSystem || frame == LateCause::MachineStall;
  const bool by_packets = found == static_cast<std::uint32_t>(LateCause::Lost) ||
                          found == static_cast<std::uint32_t>(LateCause::Fronthaul);
  const bool open = found == telemetry::kCauseToCome || (stood_still && by_packets);
  return open ? static_cast<std::uint32_t>(frame) : found;
}

void Judge::note(const GapRecord& gap) { gaps_[noted_++ % kRemembered] = gap; }

// Several threads may have stood still at once: that time counts once.
Judge::Gaps Judge::overlapping(Tick start, Tick end) const {
  std::array<const GapRecord*, kRemembered> found;
  std::size_t count = 0;
  Gaps all;
  Tick longest = 0;
  for (std::size_t n = noted_ - std::min(noted_, kRemembered); n < noted_; ++n) {
    const GapRecord& gap = gaps_[n % kRemembered];
    if (gap.start >= end || gap.start + gap.length <= start) continue;
    found[count++] = &gap;
    if (gap.length <= longest) continue;
    longest = gap.length;
    all.number = n + 1;
  }
  if (count == 0) return all;
  std::sort(found.begin(), found.begin() + count,
            [](const GapRecord* a, const GapRecord* b) { return a->start < b->start; });
  all.since = all.until = found[0]->start;
  for (std::size_t i = 0; i < count; ++i) {
    const Tick from = std::max(found[i]->start, all.until);
    all.until = std::max(found[i]->start + found[i]->length, from);
    all.total += all.until - from;
  }
  return all;
}

// Gaps that begin before the span reach into it, so that their union has no hole before it; nor has
// it one after it.
Tick Judge::stood_still(Tick start, Tick end) const {
  const Gaps gaps = overlapping(start, end);
  if (gaps.total == 0 || end <= start) return 0;
  return gaps.total - std::max<Tick>(start - gaps.since, 0) - std::max<Tick>(gaps.until - end, 0);
}

Verdict Judge::by(const Gaps& gaps) const {
  const GapRecord& gap = gaps_[(gaps.number - 1) % kRemembered];
  return {static_cast<LateCause>(gap.cause), static_cast<std::uint32_t>(gaps.number)};
}

Verdict Judge::cause(const LateFrame& frame) {
  const Tick decided = std::min(frame.ended, frame.due);
  // Packets seem as late as their receiver stood still.
  const Tick by_packets = std::max<Tick>(frame.packet_delay - patience_, 0);
  const Gaps own = overlapping(frame.begun, decided);
  const bool by_gaps = own.number != 0 && own.total >= by_packets;
  if (by_gaps) {
    const Gaps before = overlapping(backlog_, own.since);
    const bool worked_off = own.since > before.until + kRecovery * before.total;
    backlog_ = worked_off ? own.since : std::min(backlog_, own.since);
  }
  const Gaps behind = overlapping(backlog_, decided);
  const Tick by_work = frame.work > 0 && usual_work_ > 0 ? frame.work - usual_work_ : 0;
  const bool explained =
      behind.number != 0 &&
      std::max(frame.ended - frame.due, by_work) <= kDelayPerGap * behind.total &&
      frame.begun < behind.until + kRecovery * behind.total;
  if (by_gaps && explained) return by(behind);
  if (by_packets >= by_work) {
    if (frame.missing_packets > 0) return {LateCause::Lost};
    if (by_packets > 0) return {LateCause::Fronthaul};
  }
  return explained ? by(behind) : Verdict{LateCause::Processing};
}

LateFrame Judge::replaced(const LateFrame& frame, Tick left, Tick due) const {
  LateFrame late = frame;
  late.begun = left;
  late.ended = std::min(frame.ended, due);
  late.due = due;
  late.packet_delay = std::max(frame.packet_delay, patience_ + 1);
  late.work = 0;
  return late;
}

void Judge::in_time(Tick work) {
  usual_work_ += usual_work_ == 0 ? work : (work - usual_work_) / kUsual;
}

void Judge::ended(bool caught_up) {
  if (caught_up) backlog_ = kNone;
}

}  // namespace carillon::app
