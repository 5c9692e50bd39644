#include "runtime/scheduler.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace carillon::runtime {
namespace {

struct Next {
  Tick due = kNever;
  const Timer* timer = nullptr;
};

// Of a frame's timers.
Next next_of(const Graph& graph, const FrameStatus& frame) {
  Next next;
  if (frame.next_timer < graph.timers().size()) {
    const Timer& timer = graph.timers()[frame.next_timer];
    next = {frame.start + timer.offset, &timer};
  }
  if (frame.next_drop < graph.drops().size()) {
    const Timer& drop = graph.drops()[frame.next_drop];
    const Tick due = frame.start + drop.offset - frame.lead;
    if (due < next.due) next = {due, &drop};
  }
  return next;
}

using State = InstructionStatus::State;

}  // namespace

Scheduler::Source::Source(const SourceBoard& board)
    : arrival_cursor(board.ring()),
      // A slot yields at most one event per instruction and one for the frame before its release;
      // refusals hold no slot, so a full ring only ever costs one of those.
      events(std::size_t{board.ring()} * (board.graph().size() + 2U) + 64) {
  const Graph& graph = board.graph();
  for (std::uint16_t i = 0; i < graph.size(); ++i) {
    if (graph[i].feed == Feed::Arrivals) by_arrival.push_back(i);
  }
  std::stable_sort(by_arrival.begin(), by_arrival.end(), [&](std::uint16_t a, std::uint16_t b) {
    return graph[a].release < graph[b].release;
  });
}

Scheduler::Scheduler(ScoreboardWriter& board, std::span<Arrivals> arrivals, Policy& policy,
                     Executor& executor)
    : board_(board),
      arrivals_(arrivals),
      policy_(policy),
      executor_(executor),
      timers_(board.sources().size(), kNever),
      expected_(board.sources().size(), kNever) {
  std::size_t most = 0, skipped = 0, missed = 0, frames = 0;
  for (const SourceBoard& source : board.sources()) {
    const Graph& graph = source.graph();
    sources_.push_back(std::make_unique<Source>(source));
    most += std::size_t{source.ring()} * graph.size();
    frames += source.ring();
    std::size_t edges = 0;
    for (const Instruction& instruction : graph.instructions()) {
      edges += instruction.successors.size();
    }
    skipped = std::max(skipped, std::size_t{graph.size()});
    missed = std::max(missed, edges + 1);
  }
  ready_.reserve(most);
  planned_.reserve(most);
  skipped_.reserve(skipped);
  missed_.reserve(missed);
  finished_.reserve(frames);
}

InstanceId Scheduler::identify(Ref ref) const {
  const FrameStatus& frame = board_.frame(ref.frame);
  return {frame.frame, ref.frame.source, ref.frame.slot, ref.instruction, frame.generation};
}

void Scheduler::emit(FrameEvent::Kind kind, FrameRef at, std::uint16_t instruction, Reason why,
                     Tick now) {
  sources_[at.source]->events.push(
      {kind, why, at.source, instruction, at.slot, board_.frame(at).frame, now});
  told_ |= std::uint64_t{1} << at.source;
}

std::uint64_t Scheduler::publish() noexcept {
  for (std::uint64_t sources = told_; sources != 0; sources &= sources - 1)
    sources_[static_cast<std::size_t>(std::countr_zero(sources))]->events.publish();
  finished_.clear();
  return std::exchange(told_, 0);
}

void Scheduler::fill(FrameRef at, FrameId id, Tick start, std::span<const std::uint32_t> chunks,
                     Tick now) {
  SourceWriter& source = board_[at.source];
  const Graph& graph = source.graph();
  FrameStatus& frame = source.frame(at.slot);
  frame = {.state = FrameStatus::State::Live,
           .frame = id.frame,
           .generation = frame.generation + 1,
           .open = graph.size(),
           .start = start,
           .admitted = now};
  Tick deadline = kAlways;
  for (std::uint16_t i = 0; i < graph.size(); ++i) {
    const Instruction& instruction = graph[i];
    const std::uint32_t count =
        i < chunks.size() ? std::min(chunks[i], instruction.chunks) : instruction.chunks;
    source.status(at.slot, i) = {.released = instruction.release == kAlways,
                                 .waiting = instruction.predecessors,
                                 .chunks = count,
                                 .unissued = count,
                                 .uncommitted = count};
    if (count != 0) deadline = std::max(deadline, instruction.deadline);
  }
  if (deadline != kNever && deadline != kAlways) frame.deadline = start + deadline;
  sources_[at.source]->arrival_cursor[at.slot] = 0;
  source.offered(at.slot);
}

