// Why a frame was late. A pure function of what the run has noted.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "base/tick.hpp"
#include "telemetry/records.hpp"

namespace carillon::app {

/// What is known about a late frame when it ends.
struct LateFrame {
  Tick begun = 0, ended = 0;  // absolute
  Tick due = 0;               // absolute: the last deadline that it missed
  std::uint32_t missing_packets = 0;
  Tick packet_delay = 0;  // for how long after a symbol some of its packets certainly lacked
  bool alone = true;      // no other frame was in flight when it ended
  Tick work = 0;          // from a block's symbols and packets to its bits, at most; 0: not known
};

/// Why, and by which gap.
struct Verdict {
  telemetry::LateCause cause = telemetry::LateCause::None;
  std::uint32_t gap = 0;  // as FrameRecord::gap
};

/// The cause of a block that failed, as NackRecord::cause: `found` when its frame ended, and the
/// frame's. Packets that came late, or never, because this machine stood still are no fault of the
/// network's.
std::uint32_t cause_of_block(std::uint32_t found, telemetry::LateCause frame);

/// Remembers recent gaps. A late frame is put down to what overlapped it before it was due: gaps,
/// or packets where these kept it waiting for longer. A frame that nothing overlapped, but that had
/// to queue behind others, inherits their gaps. Nothing is put down to gaps that are too short for
/// how late it was, or for how much longer than usual its work took, nor to packets that were late
/// by less than that.
class Judge {
 public:
  /// `patience`: how far beyond a symbol's air end its packets may come before the fronthaul is to
  /// blame.
  explicit Judge(Tick patience) : patience_(patience) {}

  /// Every gap of the run; those of a thread in order.
  void note(const telemetry::GapRecord& gap);
  Verdict cause(const LateFrame& frame);
  /// A frame in time, as late because its downlink, which had left by `left`, was not there when it
  /// went on air, until `due`. What happened here before it left is not why; what kept this machine
  /// from running after that may be, and else the way was too long.
  LateFrame replaced(const LateFrame& frame, Tick left, Tick due) const;
  /// How long any thread stood still within a span of time; 0 of one that ends before it starts.
  Tick stood_still(Tick start, Tick end) const;
  /// LateFrame::work of a frame in time, of which nothing was missing.
  void in_time(Tick work);
  /// Every frame that ends reports whether that shows the backlog to be over: no other frame is in
  /// flight, or this one was in time. (With a budget longer than a frame some frame always is.)
  void ended(bool caught_up);

 private:
  static constexpr std::size_t kRemembered = 64;

  // What overlapped a span of time: the longest gap's number, and how long any thread stood still.
  struct Gaps {
    std::size_t number = 0;
    Tick total = 0;
    Tick since = 0, until = 0;  // the first one's start, the last one's end
  };
  Gaps overlapping(Tick start, Tick end) const;
  Verdict by(const Gaps& gaps) const;

  Tick patience_;
  Tick usual_work_ = 0;  // of the last few frames in time, on average
  std::array<telemetry::GapRecord, kRemembered> gaps_{};
  std::size_t noted_ = 0;
  static constexpr Tick kNone = std::numeric_limits<Tick>::max();
  Tick backlog_ = kNone;  // since when frames queue behind a gap
};

}  // namespace carillon::app
