#include "runtime/policies/urgency.hpp"

#include <algorithm>

namespace carillon::runtime {
namespace {

std::uint64_t earliest_frame_with_work(const View& view) {
  std::uint64_t earliest = ~std::uint64_t{0};
  for (const InstanceId& id : view.ready) earliest = std::min(earliest, id.frame);
  for (const InstanceId& id : view.planned) earliest = std::min(earliest, id.frame);
  return earliest;
}

std::size_t live_frames(const View& view) {
  const auto frames = view.board.frames();
  return static_cast<std::size_t>(std::count_if(frames.begin(), frames.end(), [](auto& frame) {
    return frame.state == FrameStatus::State::Live;
  }));
}

// Of all live frames on one group, in device time, as far as it has been measured.
double remaining_work(const View& view, const Groups& groups, const DeviceMask& group) {
  double work = 0;
  const Graph& graph = view.board.graph();
  for (std::uint16_t slot = 0; slot < view.board.ring(); ++slot) {
    if (view.board.frame(slot).state != FrameStatus::State::Live) continue;
    for (std::uint16_t i = 0; i < graph.size(); ++i)
      if (groups[graph[i].opcode] == group)
        work += view.board.status(slot, i).uncommitted * view.board.opcodes()[graph[i].opcode].mean;
  }
  return work;
}

}  // namespace

bool can_make_it(const View& view, std::uint16_t slot, const Groups& groups) {
  const Tick left = view.board.frame(slot).deadline - view.now;
  if (left <= 0) return false;
  if (live_frames(view) == 1) return true;
  for (std::uint16_t opcode = 0; opcode < view.board.graph().opcodes(); ++opcode) {
    const DeviceMask& group = groups[opcode];
    bool seen = false;
    for (std::uint16_t before = 0; before < opcode; ++before) seen |= groups[before] == group;
    if (seen) continue;
    if (remaining_work(view, groups, group) > group.count() * static_cast<double>(left))
      return false;
  }
  return true;
}

std::size_t issue_most_urgent(const View& view, const Groups& groups, std::span<Issue> out) {
  const std::uint64_t earliest = earliest_frame_with_work(view);
  std::size_t count = 0;
  for (const InstanceId& id : view.ready) {
    const std::uint64_t priority = priority_of(view, id);
    // Insertion into the best out.size() seen so far: few are ready at a time.
    if (count == out.size() && priority >= out[count - 1].priority) continue;
    std::size_t place = count == out.size() ? count - 1 : count++;
    for (; place > 0 && out[place - 1].priority > priority; --place) out[place] = out[place - 1];

    const std::uint16_t opcode = view.board.graph()[id.instruction].opcode;
    const std::uint32_t chunks =
        view.board.status(view.board.slot(id.frame), id.instruction).chunks;
    const DeviceMask& where = groups[opcode];
    // A claim never takes so much that a core is left without.
    const std::uint32_t fair = (chunks + where.count() - 1) / where.count();
    out[place] = {.what = id,
                  .first = 0,
                  .count = chunks,
                  .grain = std::clamp(view.board.grain(opcode), 1U, std::max(fair, 1U)),
                  .where = where,
                  .priority = priority,
                  .why = id.frame == earliest ? Reason::EarliestFrame : Reason::WorkConserving};
  }
  return count;
}

}  // namespace carillon::runtime