// Executors tell of whole issues, which may be most of a frame's work.
void Scheduler::look_at_progress() {
  for (const InstanceId& id : planned_) {
    SourceWriter& source = board_[id.source];
    const InstructionStatus& status = source.status(id.slot, id.instruction);
    if (status.state < State::Committed)
      source.progressed(id.slot, id.instruction, status.uncommitted,
                        status.uncommitted - status.unissued - executor_.undone(id));
  }
}

bool Scheduler::admit(FrameId id, Tick start, std::span<const std::uint32_t> chunks, Tick now,
                      Tick lead) {
  const FrameRef at{id.source, board_[id.source].slot(id.frame)};
  fill(at, id, start, chunks, now);
  board_.frame(at).lead = lead;
  look_at_progress();
  const bool has_room = executor_.admit(at);
  const Admission verdict = has_room ? policy_.admit(view(now), at) : Admission{};
  board_[id.source].admitted(verdict.admitted);
  if (!verdict.admitted) {
    refuse(at, has_room, now);
    return false;
  }
  board_.frame(at).order = verdict.order;
  for (std::uint16_t i = 0; i < graph(at).size(); ++i) {
    if (graph(at)[i].predecessors == 0) consider({at, i}, now);
  }
  settle(now);
  look_at_timers(at.source);
  expected_[at.source] = kAlways;
  return true;
}

void Scheduler::refuse(FrameRef at, bool had_room, Tick now) {
  const Reason why = had_room ? Reason::Refused : Reason::Memory;
  emit(FrameEvent::Kind::Refused, at, 0, why, now);
  if (had_room) {
    policy_.ended(view(now), at);
    executor_.over(at);
  }
  release(at);
}

void Scheduler::fed(FrameRef frame, std::uint16_t instruction, Tick now) {
  if (board_.frame(frame).state != FrameStatus::State::Live) return;
  status({frame, instruction}).fed = true;
  consider({frame, instruction}, now);
  settle(now);
}

void Scheduler::close(FrameRef frame, std::uint16_t instruction, Tick now) {
  if (board_.frame(frame).state != FrameStatus::State::Live) return;
  InstructionStatus& closing = status({frame, instruction});
  if (graph(frame)[instruction].feed != Feed::Arrivals || closing.state >= State::Committed) return;
  const std::uint32_t missing =
      arrivals_[frame.source].close(frame.slot, instruction, closing.chunks);
  closing.missing = static_cast<std::uint16_t>(closing.missing + missing);
  fed(frame, instruction, now);
}

void Scheduler::abandon(FrameRef frame, Tick now) {
  if (board_.frame(frame).state == FrameStatus::State::Live) drop(frame, Reason::Abandoned, now);
}

void Scheduler::release(FrameRef frame) { board_.frame(frame).state = FrameStatus::State::Empty; }

void Scheduler::step(Tick now) {
  collect(now);
  for (std::uint16_t c = 0; c < sources_.size(); ++c) {
    if (timers_[c] > now) continue;
    for (std::uint16_t slot = 0; slot < board_[c].ring(); ++slot) expire({c, slot}, now);
    look_at_timers(c);
  }
  if (!ready_.empty() || policy_.pending()) decide(now);
  executor_.flush();
}

