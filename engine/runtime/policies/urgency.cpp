#include "runtime/policies/urgency.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace carillon::runtime {
namespace {

// Executors' places that frames which yield leave free for those that do not.
constexpr std::size_t kLeftFree = 32;

// When what a frame has to do by `deadline` is wanted; not before all of the frames before it.
Tick due_of(const FrameStatus& frame, Tick deadline) {
  return std::max(frame.order.queue, deadline == kNever ? kNever : frame.start + deadline);
}

// Visits the work that the source's live frames leave on one group, with when it is wanted, in
// device time, as far as it has been measured: of a frame in order of what is wanted first, until
// visit() is false. `yielding`: also of frames that yield.
template <typename Visit>
void for_each_lot(const SourceBoard& source, const Groups& groups, const DeviceMask& group,
                  bool yielding, Visit&& visit) {
  const auto lots = source.graph().lots();
  for (std::uint16_t slot = 0; slot < source.ring(); ++slot) {
    const FrameStatus& frame = source.frame(slot);
    if (frame.state != FrameStatus::State::Live || (frame.order.yields && !yielding)) continue;
    const auto left = source.left(slot);
    for (std::size_t l = 0; l < lots.size(); ++l) {
      if (left[l] == 0 || groups[lots[l].opcode] != group) continue;
      const double work = left[l] * source.opcodes()[lots[l].opcode].mean;
      if (!visit(slot, due_of(frame, lots[l].deadline), work)) break;
    }
  }
}

bool is_only_live_frame(const View& view) {
  std::size_t live = 0;
  for (const SourceBoard& source : view.board.sources())
    for (const FrameStatus& frame : source.frames())
      live += frame.state == FrameStatus::State::Live;
  return live == 1;
}

// Whether a frame that cannot make it, as it seems, is let in to see: times measured in a bad
// moment have to be measured again some time. Where it takes nothing from another frame that is at
// once, but ever more rarely while it is in vain.
bool is_worth_a_try(const View& view, const SourceBoard& source) {
  constexpr std::uint32_t kMostRefused = 31;
  const std::uint32_t in_vain = std::min(source.late(), 5U);
  return source.refused() >= (is_only_live_frame(view) ? (1U << in_vain) - 1 : kMostRefused);
}

// Devices of a group that the source's frames would keep busy. What has not been measured for long
// counts as it was so far.
double asked(const SourceBoard& source, const Groups& groups, const DeviceMask& group, Tick now) {
  const Tick interval = source.interval(now);
  if (interval == kNever) return 0;
  double work = 0;
  for (std::uint16_t opcode = 0; opcode < source.opcodes().size(); ++opcode) {
    const OpcodeInfo& info = source.opcodes()[opcode];
    if (info.chunks == 0 || groups[opcode] != group) continue;
    const double so_far = static_cast<double>(info.busy) / static_cast<double>(info.chunks);
    work += info.asked * (info.mean > 0 ? info.mean : so_far);
  }
  return work / static_cast<double>(interval);
}

// What sources ask for on a group, and the fair share of it: who asks for less gets what he asks
// for, and what that leaves belongs to the others in equal parts.
struct Shares {
  Shares(const View& view, const Groups& groups, const DeviceMask& group)
      : sources(view.board.sources().size()) {
    for (std::size_t c = 0; c < sources; ++c)
      wish[c] = asked(view.board.sources()[c], groups, group, view.now);
    const auto asking =
        std::count_if(wish.begin(), wish.begin() + static_cast<std::ptrdiff_t>(sources),
                      [](double each) { return each > 0; });
    equal = group.count() / static_cast<double>(std::max<std::ptrdiff_t>(asking, 1));
    for (;;) {
      double left = group.count();
      std::uint32_t wanting = 0;
      for (std::size_t c = 0; c < sources; ++c) {
        if (wish[c] <= fair)
          left -= wish[c];
        else
          ++wanting;
      }
      if (wanting == 0 || left / wanting <= fair) return;
      fair = left / wanting;
    }
  }
  bool exceeds(std::uint16_t source) const { return wish[source] > equal; }
  // More of its frames were refused in a row than would be of a source that gets its share.
  bool starves(std::uint16_t source, const SourceBoard& board) const {
    return board.refused() * fair > wish[source];
  }

