// Which HARQ processes of the uplink are under way, and what was sent in each last.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "frame/data_port.hpp"
#include "frame/frame.hpp"

namespace carillon::frame {

/// A process carries one block at a time. The thread that schedules frames begins it; the one that
/// knows the block's verdict settles it.
class HarqProcesses {
 public:
  /// `receives`: the uplink. At the side that sends it there are no processes to keep.
  HarqProcesses(const Frame& frame, bool receives);

  /// Whether there are any; without them a process is a number that blocks carry.
  bool any() const { return processes_ > 0; }

  /// Why an uplink grant cannot be, whatever its coding; empty: it can.
  std::string why_not(const Grant& grant) const;
  /// Why a block cannot be sent again that is coded so; empty: it can.
  std::string why_not_again(const TransportBlock& block, const phy::TransportPlan& plan) const;
  /// The blocks of a frame that is scheduled. Sets which attempt each is, and whether its soft bits
  /// are kept and combined.
  void begin(FrameProgram& program);
  /// Those of one that will never begin.
  void withdraw(const FrameProgram& program) noexcept;

  /// Another thread, once for each block that was begun.
  void settle(const TransportBlock& block, Verdict verdict) noexcept;

 private:
  enum State : std::uint8_t {
    Idle,      // and nothing is kept of it
    UnderWay,  // for the first time, or with nothing to combine it with
    Combined,  // under way, and combined with what is kept
    Kept,      // it failed, and its soft bits are kept
  };
  struct Process {
    std::atomic<State> state{Idle};
    TransportPlans::Plan plan;  // of what was sent in it last
    std::uint8_t attempt = 0;   // … and how often
    // What these were before the block that is under way, or would be.
    State state_before = Idle;
    TransportPlans::Plan plan_before;
    std::uint8_t attempt_before = 0;
  };
  Process& of(std::uint32_t user, std::uint32_t process) {
    return all_[std::size_t{user} * processes_ + process];
  }
  const Process& of(std::uint32_t user, std::uint32_t process) const {
    return all_[std::size_t{user} * processes_ + process];
  }

  bool receives_;
  std::uint32_t processes_;
  std::size_t most_kept_;     // bytes
  std::vector<Process> all_;  // [user][process]
};

}  // namespace carillon::frame