void Scheduler::collect(Tick now) {
  look_at_devices(now);
  std::array<Finished, 16> finished;
  while (const std::size_t count = executor_.poll(finished)) {
    for (const Finished& end : std::span(finished).first(count)) {
      const Ref ref{end.what.place(), end.what.instruction};
      unplan(end.what);
      --board_.frame(ref.frame).issued;
      if (end.failed) {
        give_back(ref, end.count, now);
        finish_if_over(ref.frame, now);
        continue;
      }
      InstructionStatus& status = this->status(ref);
      status.busy += end.busy;
      // What was cancelled before it began did not start anywhere.
      if (end.count != 0 && (status.executed == 0 || end.executed < status.executed)) {
        status.executed = end.executed;
        status.device = end.device;
      }
      board_[ref.frame.source].measured(graph(ref.frame)[ref.instruction].opcode, end.count,
                                        end.busy);
      if (status.state < State::Committed) {
        board_[ref.frame.source].progressed(ref.frame.slot, ref.instruction,
                                            status.uncommitted - end.count, 0);
        if (status.uncommitted == 0) {
          status.committed = end.at;
          if (board_[ref.frame.source].has_profile()) {
            board_[ref.frame.source].executed(ref.frame.slot, ref.instruction,
                                              board_.devices()[end.device].type);
            board_.executed(ref.frame, ref.instruction, end.queue);
          }
          commit(ref, now);
          settle(now);
        }
      }
      finish_if_over(ref.frame, now);
    }
  }
}

void Scheduler::unplan(const InstanceId& id) {
  std::size_t place = status({id.place(), id.instruction}).planned;
  if (place >= planned_.size() || planned_[place] != id)  // of several issues, another
    place = static_cast<std::size_t>(std::find(planned_.begin(), planned_.end(), id) -
                                     planned_.begin());
  const InstanceId& last = planned_[place] = planned_.back();
  status({last.place(), last.instruction}).planned = static_cast<std::uint32_t>(place);
  planned_.pop_back();
}

void Scheduler::look_at_devices(Tick now) {
  std::array<DeviceEvent, 16> events;
  while (const std::size_t count = executor_.poll(events)) {
    for (const DeviceEvent& event : std::span(events).first(count)) {
      board_.changed(event.device, event.up);
      policy_.changed(view(now), event.device);
      if (event.up) continue;
      for (std::uint16_t c = 0; c < sources_.size(); ++c)
        for (std::uint16_t slot = 0; slot < board_[c].ring(); ++slot) revoke({c, slot}, now);
    }
  }
}

// Its device died: it has to be issued again.
void Scheduler::give_back(Ref ref, std::uint32_t chunks, Tick now) {
  InstructionStatus& status = this->status(ref);
  if (status.state >= State::Committed) return;
  status.unissued += chunks;
  again(ref, now);
}

void Scheduler::again(Ref ref, Tick now) {
  InstructionStatus& status = this->status(ref);
  status.state = State::Waiting;
  status.executed = 0;
  ++status.runs;
  policy_.returned(view(now), identify(ref));
  consider(ref, now);
}

// What has committed, but somebody still has to read it and it is nowhere any more.
void Scheduler::revoke(FrameRef at, Tick now) {
  FrameStatus& frame = board_.frame(at);
  if (frame.state != FrameStatus::State::Live) return;
  for (std::uint16_t i = graph(at).size(); i-- > 0;) {
    const Ref ref{at, i};
    InstructionStatus& status = this->status(ref);
    const auto successors = graph(at)[i].successors;
    const bool needed = std::any_of(successors.begin(), successors.end(), [&](std::uint16_t next) {
      return this->status({at, next}).state < State::Committed;
    });
    if (status.state != State::Committed || status.chunks == 0 || !needed ||
        !executor_.lost(identify(ref)))
      continue;
    ++frame.open;
    status.unissued = status.chunks;
    board_[at.source].progressed(at.slot, i, status.chunks, 0);
    for (const std::uint16_t next : successors) {
      InstructionStatus& reader = this->status({at, next});
      ++reader.waiting;
      if (reader.state == State::Ready) reader.state = State::Waiting;
    }
    again(ref, now);
  }
  forget_unready();
}

