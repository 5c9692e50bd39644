// What the list schedulers for CPU cores share: the earliest frame first, within a frame the
// graph's order of urgency, between cells the earlier deadline; and a frame that cannot make it is
// not let in.
//
// A cell asks for what its newest frame needs, over the time between its frames. Cores are shared
// by max-min fairness: who asks for less than the fair share gets it, and what he leaves is for the
// others. A cell that asks for more than an equal part yields to those that do not, whatever the
// deadlines, so that it can delay them by a claim at most, however wrong it is about what the cores
// can do; and it is its frames that are refused.
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
/// when it cannot make it, as it does when its cell asks for more than an equal part.
Admission admission(const View& view, FrameRef frame, const Groups& groups);

/// Issues whole instructions on their groups, the most urgent first, and returns how many.
std::size_t issue_most_urgent(const View& view, const Groups& groups, std::span<Issue> out);

}  // namespace carillon::runtime
