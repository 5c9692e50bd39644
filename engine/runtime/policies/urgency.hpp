// What the list schedulers for CPU cores share: the earliest frame first, within a frame the
// graph's order of urgency, and a frame that cannot make it is not let in.
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

/// Frame first, then the graph's order of urgency.
inline std::uint64_t priority_of(const View& view, const InstanceId& id) {
  return id.frame << 16 | view.board.graph().rank(id.instruction);
}

/// Whether a frame may be worked on: behind another frame only if all that is left to do fits in
/// before the deadline, on each group. A frame that cannot make it would cost the next ones theirs.
/// Alone it is always let in, so that times measured in a bad moment are soon measured again.
bool can_make_it(const View& view, std::uint16_t slot, const Groups& groups);

/// Issues whole instructions on their groups, the most urgent first, and returns how many.
std::size_t issue_most_urgent(const View& view, const Groups& groups, std::span<Issue> out);

}  // namespace carillon::runtime
