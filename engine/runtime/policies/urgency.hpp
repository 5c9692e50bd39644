// What the list schedulers for CPU cores share: the earliest frame first, within a frame the
// graph's order of urgency, between sources the earlier deadline; and a frame that cannot make it
// is not let in.
//
// A source asks for what its newest frame needs, over the time between its frames. Cores are shared
// by max-min fairness: who asks for less than the fair share gets it, and what he leaves is for the
// others. A source that asks for more than an equal part yields to those that do not, whatever the
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

/// Whether a frame may be worked on: only if all that it needs of each group fits in before its
/// deadlines, behind the earlier frames of its source and beside what other sources will take by
/// then, which is what they have in flight and what they are entitled to. What can be ready last
/// takes its time besides, however many cores there are. A frame that cannot make it would cost the
/// next ones theirs. Now and then one is let in nevertheless, since what it takes may have been
/// measured in a bad moment; but it yields, as it does when its source asks for more than an equal
/// part.
Admission admission(const View& view, FrameRef frame, const Groups& groups);

/// How many of these issues, the most urgent first, may be made: those of frames that yield leave
/// some of the executor's places to other sources' frames that do not.
std::size_t keep_free(const View& view, std::span<const Issue> issues);

/// Issues whole instructions on their groups, the most urgent first, and returns how many.
std::size_t issue_most_urgent(const View& view, const Groups& groups, std::span<Issue> out);

}  // namespace carillon::runtime
