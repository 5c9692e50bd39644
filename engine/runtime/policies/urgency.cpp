#include "runtime/policies/urgency.hpp"

#include <algorithm>
#include <array>

namespace carillon::runtime {
namespace {

// On one group, of the cell's live frames that are due by then, in device time, as far as it has
// been measured; `yielding`: also of those that yield.
double remaining_work(const CellBoard& cell, const Groups& groups, const DeviceMask& group,
                      Tick due, bool yielding) {
  double work = 0;
  const Graph& graph = cell.graph();
  for (std::uint16_t slot = 0; slot < cell.ring(); ++slot) {
    const FrameStatus& frame = cell.frame(slot);
    if (frame.state != FrameStatus::State::Live || frame.deadline > due) continue;
    if (frame.yields && !yielding) continue;
    for (std::uint16_t i = 0; i < graph.size(); ++i) {
      const std::uint16_t opcode = graph[i].opcode;
      if (groups[opcode] == group)
        work += cell.status(slot, i).uncommitted * cell.opcodes()[opcode].mean;
    }
  }
  return work;
}

std::size_t live_frames(const CellBoard& cell) {
  const auto frames = cell.frames();
  return static_cast<std::size_t>(std::count_if(frames.begin(), frames.end(), [](auto& frame) {
    return frame.state == FrameStatus::State::Live;
  }));
}

// Devices of a group that the cell's frames would keep busy. What has not been measured for long
// counts as it was so far.
double asked(const CellBoard& cell, const Groups& groups, const DeviceMask& group, Tick now) {
  const Tick interval = cell.interval(now);
  if (interval == kNever) return 0;
  double work = 0;
  for (std::uint16_t opcode = 0; opcode < cell.opcodes().size(); ++opcode) {
    const OpcodeInfo& info = cell.opcodes()[opcode];
    if (info.chunks == 0 || groups[opcode] != group) continue;
    const double so_far = static_cast<double>(info.busy) / static_cast<double>(info.chunks);
    work += info.asked * (info.mean > 0 ? info.mean : so_far);
  }
  return work / static_cast<double>(interval);
}

// What cells ask for on a group, and the fair share of it: who asks for less gets what he asks for,
// and what that leaves belongs to the others in equal parts.
struct Shares {
  Shares(const View& view, const Groups& groups, const DeviceMask& group)
      : cells(view.board.cells().size()) {
    for (std::size_t c = 0; c < cells; ++c)
      wish[c] = asked(view.board.cells()[c], groups, group, view.now);
    const auto asking =
        std::count_if(wish.begin(), wish.begin() + static_cast<std::ptrdiff_t>(cells),
                      [](double each) { return each > 0; });
    equal = group.count() / static_cast<double>(std::max<std::ptrdiff_t>(asking, 1));
    for (;;) {
      double left = group.count();
      std::uint32_t wanting = 0;
      for (std::size_t c = 0; c < cells; ++c) {
        if (wish[c] <= fair)
          left -= wish[c];
        else
          ++wanting;
      }
      if (wanting == 0 || left / wanting <= fair) return;
      fair = left / wanting;
    }
  }
  bool exceeds(std::uint16_t cell) const { return wish[cell] > equal; }

