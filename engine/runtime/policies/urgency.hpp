// What the list schedulers for CPU cores share: the earliest frame first, within a frame the
// graph's order of urgency, between cells the earlier deadline; and a frame that cannot make it is
// not let in.
//
// Cells share the cores by max-min fairness: a cell that asks for more than its fair share (what
// its newest frame needs, over the time between its frames) gets what the others leave over, and
// all that the others do not ask for is its. Its frames yield to theirs, whatever the deadlines,
// so that it can delay them by a claim at most; and it is its frames that are refused.
#pragma once

#include <span>

#include "runtime/policy.hpp"

namespace carillon::runtime {

/// Which devices execute an opcode; those without an entry of their own are everyone's.
struct Groups {
  DeviceMask everyone;
  std::span<const DeviceMask> of_opcode = {};
  const DeviceMask& operator[](std::uint16_t opcode) const {
    return opcode < of_opcode.size() ? of_opcode[opcode] : everyone;
  }
};

inline DeviceMask all_devices(const View& view) {
  return DeviceMask::first(static_cast<std::uint32_t>(view.board.devices().size()));
}

Priority priority_of(const View& view, const InstanceId& id);

/// Whether a frame may be worked on: behind another frame of its cell only if on each group all
/// that is left to do of them fits in before its deadline, beside what other cells will take by
/// then. That is what they have in flight that goes first, or what they are entitled to, whichever
/// is more. A frame that cannot make it would cost the next ones theirs. Alone in its cell it is
/// always let in, so that times measured in a bad moment are soon measured again; but it yields
/// when it cannot make it, as it does when its cell asks for more than its fair share.
Admission admission(const View& view, FrameRef frame, const Groups& groups);

/// Issues whole instructions on their groups, the most urgent first, and returns how many.
std::size_t issue_most_urgent(const View& view, const Groups& groups, std::span<Issue> out);

}  // namespace carillon::runtime
