#include "runtime/policies/pool/lroc.hpp"

#include <algorithm>
#include <span>
#include <tuple>

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
  std::size_t frames = 0;
  for (const SourceBoard& source : view.board.sources()) {
    first_course_.push_back(frames);
    operands_.push_back(operands_of(source.graph()));
    frames += source.ring();
  }
  courses_.resize(frames);
  links_ = Links(over_.size());
  there_.resize(instances() * over_.size(), kNever);
}

bool Lroc::arrange(const View& view, FrameRef frame) {
  const Graph& graph = view.board[frame.source].graph();
  const std::uint16_t any = idlest(view);
  links_.advance(view.now);
  for (std::uint16_t i = graph.size(); i-- > 0;) {
    const InstanceId id = instance(view, frame, i);
    double after = 0;
    for (const std::uint16_t next : graph[i].successors)
      after = std::max(after, estimate(view, instance(view, frame, next)).path);
    estimate(view, id) = {after + time_on(view, id, any), false};
  }
  course(frame) = {};
  plan_frame(view, frame);
  return true;
}

// What of it begins within two frames' time; the rest is looked at again (line 5, Resched).
void Lroc::plan_frame(const View& view, FrameRef frame) {
  const Tick window = 2 * static_cast<Tick>(view.board[frame.source].frame_time());
  for_each(view, frame, [&](const InstanceId& id) {
    if (planned(view, id)) return;
    const auto waits_for = view.board[id.source].graph()[id.instruction].waits_for;
    const bool known = std::ranges::all_of(waits_for, [&](std::uint16_t needed) {
      return planned(view, instance(view, frame, needed));
    });
    const Tick start = wanted(view, id);
    const bool is_ready = view.board[id.source].status(id.slot, id.instruction).state ==
                          InstructionStatus::State::Ready;
    if (!is_ready && (!known || start - view.now > window)) {
      if (known) resume_ = std::min(resume_, start - window);
      return;
    }
    plan_instruction(view, id, course(frame));
    if (needs_input(view, id)) return;
    by_slack_.emplace_back(slack(view, id), id);
    std::push_heap(by_slack_.begin(), by_slack_.end(), MoreSlack{});
  });
}

bool Lroc::planned(const View& view, const InstanceId& id) {
  const InstructionStatus& status = view.board[id.source].status(id.slot, id.instruction);
  return plan(view, id).device != kNowhere || plan(view, id).stranded || status.chunks == 0 ||
         status.state >= InstructionStatus::State::Committed;
}

// When it has to start, the rest of its frame's longest path being what it is.
Tick Lroc::slack(const View& view, const InstanceId& id) {
  const Tick deadline = view.board.frame(id.place()).deadline;
  return deadline == kNever ? kNever : deadline - static_cast<Tick>(estimate(view, id).path);
}

// When its operands should be there.
Tick Lroc::wanted(const View& view, const InstanceId& id) {
  Tick start = released(view, id);
  for (const std::uint16_t needed : view.board[id.source].graph()[id.instruction].waits_for)
    start = std::max(start, plan(view, instance(view, id.place(), needed)).end);
  return start;
}

// How long it keeps a device, its frame and step with it when it is the first of them (`home`:
// where the frame began).
double Lroc::lasts(const View& view, const InstanceId& id, std::uint16_t home) {
  const SourceBoard& source = view.board[id.source];
  if (home == kNowhere) return std::max(time_on(view, id, idlest(view)), source.frame_time());
  const double time = time_on(view, id, home);
  const std::uint16_t step = source.graph()[id.instruction].step;
  return needs_input(view, id) ? std::max(time, source.step_time(step)) : time;
}

// Algorithm 1. A frame that finds no room joins the delayed queue with all that is left of it. That
// is assigned as a whole, at once, to where most SMs are free: so the queue is empty again, and the
// next frame is planned as usual, if there are SMs for it by then (§4.4).
void Lroc::plan_instruction(const View& view, const InstanceId& id, Course& course) {
  const Tick start = wanted(view, id);
  const Tick end = start + static_cast<Tick>(lasts(view, id, course.home));
  Where where;
  if (!course.delayed)
    where = find_room(view, id, start, end, before(view, id, course, start, end));
  if (where.device == kNowhere) {
    if (!course.delayed) course.home = roomiest(view, id, start, end);
    course.delayed = true;
    where = {course.home, Reason::Delayed, 0};
  }
  const std::uint16_t device = where.device;
  if (course.home == kNowhere) course.home = device;
  place(view, id, device, where.why);
  bring(view, id, device);
  const auto waits_for = view.board[id.source].graph()[id.instruction].waits_for;
  plan(view, id).stream =
      waits_for.empty() ? stream_of(id.place(), view.board[id.source].graph()[id.instruction].step)
                        : plan(view, instance(view, id.place(), waits_for[0])).stream;
  const Tick begins = std::max(start, operands(view, id, device)) + where.wait;
  const Tick ends = sms_on(view, id, device) != 0
                        ? begins + static_cast<Tick>(time_on(view, id, device))
                        : transfer(view, id, device, begins);
  expect(view, id, begins, ends);
  estimate(view, id).delayed = course.delayed;
}

