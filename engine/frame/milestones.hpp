// What a frame reached and when, whoever executed it: the instants that latencies are read off.
#pragma once

#include <cstdint>

#include "base/tick.hpp"
#include "frame/frame.hpp"
#include "frame/graph.hpp"
#include "runtime/graph.hpp"

namespace carillon::frame {

/// From the frame's start on air; kNever where it did not get there.
struct Milestones {
  Tick first_packet = runtime::kNever;
  Tick started = runtime::kNever;         ///< its first task
  Tick pilots_done = runtime::kNever;     ///< the last PilotFft
  Tick combiner_done = runtime::kNever;   ///< the last ZeroForce
  Tick uplink_done = runtime::kNever;     ///< the last task of the uplink
  Tick downlink_first = runtime::kNever;  ///< the first downlink symbol of all antennas
  Tick ended = runtime::kNever;           ///< the last task of all
  Tick slack = runtime::kNever;           ///< what was left to the deadline of the tightest task
  std::uint32_t missed = 0;               ///< downlink symbols that were not ready for the air
  bool completed = false;                 ///< neither refused nor dropped
};

/// Enters tasks in the milestones of the frames they belong to.
class MilestoneKeeper {
 public:
  MilestoneKeeper(const Frame& frame, const FrameGraph& graph);

  /// Of a frame whose packets come when their symbols have been on air.
  Milestones begin() const;
  /// A task, or all tasks of an instruction: from its start to its end, on the frame's time.
  void take(Milestones& frame, std::uint16_t instruction, Tick start, Tick end) const;

 private:
  const FrameGraph& graph_;
  Tick first_packet_ = runtime::kNever;
  std::uint16_t first_downlink_ = kNoInstruction;
};

}  // namespace carillon::frame