  std::size_t sources;
  std::array<double, kMaxSources> wish;  // devices
  double equal = 0, fair = 0;
};

// Instants at which a frame is looked at, ascending, with the device time on a group that goes to
// other sources until then. So many at once, so that other sources are gone through but once.
struct Checkpoints {
  static constexpr std::size_t kMost = 16;
  std::size_t count = 0;
  std::array<Tick, kMost> at;
  std::array<double, kMost> own;  // the frame's work until then
  std::array<double, kMost> taken;
};

// What goes to other sources: what they have in flight, and what they are entitled to of the frames
// that are still to come.
void add_taken_by_others(const View& view, const Shares& shares, FrameRef at, const Groups& groups,
                         const DeviceMask& group, Checkpoints& points) {
  const bool yields = shares.exceeds(at.source);
  std::array<double, Checkpoints::kMost> wanted{};  // since the checkpoint before
  points.taken = {};
  for (std::uint16_t c = 0; c < shares.sources; ++c) {
    if (c == at.source) continue;
    const SourceBoard& source = view.board[c];
    const bool first = yields && !shares.exceeds(c);  // whatever its deadlines
    std::uint32_t frame = source.ring();
    std::size_t point = 0;
    for_each_lot(source, groups, group, yields, [&](std::uint16_t slot, Tick due, double work) {
      if (slot != frame) point = 0;
      frame = slot;
      while (!first && point < points.count && points.at[point] < due) ++point;
      if (point == points.count) return false;
      wanted[point] += work;
      return true;
    });
    if (!yields && shares.exceeds(c)) continue;
    const Tick from = std::max(view.now, source.next_start());
    const bool owed = first || shares.starves(c, source);
    const double share = std::min(shares.wish[c], shares.fair);
    for (std::size_t p = 0; p < points.count; ++p) {
      const Tick until = owed ? points.at[p] : points.at[p] - source.graph().shortest_span();
      if (until > from) points.taken[p] += share * static_cast<double>(until - from);
    }
  }
  double so_far = 0;
  for (std::size_t p = 0; p < points.count; ++p) points.taken[p] += so_far += wanted[p];
}

// What one group has to do for a frame, in device time.
struct Task {
  const SourceBoard& source;
  const FrameStatus& frame;
  std::uint16_t slot;
  const Groups& groups;
  const DeviceMask& group;

  double work(std::uint16_t instruction) const {
    const std::uint16_t opcode = source.graph()[instruction].opcode;
    const std::uint32_t chunks = source.status(slot, instruction).chunks;
    return groups[opcode] == group ? chunks * source.opcodes()[opcode].mean : 0;
  }
};

// What a frame asks for last: its instructions that can be ready last.
struct Tail {
  Tick available = kAlways;
  double work = 0;
  double path = 0;  // the time of the longest instruction of each opcode, one after the other
};

Tail tail_of(const Task& task) {
  const Graph& graph = task.source.graph();
  Tail tail;
  for (std::uint16_t i = 0; i < graph.size(); ++i)
    if (task.work(i) > 0) tail.available = std::max(tail.available, graph.available(i));
  for (std::uint16_t opcode = 0; opcode < graph.opcodes(); ++opcode) {
    const double mean = task.source.opcodes()[opcode].mean;
    double longest = 0;
    for (std::uint16_t i = 0; i < graph.size(); ++i) {
      if (graph[i].opcode != opcode || graph.available(i) != tail.available) continue;
      const double work = task.work(i);
      tail.work += work;
      longest = std::max(longest, std::ceil(work / mean / task.group.count()) * mean);
    }
    tail.path += longest;
  }
  return tail;
}

// Whether a frame that waits for `before` is done in time, and all of it that would be dropped
// alone and can be in time at all. `look` fills in what goes to other sources.
template <typename Look>
bool in_time(const Task& task, Tick now, double before, const Look& look) {
  const Graph& graph = task.source.graph();
  const double devices = task.group.count();
  const auto until = [&](Tick offset) {
    return static_cast<double>(task.frame.start + offset - now);
  };
  Checkpoints points;
  const auto fits = [&](std::size_t p) {
    return before + points.own[p] + points.taken[p] <=
           devices * static_cast<double>(points.at[p] - now);
  };
  double work = 0;
  for (std::uint16_t rank = 0; rank < graph.size(); ++rank) {
    const Instruction& instruction = graph[graph.by_rank(rank)];
    work += task.work(graph.by_rank(rank));
    if (!instruction.drop_alone || rank + 1 == graph.size()) continue;
    const auto next = static_cast<std::uint16_t>(rank + 1);
    if (graph[graph.by_rank(next)].deadline == instruction.deadline) continue;
    if (work > devices * until(instruction.deadline)) continue;
    points.at[points.count] = task.frame.start + instruction.deadline;
    points.own[points.count] = work;
    if (++points.count < Checkpoints::kMost) continue;
    look(points);
    for (; points.count > 0; --points.count)
      if (!fits(points.count - 1)) return false;
  }
  points.at[points.count++] = task.frame.deadline;
  look(points);
  const std::size_t last = points.count - 1;
  for (std::size_t p = 0; p < last; ++p)
    if (!fits(p)) return false;
  const Tail tail = tail_of(task);
  const double busy = (before + work - tail.work + points.taken[last]) / devices;
  const double start = tail.available == kAlways ? 0 : until(tail.available);
  return std::max(busy, start) + std::max(tail.path, tail.work / devices) <=
         static_cast<double>(task.frame.deadline - now);
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
      if (id.frame == first.frame && id.source == first.source) continue;
      const FrameStatus& frame = view.board.frame(id.place());
      first = std::min(first, {.yields = frame.order.yields,
                               .due = std::max(frame.order.queue, frame.deadline),
                               .frame = id.frame,
                               .source = id.source});
    }
  return {first.frame, first.source};
}