// Of the devices of its predecessors, that with the most room; what has none is where its frame
// began.
std::uint16_t Lroc::before(const View& view, const InstanceId& id, const Course& course, Tick start,
                           Tick end) {
  const auto waits_for = view.board[id.source].graph()[id.instruction].waits_for;
  std::uint16_t found = waits_for.empty() ? course.home : kNowhere;
  for (const std::uint16_t needed : waits_for) {
    const std::uint16_t device = plan(view, instance(view, id.place(), needed)).device;
    if (device == kNowhere) continue;
    if (found == kNowhere || room(view, device, start, end) > room(view, found, start, end))
      found = device;
  }
  return found;
}

// When its result is on that device, copied behind what links have to carry.
Tick Lroc::brought(const View& view, const InstanceId& id, std::uint16_t device) {
  const Plan& its = plan(view, id);
  if (its.device == kNowhere || its.device == device) return its.end;
  if (const Tick there = there_[index(view, id) * over_.size() + device]; there != kNever)
    return there;
  const double copy = copy_from(view, id, its.device);
  const Tick start = std::max(its.end, view.now);
  return std::max(links_.done(Links::sends(its.device), start, copy),
                  links_.done(Links::receives(device), start, copy));
}

// When all that it reads would be on that device.
Tick Lroc::operands(const View& view, const InstanceId& id, std::uint16_t device) {
  Tick there = view.now;
  for (const std::uint16_t needed : view.board[id.source].graph()[id.instruction].waits_for)
    there = std::max(there, brought(view, instance(view, id.place(), needed), device));
  return there;
}

Lroc::Operands Lroc::operands_of(const Graph& graph) {
  Operands operands(graph.size());
  for (std::uint16_t i = 0; i < graph.size(); ++i) {
    const std::uint16_t step = graph[i].step;
    for (std::uint16_t j = i; j < graph.size(); ++j) {
      if (graph[j].step != step) continue;
      for (const std::uint16_t needed : graph[j].waits_for)
        if (j == i || graph[needed].step != step) operands[i].push_back(needed);
    }
    std::ranges::sort(operands[i]);
    const auto same = std::ranges::unique(operands[i]);
    operands[i].erase(same.begin(), same.end());
  }
  return operands;
}

// When what it and the rest of its step read would be on that device.
Tick Lroc::symbol_operands(const View& view, const InstanceId& id, std::uint16_t device) {
  Tick there = view.now;
  for (const std::uint16_t needed : operands_[id.source][id.instruction])
    there = std::max(there, brought(view, instance(view, id.place(), needed), device));
  return there;
}

// How long copies of it would keep the links that they leave by from carrying something else.
Tick Lroc::symbol_copies(const View& view, const InstanceId& id, std::uint16_t device) {
  double copies = 0;
  for (const std::uint16_t needed : operands_[id.source][id.instruction]) {
    const InstanceId its = instance(view, id.place(), needed);
    if (to_copy(view, its, device)) copies += copy_from(view, its, plan(view, its).device);
  }
  return static_cast<Tick>(copies);
}

// Whether it is not there, and no copy of it is planned.
bool Lroc::to_copy(const View& view, const InstanceId& id, std::uint16_t device) {
  const std::uint16_t from = plan(view, id).device;
  return from != kNowhere && from != device &&
         there_[index(view, id) * over_.size() + device] == kNever;
}

// What it reads is copied to its device, unless it is there.
void Lroc::bring(const View& view, const InstanceId& id, std::uint16_t device) {
  for (const std::uint16_t needed : view.board[id.source].graph()[id.instruction].waits_for) {
    const InstanceId its = instance(view, id.place(), needed);
    if (!to_copy(view, its, device)) continue;
    const std::uint16_t from = plan(view, its).device;
    const double copy = copy_from(view, its, from);
    const Tick start = std::max(plan(view, its).end, view.now);
    const Tick there = brought(view, its, device);
    there_[index(view, its) * over_.size() + device] = there;
    links_.plan(Links::sends(from), start, there, copy);
    links_.plan(Links::receives(device), start, there, copy);
  }
}

// It comes from the host, or goes there, over the device's link, on which copies wait for it.
Tick Lroc::transfer(const View& view, const InstanceId& id, std::uint16_t device, Tick start) {
  const std::size_t link = needs_input(view, id) ? Links::receives(device) : Links::sends(device);
  const double time = alone_on(view, id, device);
  const Tick end = links_.done(link, start, time);
  links_.plan(link, start, end, time);
  return end;
}

