#include "runtime/policies/pool/lroc.hpp"

#include <algorithm>

namespace carillon::runtime {
namespace {

// Of a heap whose top has the least slack.
struct MoreSlack {
  template <typename Slack>
  bool operator()(const Slack& a, const Slack& b) const {
    return a.first > b.first;
  }
};

}  // namespace

void Lroc::prepare(const View& view) {
  Placement::prepare(view);
  outlook_.resize(view.board.devices().size());
  std::size_t all = 0;
  for (const CellBoard& cell : view.board.cells()) {
    first_.push_back(all);
    all += std::size_t{cell.ring()} * cell.graph().size();
  }
  estimates_.resize(all);
  by_slack_.reserve(2 * all);
  reordered_.reserve(all);
}

Lroc::Estimate& Lroc::estimate(const View& view, const InstanceId& id) {
  const std::size_t size = view.board[id.cell].graph().size();
  return estimates_[first_[id.cell] + id.slot * size + id.instruction];
}

void Lroc::arrange(const View& view, FrameRef frame) {
  for (Outlook& each : outlook_) each.advance(view.now);
  const Graph& graph = view.board[frame.cell].graph();
  const std::uint16_t any = idlest(view);
  for (std::uint16_t i = graph.size(); i-- > 0;) {
    const InstanceId id = instance(view, frame, i);
    double after = 0;
    for (const std::uint16_t next : graph[i].successors)
      after = std::max(after, estimate(view, instance(view, frame, next)).path);
    Estimate& mine = estimate(view, id);
    mine = {};
    mine.path = after + time_on(view, id, any);
  }
  bool delayed = delayed_ != 0;
  std::uint16_t home = delayed ? any : kNowhere;
  for_each(view, frame, [&](const InstanceId& id) {
    analyse(view, id, home, delayed);
    if (needs_samples(view, id)) return;
    by_slack_.emplace_back(slack(view, id), id);
    std::push_heap(by_slack_.begin(), by_slack_.end(), MoreSlack{});
  });
  delayed_ += delayed;
}

// When it has to start, the rest of its frame's longest path being what it is.
Tick Lroc::slack(const View& view, const InstanceId& id) {
  const Tick deadline = view.board.frame(id.place()).deadline;
  return deadline == kNever ? kNever : deadline - static_cast<Tick>(estimate(view, id).path);
}

// When its operands should be there.
Tick Lroc::wanted(const View& view, const InstanceId& id) {
  const Instruction& instruction = view.board[id.cell].graph()[id.instruction];
  Tick start = view.now;
  if (instruction.release != kAlways)
    start = std::max(start, view.board.frame(id.place()).air_start + instruction.release);
  for (const std::uint16_t source : instruction.sources)
    start = std::max(start, estimate(view, instance(view, id.place(), source)).end);
  return start;
}

// Algorithm 1. `home`: where the frame began; `delayed`: it found no room.
void Lroc::analyse(const View& view, const InstanceId& id, std::uint16_t& home, bool& delayed) {
  const CellBoard& cell = view.board[id.cell];
  const Instruction& instruction = cell.graph()[id.instruction];
  const Tick start = wanted(view, id);
  Estimate& mine = estimate(view, id);
  double lasts = time_on(view, id, home == kNowhere ? idlest(view) : home);
  if (home == kNowhere)
    lasts = std::max(lasts, cell.frame_time());
  else if (instruction.sources.empty())
    lasts = std::max(lasts, cell.symbol_time(instruction.step));
  const Tick end = start + static_cast<Tick>(lasts);

  std::uint16_t before = instruction.sources.empty() ? home : kNowhere;
  double copy = 0;
  for (const std::uint16_t source : instruction.sources) {
    const InstanceId its = instance(view, id.place(), source);
    const std::uint16_t device = estimate(view, its).device;
    if (device == kNowhere) continue;
    if (before == kNowhere || room(view, device, start, end) > room(view, before, start, end))
      before = device;
    copy += cell.on(cell.graph()[source].opcode, view.board.devices()[device].type).copy;
  }
  const auto least = [&](std::uint16_t device) {
    return static_cast<std::uint32_t>(options_.degree * view.board.devices()[device].sms);
  };
  std::uint16_t device = home;
  Reason why = Reason::Delayed;
  if (!delayed) {
    const std::uint16_t best = roomiest(view, start, end);
    if (before != kNowhere && room(view, before, start, end) > least(before)) {
      device = before;
      why = Reason::Full;
    } else if (room(view, best, start, end) < least(best)) {
      delayed = true;
      device = home == kNowhere ? idlest(view) : home;
    } else if (before != kNowhere &&
               static_cast<double>(
                   outlook_[before].when(start, view.board.devices()[before].sms - least(before)) -
                   start) < copy) {
      device = before;
      why = Reason::Waits;
    } else {
      device = best;
      why = before == kNowhere ? Reason::Idlest : Reason::Fragmented;
    }
  }
  if (home == kNowhere) home = device;
  place(view, id, device, why);
  plan(view, id).stream =
      instruction.sources.empty()
          ? static_cast<std::uint16_t>(id.cell * cell.ring() + id.slot + instruction.step)
          : plan(view, instance(view, id.place(), instruction.sources[0])).stream;
  mine.device = device;
  mine.delayed = delayed;
  mine.start = start;
  mine.end = start + static_cast<Tick>(time_on(view, id, device) + (device != before ? copy : 0));
  if (const std::uint32_t sms = sms_on(view, id, device); sms != 0)
    mine.entry = outlook_[device].add(mine.start, mine.end, sms);
}

std::uint32_t Lroc::room(const View& view, std::uint16_t device, Tick start, Tick end) const {
  const std::uint32_t all = view.board.devices()[device].sms;
  return view.board.devices()[device].up ? all - std::min(all, outlook_[device].most(start, end))
                                         : 0;
}

// Devices in use come first: of two with as much room, the earlier.
std::uint16_t Lroc::roomiest(const View& view, Tick start, Tick end) const {
  std::uint16_t best = idlest(view);
  for (std::uint16_t d = 0; d < outlook_.size(); ++d)
    if (room(view, d, start, end) > room(view, best, start, end)) best = d;
  return best;
}

Tick Lroc::next() const {
  return by_slack_.empty() ? kNever : by_slack_.front().first - options_.urgent;
}

// Algorithm 2.
void Lroc::ready(const View& view, std::span<const InstanceId> ids) {
  urgent(view);
  reordered_.assign(ids.begin(), ids.end());
  std::erase_if(reordered_,
                [&](const InstanceId& id) { return plan(view, id).device == kNowhere; });
  const auto sms = [&](const InstanceId& id) { return sms_on(view, id, plan(view, id).device); };
  std::stable_sort(reordered_.begin(), reordered_.end(),
                   [&](const InstanceId& a, const InstanceId& b) {
                     return std::pair(sms(a), slack(view, a)) < std::pair(sms(b), slack(view, b));
                   });
  std::uint64_t over = 0;  // devices that have been over-committed in this pass
  for (const InstanceId& id : reordered_) {
    Plan& mine = plan(view, id);
    const std::uint64_t bit = std::uint64_t{1} << (mine.device % 64);
    if (enough(view, mine.device, sms(id))) {
      issue(view, id, Reason::Reordered);
    } else if (estimate(view, id).delayed && (over & bit) == 0) {
      over |= bit;
      mine.background = true;
      issue(view, id, Reason::Overcommitted);
    }
  }
}

void Lroc::urgent(const View& view) {
  while (!by_slack_.empty() && by_slack_.front().first - options_.urgent <= view.now) {
    const InstanceId id = by_slack_.front().second;
    std::pop_heap(by_slack_.begin(), by_slack_.end(), MoreSlack{});
    by_slack_.pop_back();
    const CellBoard& cell = view.board[id.cell];
    if (cell.frame(id.slot).generation == id.generation &&
        cell.status(id.slot, id.instruction).state < InstructionStatus::State::Issued)
      issue(view, id, Reason::Urgent);
  }
}

bool Lroc::enough(const View& view, std::uint16_t device, std::uint32_t sms) const {
  const std::uint32_t left = free_sms(view, device);
  return sms <= left || left > options_.degree * view.board.devices()[device].sms;
}

void Lroc::issue(const View& view, const InstanceId& id, Reason why) {
  if (enqueue(view, id, why)) coalesce(view, id);
}

// What can run in the room that an instruction has just been given, follows it in its stream.
void Lroc::coalesce(const View& view, const InstanceId& id) {
  const CellBoard& cell = view.board[id.cell];
  const Plan& before = plan(view, id);
  for (const std::uint16_t next : cell.graph()[id.instruction].successors) {
    const InstanceId after = instance(view, id.place(), next);
    const Plan& its = plan(view, after);
    const auto runs_here = [&](std::uint16_t source) {
      const Plan& other = plan(view, instance(view, id.place(), source));
      return cell.status(id.slot, source).state == InstructionStatus::State::Committed ||
             (other.issued && other.device == before.device);
    };
    const auto sources = cell.graph()[next].sources;
    if (its.device != before.device || its.issued || before.background ||
        sms_on(view, after, its.device) > sms_on(view, id, before.device) ||
        !std::all_of(sources.begin(), sources.end(), runs_here))
      continue;
    plan(view, after).stream = before.stream;
    issue(view, after, Reason::Coalesced);
  }
}

void Lroc::committed(const View& view, const InstanceId& id) {
  Placement::committed(view, id);
  Estimate& mine = estimate(view, id);
  if (mine.device == kNowhere) return;
  outlook_[mine.device].remove(mine.entry);
  mine.entry = {};
}

void Lroc::ended(const View& view, FrameRef frame) {
  Placement::ended(view, frame);
  bool delayed = false;
  for (std::uint16_t i = 0; i < view.board[frame.cell].graph().size(); ++i) {
    Estimate& mine = estimate(view, instance(view, frame, i));
    if (mine.device != kNowhere) outlook_[mine.device].remove(mine.entry);
    delayed |= mine.delayed;
    mine = {};
  }
  delayed_ -= delayed;
}

}  // namespace carillon::runtime
