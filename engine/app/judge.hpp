// Why a frame was late. A pure function of what the run has noted.
#pragma once

#include <array>
#include <cstdint>

#include "base/tick.hpp"
#include "telemetry/records.hpp"

namespace carillon::app {

/// What is known about a late frame when it ends.
struct LateFrame {
  Tick begun = 0, ended = 0;  // absolute
  Tick due = 0;               // absolute: the last deadline that it missed
  std::uint32_t missing_packets = 0;
  Tick worst_packet_delay = 0;  // of any symbol's last packet beyond its air end
  bool alone = true;            // no other frame was in flight when it ended
};

/// Why, and by which gap.
struct Verdict {
  telemetry::LateCause cause = telemetry::LateCause::None;
  std::uint32_t gap = 0;  // as FrameRecord::gap
};

/// Remembers recent stalls. A late is put down to one that overlapped the frame before it was due;
/// frames that had to queue behind such a frame inherit its cause until the backlog is over.
class Judge {
 public:
  /// `patience`: how far beyond a symbol's air end its packets may come before the fronthaul is to
  /// blame.
  explicit Judge(Tick patience) : patience_(patience) {}

  /// Every gap of the run, in order.
  void note(const telemetry::GapRecord& gap);
  Verdict cause(const LateFrame& frame);
  /// Every frame that ends reports whether that shows the backlog to be over: no other frame is in
  /// flight, or this one was in time. (With a budget longer than a frame some frame always is.)
  void ended(bool caught_up);

 private:
  static constexpr std::size_t kRemembered = 64;

  std::size_t overlapping(Tick start, Tick end) const;

  Tick patience_;
  std::array<telemetry::GapRecord, kRemembered> gaps_{};
  std::size_t noted_ = 0;
  Verdict inherited_;
  Tick inherited_since_ = 0;
};

}  // namespace carillon::app