  std::size_t cells;
  std::array<double, kMaxCells> wish;  // devices
  double equal = 0, fair = 0;
};

// Device time on a group that goes to other cells before the frame's deadline.
double taken_by_others(const View& view, const Shares& shares, FrameRef at, const Groups& groups,
                       const DeviceMask& group) {
  const Tick due = view.board.frame(at).deadline;
  const bool yields = shares.exceeds(at.cell);
  double taken = 0;
  for (std::uint16_t c = 0; c < shares.cells; ++c) {
    if (c == at.cell) continue;
    const double entitled =
        !yields && shares.exceeds(c) ? 0 : std::min(shares.wish[c], shares.fair);
    taken += std::max(remaining_work(view.board[c], groups, group, due, yields),
                      entitled * static_cast<double>(due - view.now));
  }
  return taken;
}

// The groups, each once.
template <typename Visit>
void for_each_group(const Groups& groups, std::uint16_t opcodes, Visit&& visit) {
  for (std::uint16_t opcode = 0; opcode < opcodes; ++opcode) {
    bool seen = false;
    for (std::uint16_t before = 0; before < opcode; ++before)
      seen |= groups[before] == groups[opcode];
    if (!seen) visit(groups[opcode]);
  }
}

// The frame whose last deadline is the first.
FrameId earliest_frame_with_work(const View& view) {
  Priority first{.yields = true, .due = kNever, .frame = ~std::uint64_t{0}};
  for (const auto& ids : {view.ready, view.planned})
    for (const InstanceId& id : ids) {
      if (id.frame == first.frame && id.cell == first.cell) continue;
      const FrameStatus& frame = view.board.frame(id.place());
      first = std::min(first, {.yields = frame.yields,
                               .due = std::max(frame.queue, frame.deadline),
                               .frame = id.frame,
                               .cell = id.cell});
    }
  return {first.frame, first.cell};
}

}  // namespace

Priority priority_of(const View& view, const InstanceId& id) {
  const CellBoard& cell = view.board[id.cell];
  const FrameStatus& frame = cell.frame(id.slot);
  const Tick deadline = cell.graph()[id.instruction].deadline;
  return {.yields = frame.yields,
          .due = std::max(frame.queue, deadline == kNever ? kNever : frame.air_start + deadline),
          .frame = id.frame,
          .rank = cell.graph().rank(id.instruction),
          .cell = id.cell};
}

Admission admission(const View& view, FrameRef at, const Groups& groups) {
  const CellBoard& cell = view.board[at.cell];
  const FrameStatus& frame = cell.frame(at.slot);
  const Tick left = frame.deadline - view.now;
  if (left <= 0) return Admission::Refuse;
  const bool alone = live_frames(cell) == 1;
  Admission verdict = Admission::Admit;
  for_each_group(groups, cell.graph().opcodes(), [&](const DeviceMask& group) {
    const Shares shares(view, groups, group);
    if (shares.exceeds(at.cell)) verdict = std::min(verdict, Admission::Yield);
    const double work = remaining_work(cell, groups, group, kNever, true) +
                        taken_by_others(view, shares, at, groups, group);
    if (work > group.count() * static_cast<double>(left))
      verdict = std::min(verdict, alone ? Admission::Yield : Admission::Refuse);
  });
  return verdict;
}

std::size_t issue_most_urgent(const View& view, const Groups& groups, std::span<Issue> out) {
  const FrameId earliest = earliest_frame_with_work(view);
  std::size_t count = 0;
  for (const InstanceId& id : view.ready) {
    const Priority priority = priority_of(view, id);
    // Insertion into the best out.size() seen so far: few are ready at a time.
    if (count == out.size() && priority >= out[count - 1].priority) continue;
    std::size_t place = count == out.size() ? count - 1 : count++;
    for (; place > 0 && out[place - 1].priority > priority; --place) out[place] = out[place - 1];

    const CellBoard& cell = view.board[id.cell];
    const std::uint16_t opcode = cell.graph()[id.instruction].opcode;
    const std::uint32_t chunks = cell.status(id.slot, id.instruction).chunks;
    const DeviceMask& where = groups[opcode];
    // A claim never takes so much that a core is left without.
    const std::uint32_t fair = (chunks + where.count() - 1) / where.count();
    const bool first = id.frame == earliest.frame && id.cell == earliest.cell;
    out[place] = {.what = id,
                  .first = 0,
                  .count = chunks,
                  .grain = std::clamp(cell.grain(opcode), 1U, std::max(fair, 1U)),
                  .where = where,
                  .priority = priority,
                  .why = first ? Reason::EarliestFrame : Reason::WorkConserving};
  }
  return count;
}

}  // namespace carillon::runtime