void Scheduler::expire(FrameRef at, Tick now) {
  FrameStatus& frame = board_.frame(at);
  if (frame.state != FrameStatus::State::Live) return;
  if (now >= frame.deadline) return drop(at, Reason::Deadline, now);
  while (frame.state == FrameStatus::State::Live) {
    const auto [due, next] = next_of(graph(at), frame);
    if (due > now || next == nullptr) break;
    ++(next->kind == Timer::Kind::Deadline ? frame.next_drop : frame.next_timer);
    timer({at, next->instruction}, next->kind, now);
  }
}

void Scheduler::timer(Ref ref, Timer::Kind kind, Tick now) {
  switch (kind) {
    case Timer::Kind::Release:
      status(ref).released = true;
      consider(ref, now);
      settle(now);
      break;
    case Timer::Kind::EarlyClose:
      if (arrivals_[ref.frame.source].taken(ref.frame.slot, ref.instruction) >=
          graph(ref.frame)[ref.instruction].quorum)
        close(ref.frame, ref.instruction, now);
      break;
    case Timer::Kind::Close: close(ref.frame, ref.instruction, now); break;
    case Timer::Kind::Deadline:
      if (status(ref).chunks == 0) break;
      miss(ref, Reason::Deadline, now);
      finish_if_over(ref.frame, now);
      break;
  }
}

// Makes an instruction ready as soon as nothing holds it back; one without chunks just commits.
void Scheduler::consider(Ref ref, Tick now) {
  InstructionStatus& status = this->status(ref);
  if (status.state != State::Waiting || status.waiting != 0) return;
  if (status.chunks == 0) {
    status.state = State::Ready;
    skipped_.push_back(ref);
    return;
  }
  if (!status.released) return;
  if (graph(ref.frame)[ref.instruction].feed == Feed::Arrivals && !status.fed) return;
  status.state = State::Ready;
  status.ready = now;
  ready_.push_back(identify(ref));
}

void Scheduler::settle(Tick now) {
  while (!skipped_.empty()) {
    const Ref ref = skipped_.back();
    skipped_.pop_back();
    status(ref).committed = now;
    commit(ref, now);
    finish_if_over(ref.frame, now);
  }
}

void Scheduler::commit(Ref ref, Tick now) {
  InstructionStatus& status = this->status(ref);
  status.state = State::Committed;
  --board_.frame(ref.frame).open;
  const Instruction& instruction = graph(ref.frame)[ref.instruction];
  if (instruction.notify && status.chunks != 0) {
    emit(FrameEvent::Kind::Committed, ref.frame, ref.instruction, Reason::None, status.committed);
  }
  for (const std::uint16_t next : instruction.successors) {
    --this->status({ref.frame, next}).waiting;
    consider({ref.frame, next}, now);
  }
  policy_.committed(view(now), identify(ref));
}

void Scheduler::miss(Ref first, Reason why, Tick now) {
  missed_.push_back(first);
  while (!missed_.empty()) {
    const Ref ref = missed_.back();
    missed_.pop_back();
    InstructionStatus& status = this->status(ref);
    if (status.state >= State::Committed) continue;
    const bool issued = status.unissued != status.chunks;
    const Instruction& instruction = graph(ref.frame)[ref.instruction];
    status.state = State::Missed;
    status.why = why;
    board_[ref.frame.source].progressed(ref.frame.slot, ref.instruction, 0, 0);  // nobody waits
    status.committed = now;
    --board_.frame(ref.frame).open;
    if (issued) executor_.cancel(identify(ref));
    if (status.chunks != 0 && instruction.notify) {
      emit(FrameEvent::Kind::Missed, ref.frame, ref.instruction, why, now);
    }
    why = Reason::Predecessor;
    for (const std::uint16_t next : instruction.successors) missed_.push_back({ref.frame, next});
  }
  forget_unready();
}

void Scheduler::drop(FrameRef at, Reason why, Tick now) {
  FrameStatus& frame = board_.frame(at);
  frame.state = FrameStatus::State::Draining;
  frame.why = why;
  for (std::uint16_t i = 0; i < graph(at).size(); ++i) {
    InstructionStatus& status = this->status({at, i});
    if (status.state >= State::Committed) continue;
    const bool issued = status.unissued != status.chunks;
    status.state = State::Missed;
    status.why = why;
    if (issued) executor_.cancel(identify({at, i}));
  }
  forget_unready();
  look_at_timers(at.source);
  finish_if_over(at, now);
}