// Lines 6 to 15. What goes to the host needs no SMs. No device when none has room. `data.copy`: how
// much later its operands would be there, and how much later what leaves by the same links.
Lroc::Where Lroc::find_room(const View& view, const InstanceId& id, Tick start, Tick end,
                            std::uint16_t pred) {
  const bool goes = pred != kNowhere && sms_on(view, id, pred) == 0 && !needs_input(view, id);
  if (pred != kNowhere && (goes || room(view, pred, start, end) > least(view, pred)))
    return {pred, Reason::Full, 0};
  const std::uint16_t best = roomiest(view, id, start, end);
  if (room(view, best, start, end) < least(view, best)) return {};
  if (pred == kNowhere) return {best, Reason::Idlest, 0};
  const std::uint32_t ours = view.board.devices()[pred].ours();
  const std::uint32_t enough = ours - std::min(ours, least(view, pred));
  const Tick wait = outlook(pred).when(start, enough) - start;
  const Tick later = symbol_operands(view, id, best) - symbol_operands(view, id, pred);
  const Tick copy = later + symbol_copies(view, id, best);
  return wait < copy ? Where{pred, Reason::Waits, wait} : Where{best, Reason::Fragmented, 0};
}

std::uint32_t Lroc::room(const View& view, std::uint16_t device, Tick start, Tick end) const {
  const std::uint32_t ours = view.board.devices()[device].ours();
  return usable(view, device) ? ours - std::min(ours, outlook(device).most(start, end)) : 0;
}

// SMs below which a device is too busy.
std::uint32_t Lroc::least(const View& view, std::uint16_t device) {
  const DeviceStatus& status = view.board.devices()[device];
  return static_cast<std::uint32_t>(status.degree * status.sms);
}

// The paper's first fit looks at devices in use first (§4.3), and its structural analysis wants the
// most free SMs (§4.4): the latter decides, and of those with as many, that to which the least has
// to be copied.
std::uint16_t Lroc::roomiest(const View& view, const InstanceId& id, Tick start, Tick end) {
  std::uint16_t best = kNowhere;
  std::tuple<std::int64_t, Tick, Tick> least;
  for (std::uint16_t d = 0; d < over_.size(); ++d) {
    if (!usable(view, d)) continue;
    const std::tuple own(-std::int64_t{room(view, d, start, end)}, symbol_operands(view, id, d),
                         load(d));
    if (best != kNowhere && own >= least) continue;
    best = d;
    least = own;
  }
  return best;
}

Tick Lroc::next() const {
  const Tick urgent = by_slack_.empty() ? kNever : by_slack_.front().first - options_.urgent;
  return std::min(urgent, resume_);
}

// Frames of which something lay beyond the window.
void Lroc::resume(const View& view) {
  resume_ = kNever;
  if (idlest(view) == kNowhere) return;
  for (std::uint16_t c = 0; c < view.board.sources().size(); ++c)
    for (std::uint16_t slot = 0; slot < view.board[c].ring(); ++slot)
      if (view.board[c].frame(slot).state == FrameStatus::State::Live) plan_frame(view, {c, slot});
}

// Algorithm 2.
void Lroc::ready(const View& view, std::span<const InstanceId> ids) {
  const auto unplanned = [&](const InstanceId& id) { return !planned(view, id); };
  if (view.now >= resume_ || std::ranges::any_of(ids, unplanned)) resume(view);
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
    if (view.board[id.source].status(id.slot, id.instruction).runs != 0) {
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
    const SourceBoard& source = view.board[id.source];
    if (source.frame(id.slot).generation == id.generation &&
        source.status(id.slot, id.instruction).state < InstructionStatus::State::Issued)
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
  const SourceBoard& source = view.board[id.source];
  const Plan& before = plan(view, id);
  for (const std::uint16_t next : source.graph()[id.instruction].successors) {
    const InstanceId after = instance(view, id.place(), next);
    const Plan& its = plan(view, after);
    const auto runs_here = [&](std::uint16_t needed) {
      const Plan& other = plan(view, instance(view, id.place(), needed));
      return source.status(id.slot, needed).state == InstructionStatus::State::Committed ||
             (other.issued && other.device == before.device);
    };
    const auto waits_for = source.graph()[next].waits_for;
    if (its.device != before.device || its.issued || before.background ||
        sms_on(view, after, its.device) > sms_on(view, id, before.device) ||
        !std::all_of(waits_for.begin(), waits_for.end(), runs_here))
      continue;
    plan(view, after).stream = before.stream;
    issue(view, after, Reason::Coalesced);
  }
}

// What was copied to a device that is lost is no longer there, nor when that is back.
void Lroc::changed(const View& view, std::uint16_t device) {
  for (std::size_t at = device; at < there_.size(); at += over_.size()) there_[at] = kNever;
  Placement::changed(view, device);
}

void Lroc::ended(const View& view, FrameRef frame) {
  Placement::ended(view, frame);
  for (std::uint16_t i = 0; i < view.board[frame.source].graph().size(); ++i) {
    const InstanceId id = instance(view, frame, i);
    estimate(view, id) = {};
    std::ranges::fill(std::span(there_).subspan(index(view, id) * over_.size(), over_.size()),
                      kNever);
  }
}

}  // namespace carillon::runtime