enum class Verdict : std::uint8_t { Refuse, Yield, Admit };

// Frames of a source go one after the other, so none is more urgent than those before it.
Order behind(const SourceBoard& source, const FrameStatus& frame, bool yields) {
  Order order{.yields = yields};
  for (const FrameStatus& other : source.frames()) {
    if (&other == &frame || other.state != FrameStatus::State::Live) continue;
    order.queue = std::max({order.queue, other.order.queue, other.deadline});
    order.yields |= other.order.yields;
  }
  return order;
}

Verdict judge(const View& view, FrameRef at, const Groups& groups) {
  const SourceBoard& source = view.board[at.source];
  const FrameStatus& frame = source.frame(at.slot);
  if (frame.deadline <= view.now) return Verdict::Refuse;
  if (frame.deadline == kNever) return Verdict::Admit;
  Verdict verdict = Verdict::Admit;
  for_each_group(groups, source.graph().opcodes(), [&](const DeviceMask& group) {
    const Shares shares(view, groups, group);
    if (shares.exceeds(at.source)) verdict = std::min(verdict, Verdict::Yield);
    const Task task{source, frame, at.slot, groups, group};
    double before = 0;
    for_each_lot(source, groups, group, true, [&](std::uint16_t slot, Tick, double work) {
      before += slot == at.slot ? 0 : work;
      return true;
    });
    const auto look = [&](Checkpoints& points) {
      add_taken_by_others(view, shares, at, groups, group, points);
    };
    if (!in_time(task, view.now, before, look))
      verdict = std::min(verdict, is_worth_a_try(view, source) ? Verdict::Yield : Verdict::Refuse);
  });
  return verdict;
}

}  // namespace

Priority priority_of(const View& view, const InstanceId& id) {
  const SourceBoard& source = view.board[id.source];
  const FrameStatus& frame = source.frame(id.slot);
  return {.yields = frame.order.yields,
          .due = due_of(frame, source.graph()[id.instruction].deadline),
          .frame = id.frame,
          .rank = source.graph().rank(id.instruction),
          .source = id.source};
}

Admission admission(const View& view, FrameRef at, const Groups& groups) {
  const Verdict verdict = judge(view, at, groups);
  if (verdict == Verdict::Refuse) return {};
  return {true, behind(view.board[at.source], view.board.frame(at), verdict == Verdict::Yield)};
}

std::size_t keep_free(const View& view, std::span<const Issue> issues) {
  if (view.board.sources().size() == 1) return issues.size();
  std::size_t count = 0;
  while (count < issues.size() && (!issues[count].priority.yields || view.room > count + kLeftFree))
    ++count;
  return count;
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

    const SourceBoard& source = view.board[id.source];
    const std::uint16_t opcode = source.graph()[id.instruction].opcode;
    const std::uint32_t chunks = source.status(id.slot, id.instruction).chunks;
    const DeviceMask& where = groups[opcode];
    // A claim never takes so much that a core is left without.
    const std::uint32_t fair = (chunks + where.count() - 1) / where.count();
    const bool first = id.frame == earliest.frame && id.source == earliest.source;
    out[place] = {.what = id,
                  .first = 0,
                  .count = chunks,
                  .grain = std::clamp(source.grain(opcode), 1U, std::max(fair, 1U)),
                  .where = where,
                  .priority = priority,
                  .why = first ? Reason::EarliestFrame : Reason::WorkConserving};
  }
  return keep_free(view, out.first(count));
}

}  // namespace carillon::runtime
