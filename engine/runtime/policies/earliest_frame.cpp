#include "runtime/policies/earliest_frame.hpp"

#include <algorithm>

namespace carillon::runtime {
namespace {

// Frame first, then the graph's order of urgency. Frame numbers last 49 days at 1 ms.
std::uint64_t priority_of(const View& view, const InstanceId& id) {
  return std::uint64_t{id.frame} << 16 | view.board.graph().rank(id.instruction);
}

std::uint32_t earliest_frame_with_work(const View& view) {
  std::uint32_t earliest = ~0U;
  for (const InstanceId& id : view.ready) earliest = std::min(earliest, id.frame);
  for (const InstanceId& id : view.planned) earliest = std::min(earliest, id.frame);
  return earliest;
}

}  // namespace

bool EarliestFrame::admit(const View& view, std::uint16_t slot) {
  return view.now < view.board.frame(slot).deadline;
}

std::size_t EarliestFrame::decide(const View& view, std::span<Issue> out) {
  const std::uint32_t earliest = earliest_frame_with_work(view);
  const auto devices = static_cast<std::uint32_t>(view.board.devices().size());
  const DeviceMask all = DeviceMask::first(devices);
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
    // A claim never takes so much that a core is left without.
    const std::uint32_t fair = (chunks + devices - 1) / devices;
    out[place] = {.what = id,
                  .first = 0,
                  .count = chunks,
                  .grain = std::clamp(view.board.opcodes()[opcode].grain, 1U, std::max(fair, 1U)),
                  .where = all,
                  .priority = priority,
                  .why = id.frame == earliest ? Reason::EarliestFrame : Reason::WorkConserving};
  }
  return count;
}

}  // namespace carillon::runtime
