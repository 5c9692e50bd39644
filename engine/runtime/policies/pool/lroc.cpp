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
  estimates_.resize(instances());
  by_slack_.reserve(2 * instances());
  reordered_.reserve(instances());
  over_.resize(view.board.devices().size());
}

bool Lroc::arrange(const View& view, FrameRef frame) {
  const Graph& graph = view.board[frame.cell].graph();
  const std::uint16_t any = idlest(view);
  for (std::uint16_t i = graph.size(); i-- > 0;) {
    const InstanceId id = instance(view, frame, i);
    double after = 0;
    for (const std::uint16_t next : graph[i].successors)
      after = std::max(after, estimate(view, instance(view, frame, next)).path);
    estimate(view, id) = {after + time_on(view, id, any), false};
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
  return true;
}

// When it has to start, the rest of its frame's longest path being what it is.
Tick Lroc::slack(const View& view, const InstanceId& id) {
  const Tick deadline = view.board.frame(id.place()).deadline;
  return deadline == kNever ? kNever : deadline - static_cast<Tick>(estimate(view, id).path);
}

// When its operands should be there.
Tick Lroc::wanted(const View& view, const InstanceId& id) {
  Tick start = released(view, id);
  for (const std::uint16_t source : view.board[id.cell].graph()[id.instruction].sources)
    start = std::max(start, plan(view, instance(view, id.place(), source)).end);
  return start;
}

// How long it keeps a device, its frame and symbol with it when it is the first of them (`home`:
// where the frame began).
double Lroc::lasts(const View& view, const InstanceId& id, std::uint16_t home) {
  const CellBoard& cell = view.board[id.cell];
  if (home == kNowhere) return std::max(time_on(view, id, idlest(view)), cell.frame_time());
  const double time = time_on(view, id, home);
  const std::uint16_t step = cell.graph()[id.instruction].step;
  return needs_samples(view, id) ? std::max(time, cell.symbol_time(step)) : time;
}

// Algorithm 1. `delayed`: the frame found no room.
void Lroc::analyse(const View& view, const InstanceId& id, std::uint16_t& home, bool& delayed) {
  const auto sources = view.board[id.cell].graph()[id.instruction].sources;
  const Tick start = wanted(view, id);
  const Tick end = start + static_cast<Tick>(lasts(view, id, home));
  std::uint16_t before = sources.empty() ? home : kNowhere;
  double copy = 0;
  for (const std::uint16_t source : sources) {
    const InstanceId its = instance(view, id.place(), source);
    const std::uint16_t device = plan(view, its).device;
    if (device == kNowhere) continue;
    if (before == kNowhere || room(view, device, start, end) > room(view, before, start, end))
      before = device;
    copy += copy_from(view, its, device);
  }
  Where where{home, Reason::Delayed};
  if (!delayed) where = find_room(view, start, end, before, copy);
  if (where.device == kNowhere) {
    delayed = true;
    where.device = home == kNowhere ? idlest(view) : home;
  }
  const std::uint16_t device = where.device;
  if (home == kNowhere) home = device;
  place(view, id, device, where.why);
  plan(view, id).stream =
      sources.empty()
          ? stream_of(view, id.place(), view.board[id.cell].graph()[id.instruction].step)
          : plan(view, instance(view, id.place(), sources[0])).stream;
  const double time = time_on(view, id, device) + (device != before ? copy : 0);
  expect(view, id, start, start + static_cast<Tick>(time));
  estimate(view, id).delayed = delayed;
}

// Lines 6 to 15. `before`: where its predecessor runs; `copy`: ns to bring its operands elsewhere.
// No device when none has room.
Lroc::Where Lroc::find_room(const View& view, Tick start, Tick end, std::uint16_t before,
                            double copy) const {
  const std::uint16_t best = roomiest(view, start, end);
  if (before != kNowhere && room(view, before, start, end) > least(view, before))
    return {before, Reason::Full};
  if (room(view, best, start, end) < least(view, best)) return {kNowhere, Reason::Delayed};
  if (before == kNowhere) return {best, Reason::Idlest};
  const std::uint32_t enough = view.board.devices()[before].sms - least(view, before);
  const Tick wait = outlook(before).when(start, enough) - start;
  return static_cast<double>(wait) < copy ? Where{before, Reason::Waits}
                                          : Where{best, Reason::Fragmented};
}

std::uint32_t Lroc::room(const View& view, std::uint16_t device, Tick start, Tick end) const {
  const std::uint32_t all = view.board.devices()[device].sms;
  return usable(view, device) ? all - std::min(all, outlook(device).most(start, end)) : 0;
}

// SMs below which a device is too busy.
std::uint32_t Lroc::least(const View& view, std::uint16_t device) {
  const DeviceStatus& status = view.board.devices()[device];
  return static_cast<std::uint32_t>(status.degree * status.sms);
}

// The paper's first fit looks at devices in use first (§4.3), and its structural analysis wants the
// most free SMs, and the lowest occupancy for a new frame (§4.4): this is the latter, which
// decides.
std::uint16_t Lroc::roomiest(const View& view, Tick start, Tick end) const {
  std::uint16_t best = idlest(view);
  for (std::uint16_t d = 0; d < view.board.devices().size(); ++d)
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
  std::fill(over_.begin(), over_.end(), std::nullopt);
  for (const InstanceId& id : reordered_) {
    const Plan& mine = plan(view, id);
    if (view.board[id.cell].status(id.slot, id.instruction).runs != 0) {
      issue(view, id, Reason::Returned);  // its readers may have the room, and wait for it
    } else if (enough(view, mine.device, sms(id))) {
      issue(view, id, Reason::Reordered);
    } else if (estimate(view, id).delayed && goes_before(view, id, over_[mine.device])) {
      over_[mine.device] = id;
    }
  }
  for (const auto& id : over_) {
    if (!id || plan(view, *id).issued) continue;
    plan(view, *id).background = true;
    issue(view, *id, Reason::Overcommitted);
  }
}

// Of delayed frames, that with the earlier deadline.
bool Lroc::goes_before(const View& view, const InstanceId& id,
                       const std::optional<InstanceId>& other) {
  const auto deadline = [&](const InstanceId& of) { return view.board.frame(of.place()).deadline; };
  return !other || deadline(id) < deadline(*other);
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
  return sms <= left || left > least(view, device);
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

void Lroc::ended(const View& view, FrameRef frame) {
  Placement::ended(view, frame);
  bool delayed = false;
  for (std::uint16_t i = 0; i < view.board[frame.cell].graph().size(); ++i) {
    Estimate& mine = estimate(view, instance(view, frame, i));
    delayed |= mine.delayed;
    mine = {};
  }
  delayed_ -= delayed;
}

}  // namespace carillon::runtime
