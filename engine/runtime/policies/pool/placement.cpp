#include "runtime/policies/pool/placement.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace carillon::runtime {

using State = InstructionStatus::State;

namespace {

std::uint16_t last_shared_step(const Graph& graph) {
  std::uint16_t last = 0;
  for (std::uint16_t i = 0; i < graph.size(); ++i) {
    const std::uint16_t own = graph[i].step;
    std::uint16_t reader = own;
    for (const std::uint16_t next : graph[i].successors) {
      const std::uint16_t step = graph[next].step;
      if (step == own || step == reader) continue;
      if (reader != own) last = std::max(last, own);
      reader = step;
    }
  }
  return last;
}

std::uint32_t steps_of(const Graph& graph) {
  std::uint32_t steps = 0;
  for (const Instruction& each : graph.instructions()) steps = std::max(steps, each.step + 1U);
  return steps;
}

}  // namespace

void Placement::prepare(const View& view) {
  std::size_t plans = 0;
  std::uint32_t streams = 0;
  for (const SourceBoard& source : view.board.sources()) {
    first_.push_back(plans);
    shared_.push_back(last_shared_step(source.graph()));
    steps_.push_back(steps_of(source.graph()));
    streams_.push_back(steps_.back());
    for (std::uint16_t i = 0; i < source.graph().size(); ++i)
      streams_.back() = std::max(streams_.back(), steps_.back() + part_of(source.graph(), i));
    first_stream_.push_back(streams);
    streams += source.ring() * streams_.back();
    plans += std::size_t{source.ring()} * source.graph().size();
  }
  plans_.resize(plans);
  queue_.reserve(plans);
  seen_.reserve(plans);
  load_.resize(view.board.devices().size());
  used_.resize(view.board.devices().size());
  outlook_.resize(view.board.devices().size());
}

Admission Placement::admit(const View& view, FrameRef frame) {
  if (load_.empty()) prepare(view);
  if (idlest(view) == kNowhere || view.board.frame(frame).deadline <= view.now) return {};
  for (Outlook& each : outlook_) each.advance(view.now);
  return {arrange(view, frame)};
}

std::size_t Placement::index(const View& view, const InstanceId& id) const {
  return first_[id.source] + id.slot * std::size_t{view.board[id.source].graph().size()} +
         id.instruction;
}

std::uint16_t Placement::part_of(const Graph& graph, std::uint16_t instruction) {
  const auto follows = [&](std::uint16_t i) {
    return i > 0 && graph[i].opcode == graph[i - 1].opcode && graph[i].step == graph[i - 1].step;
  };
  std::uint16_t part = 0;
  for (std::uint16_t i = instruction; follows(i); --i) ++part;
  return part;
}

std::uint16_t Placement::stream_of(FrameRef frame, std::uint16_t step, std::uint16_t part) const {
  const std::uint32_t own = part == 0 ? step : steps_[frame.source] + part - 1;
  const std::uint32_t before = first_stream_[frame.source] + frame.slot * streams_[frame.source];
  return static_cast<std::uint16_t>((before + own) % Issue::kFree);
}

std::uint32_t Placement::free_sms(const View& view, std::uint16_t device) const {
  const std::uint32_t all = view.board.devices()[device].sms;
  return all - std::min(all, used_[device]);
}

std::uint16_t Placement::idlest(const View& view) const {
  std::uint16_t best = kNowhere;
  for (std::uint16_t d = 0; d < load_.size(); ++d)
    if (usable(view, d) && (best == kNowhere || load_[d] < load_[best])) best = d;
  return best;
}

void Placement::place(const View& view, const InstanceId& id, std::uint16_t device, Reason why) {
  Plan& mine = plan(view, id);
  forget(mine);
  mine.device = device;
  mine.placed = why;
  mine.time = std::llround(time_on(view, id, device));
  load_[device] += mine.time;
}

void Placement::expect(const View& view, const InstanceId& id, Tick start, Tick end) {
  Plan& mine = plan(view, id);
  mine.end = end;
  if (const std::uint32_t sms = sms_on(view, id, mine.device); sms != 0)
    mine.entry = outlook_[mine.device].add(start, end, sms);
}

// It no longer counts.
void Placement::settle(Plan& plan) {
  if (plan.device == kNowhere) return;
  load_[plan.device] -= plan.time;
  used_[plan.device] -= plan.sms;
  outlook_[plan.device].remove(plan.entry);
  plan.time = 0;
  plan.sms = 0;
  plan.entry = {};
}

void Placement::forget(Plan& plan) {
  settle(plan);
  plan = {.stream = plan.stream};
}

void Placement::strand(Plan& plan) {
  const bool asked = plan.asked;
  forget(plan);
  plan.asked = asked;
  plan.stranded = true;
}