void Scheduler::finish_if_over(FrameRef at, Tick now) {
  FrameStatus& frame = board_.frame(at);
  const bool live = frame.state == FrameStatus::State::Live;
  if (frame.issued != 0 || (live && frame.open != 0)) return;
  if (!live && frame.state != FrameStatus::State::Draining) return;
  frame.state = FrameStatus::State::Finished;
  frame.finished = now;
  finished_.push_back(at);
  look_at_timers(at.source);
  if (live || frame.why == Reason::Deadline) board_[at.source].ended(live);
  if (live) board_[at.source].completed(at.slot);
  policy_.ended(view(now), at);
  executor_.over(at);
  emit(live ? FrameEvent::Kind::Done : FrameEvent::Kind::Dropped, at, 0, frame.why, now);
}

void Scheduler::forget_unready() {
  std::erase_if(ready_, [&](const InstanceId& id) {
    return status({id.place(), id.instruction}).state != State::Ready;
  });
}

void Scheduler::decide(Tick now) {
  for (bool more = true; more && (!ready_.empty() || policy_.pending());) {
    const std::size_t room = std::min(executor_.room(), issues_.size());
    if (room == 0) return;
    const std::size_t count = policy_.decide(view(now), std::span(issues_).first(room));
    more = count == room;
    for (const Issue& each : std::span(issues_).first(count)) issue(each, now);
    forget_unready();
  }
}

void Scheduler::issue(const Issue& issue, Tick now) {
  const FrameRef at = issue.what.place();
  FrameStatus& frame = board_.frame(at);
  InstructionStatus& status = this->status({at, issue.what.instruction});
  status.unissued -= issue.count;
  if (status.unissued == 0) status.state = State::Issued;
  status.why = issue.why;
  status.placed = issue.placed;
  status.issued = now;
  ++frame.issued;
  status.planned = static_cast<std::uint32_t>(planned_.size());
  planned_.push_back(issue.what);
  executor_.issue(issue, now);
}

void Scheduler::look_at_timers(std::uint16_t source) {
  const Graph& graph = board_[source].graph();
  Tick next = kNever;
  for (const FrameStatus& frame : std::as_const(board_)[source].frames()) {
    if (frame.state != FrameStatus::State::Live) continue;
    next = std::min({next, frame.deadline, next_of(graph, frame).due});
  }
  timers_[source] = next;
}

Tick Scheduler::next_timer() const { return std::min(policy_.next(), std::ranges::min(timers_)); }

// When the source's live frames expect their next item.
Tick Scheduler::expected(std::uint16_t number) {
  Source& source = *sources_[number];
  Tick next = kNever;
  for (std::uint16_t slot = 0; slot < board_[number].ring(); ++slot) {
    const FrameStatus& frame = board_.frame({number, slot});
    if (frame.state != FrameStatus::State::Live) continue;
    std::uint32_t& cursor = source.arrival_cursor[slot];
    for (; cursor < source.by_arrival.size(); ++cursor) {
      const std::uint16_t id = source.by_arrival[cursor];
      const InstructionStatus& waiting = status({{number, slot}, id});
      if (waiting.state >= State::Committed || arrivals_[number].taken(slot, id) >= waiting.chunks)
        continue;
      const Tick release = graph({number, slot})[id].release;
      next = std::min(next, release == kAlways ? kAlways : frame.start + release);
      break;
    }
  }
  return next;
}

// Items come without the scheduler's knowing, which can only make what was expected before later.
Tick Scheduler::next_arrival(Tick now) {
  Tick next = kNever;
  for (std::uint16_t c = 0; c < sources_.size(); ++c) {
    if (expected_[c] <= now) expected_[c] = expected(c);
    if (expected_[c] <= now) return expected_[c];
    next = std::min(next, expected_[c]);
  }
  return next;
}

}  // namespace carillon::runtime