// Waits for nothing in a stream that has not been issued. What was issued before and has to be
// issued again may have in its stream ahead of it what waits for it.
bool Placement::may_wait(const View& view, const InstanceId& id) {
  const SourceBoard& source = view.board[id.source];
  const InstructionStatus& status = source.status(id.slot, id.instruction);
  if (status.state == State::Ready) return true;
  const auto waits_for = source.graph()[id.instruction].waits_for;
  return status.runs == 0 &&
         std::all_of(waits_for.begin(), waits_for.end(), [&](std::uint16_t needed) {
           const InstanceId its = instance(view, id.place(), needed);
           return plan(view, its).issued || needs_input(view, its) ||
                  source.status(id.slot, needed).chunks == 0;
         });
}

bool Placement::enqueue(const View& view, const InstanceId& id, Reason why) {
  Plan& mine = plan(view, id);
  if (mine.issued || mine.device == kNowhere) return false;
  mine.asked = true;
  if (!may_wait(view, id)) return false;
  const SourceBoard& source = view.board[id.source];
  if (source.status(id.slot, id.instruction).runs != 0) mine.stream = Issue::kFree;
  mine.issued = mine.queued = true;
  mine.why = why;
  if (!mine.background) {
    mine.sms = sms_on(view, id, mine.device);
    used_[mine.device] += mine.sms;
  }
  queue_.push_back(id);
  for (const std::uint16_t next : source.graph()[id.instruction].successors) {
    const InstanceId after = instance(view, id.place(), next);
    if (plan(view, after).asked) enqueue(view, after, why);
  }
  return true;
}

std::size_t Placement::decide(const View& view, std::span<Issue> out) {
  seen_.assign(view.ready.begin(), view.ready.end());
  std::erase_if(seen_, [&](const InstanceId& id) { return plan(view, id).issued; });
  const auto order = [&](const InstanceId& id) {
    return std::tuple(view.board.frame(id.place()).deadline, id.source, id.slot, id.instruction);
  };
  std::sort(seen_.begin(), seen_.end(),
            [&](const InstanceId& a, const InstanceId& b) { return order(a) < order(b); });
  ready(view, seen_);
  std::size_t count = 0, taken = 0;
  for (; taken < queue_.size() && count < out.size(); ++taken) {
    const InstanceId& id = queue_[taken];
    const SourceBoard& source = view.board[id.source];
    const InstructionStatus& status = source.status(id.slot, id.instruction);
    Plan& mine = plan(view, id);
    if (source.frame(id.slot).generation != id.generation || status.state >= State::Issued ||
        !mine.queued)
      continue;
    mine.queued = false;
    DeviceMask where;
    where.set(mine.device);
    out[count++] = {.what = id,
                    .count = status.chunks,
                    .grain = status.chunks,
                    .where = where,
                    .priority = {.due = source.frame(id.slot).deadline, .frame = id.frame},
                    .why = mine.why,
                    .stream = mine.stream,
                    .background = mine.background,
                    .placed = mine.placed,
                    .expected = mine.end != 0 ? mine.end : kNever};
  }
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(taken));
  return count;
}

void Placement::committed(const View& view, const InstanceId& id) { settle(plan(view, id)); }

void Placement::returned(const View& view, const InstanceId& id) {
  Plan& mine = plan(view, id);
  const bool stays = mine.device != kNowhere && view.board.devices()[mine.device].up;
  const std::uint16_t device = stays ? mine.device : refuge(view, id, mine.device);
  if (device == kNowhere) return strand(mine);
  place(view, id, device, Reason::Returned);
  if (!stays) moved(view, id);
}

std::uint16_t Placement::refuge(const View& view, const InstanceId&, std::uint16_t) {
  return idlest(view);
}

void Placement::ended(const View& view, FrameRef frame) {
  for (std::uint16_t i = 0; i < view.board[frame.source].graph().size(); ++i)
    forget(plan(view, instance(view, frame, i)));
}

// What was meant for a device that died is meant for another; what found none, for one that is
// back.
void Placement::changed(const View& view, std::uint16_t device) {
  const bool up = view.board.devices()[device].up;
  for (std::uint16_t c = 0; c < view.board.sources().size(); ++c)
    for (std::uint16_t slot = 0; slot < view.board[c].ring(); ++slot) {
      const FrameRef frame{c, slot};
      if (view.board.frame(frame).state != FrameStatus::State::Live) continue;
      for_each(view, frame, [&](const InstanceId& id) {
        const Plan before = plan(view, id);
        if (up ? !before.stranded : before.device != device) return;
        const std::uint16_t other = refuge(view, id, device);
        if (other == kNowhere) return strand(plan(view, id));
        place(view, id, other, Reason::Returned);
        moved(view, id);
        Plan& mine = plan(view, id);
        mine.asked = before.asked;
        mine.issued = before.issued;
        mine.queued = before.queued;
        const bool issued = view.board[c].status(slot, id.instruction).state >= State::Issued;
        if (up && before.asked && !issued) enqueue(view, id, Reason::Returned);
      });
    }
}

}  // namespace carillon::runtime
