#include "runtime/scheduler.hpp"

#include <algorithm>
#include <array>

namespace carillon::runtime {
namespace {

using State = InstructionStatus::State;

}  // namespace

Scheduler::Scheduler(Scoreboard& board, Arrivals& arrivals, Policy& policy, Executor& executor)
    : board_(board),
      graph_(board.graph()),
      arrivals_(arrivals),
      policy_(policy),
      executor_(executor),
      arrival_cursor_(board.ring()),
      // A slot yields at most one event per instruction and one for the frame before its release;
      // refusals hold no slot, so a full ring only ever costs one of those.
      events_(std::size_t{board.ring()} * (graph_.size() + 2U) + 64) {
  const std::size_t most = std::size_t{board.ring()} * graph_.size();
  ready_.reserve(most);
  planned_.reserve(most);
  skipped_.reserve(graph_.size());
  std::size_t edges = 0;
  for (const Instruction& instruction : graph_.instructions()) {
    edges += instruction.successors.size();
  }
  missed_.reserve(edges + 1);
  for (std::uint16_t i = 0; i < graph_.size(); ++i) {
    if (graph_[i].feed == Feed::Arrivals) by_arrival_.push_back(i);
  }
  std::stable_sort(by_arrival_.begin(), by_arrival_.end(), [&](std::uint16_t a, std::uint16_t b) {
    return graph_[a].release < graph_[b].release;
  });
}

InstanceId Scheduler::identify(Ref ref) const {
  const FrameStatus& frame = board_.frame(ref.slot);
  return {frame.frame, board_.cell(), ref.instruction, frame.generation};
}

void Scheduler::emit(FrameEvent::Kind kind, std::uint16_t slot, std::uint16_t instruction,
                     Reason why, Tick now) {
  events_.push({kind, why, instruction, slot, board_.frame(slot).frame, now});
}

bool Scheduler::admit(std::uint64_t number, Tick air_start, std::span<const std::uint32_t> chunks,
                      Tick now) {
  const std::uint16_t slot = board_.slot(number);
  FrameStatus& frame = board_.frame(slot);
  frame = {.state = FrameStatus::State::Live,
           .frame = number,
           .generation = frame.generation + 1,
           .open = graph_.size(),
           .air_start = air_start,
           .admitted = now};
  Tick deadline = kAlways;
  for (std::uint16_t i = 0; i < graph_.size(); ++i) {
    const Instruction& instruction = graph_[i];
    const std::uint32_t count =
        i < chunks.size() ? std::min(chunks[i], instruction.chunks) : instruction.chunks;
    board_.status(slot, i) = {.released = instruction.release == kAlways,
                              .waiting = instruction.predecessors,
                              .chunks = count,
                              .unissued = count,
                              .uncommitted = count};
    if (count != 0) deadline = std::max(deadline, instruction.deadline);
  }
  if (deadline != kNever && deadline != kAlways) frame.deadline = air_start + deadline;
  arrival_cursor_[slot] = 0;

  if (!policy_.admit({board_, ready_, planned_, now}, slot)) {
    emit(FrameEvent::Kind::Refused, slot, 0, Reason::Refused, now);
    frame.state = FrameStatus::State::Empty;
    return false;
  }
  for (std::uint16_t i = 0; i < graph_.size(); ++i) {
    if (graph_[i].predecessors == 0) consider({slot, i}, now);
  }
  settle(now);
  return true;
}

void Scheduler::fed(std::uint16_t slot, std::uint16_t instruction, Tick now) {
  if (board_.frame(slot).state != FrameStatus::State::Live) return;
  board_.status(slot, instruction).fed = true;
  consider({slot, instruction}, now);
  settle(now);
}

void Scheduler::close(std::uint16_t slot, std::uint16_t instruction, Tick now) {
  if (board_.frame(slot).state != FrameStatus::State::Live) return;
  InstructionStatus& status = board_.status(slot, instruction);
  if (graph_[instruction].feed != Feed::Arrivals || status.state >= State::Committed) return;
  status.missing = static_cast<std::uint16_t>(status.missing +
                                              arrivals_.close(slot, instruction, status.chunks));
  fed(slot, instruction, now);
}

void Scheduler::abandon(std::uint16_t slot, Tick now) {
  if (board_.frame(slot).state == FrameStatus::State::Live) drop(slot, Reason::Abandoned, now);
}

void Scheduler::release(std::uint16_t slot) {
  board_.frame(slot).state = FrameStatus::State::Empty;
}

void Scheduler::step(Tick now) {
  collect(now);
  for (std::uint16_t slot = 0; slot < board_.ring(); ++slot) expire(slot, now);
  if (!ready_.empty()) decide(now);
  executor_.flush();
}

void Scheduler::collect(Tick now) {
  std::array<Finished, 16> finished;
  while (const std::size_t count = executor_.poll(finished)) {
    for (const Finished& end : std::span(finished).first(count)) {
      const Ref ref{board_.slot(end.what.frame), end.what.instruction};
      const auto place = std::find(planned_.begin(), planned_.end(), end.what);
      *place = planned_.back();
      planned_.pop_back();
      --board_.frame(ref.slot).issued;

      InstructionStatus& status = board_.status(ref.slot, ref.instruction);
      status.busy += end.busy;
      if (status.executed == 0 || end.executed < status.executed) {
        status.executed = end.executed;
        status.device = end.device;
      }
      board_.measured(graph_[ref.instruction].opcode, end.count, end.busy);
      if (status.state < State::Committed) {
        status.uncommitted -= end.count;
        if (status.uncommitted == 0) {
          status.committed = end.at;
          commit(ref, now);
          settle(now);
        }
      }
      finish_if_over(ref.slot, now);
    }
  }
}

void Scheduler::expire(std::uint16_t slot, Tick now) {
  FrameStatus& frame = board_.frame(slot);
  if (frame.state != FrameStatus::State::Live) return;
  if (now >= frame.deadline) return drop(slot, Reason::Deadline, now);
  const auto timers = graph_.timers();
  while (frame.next_timer < timers.size() && frame.state == FrameStatus::State::Live) {
    const Timer& next = timers[frame.next_timer];
    if (frame.air_start + next.offset > now) break;
    ++frame.next_timer;
    timer({slot, next.instruction}, next.kind, now);
  }
}

void Scheduler::timer(Ref ref, Timer::Kind kind, Tick now) {
  switch (kind) {
    case Timer::Kind::Release:
      board_.status(ref.slot, ref.instruction).released = true;
      consider(ref, now);
      settle(now);
      break;
    case Timer::Kind::Close: close(ref.slot, ref.instruction, now); break;
    case Timer::Kind::Deadline:
      if (board_.status(ref.slot, ref.instruction).chunks == 0) break;
      miss(ref, Reason::Deadline, now);
      finish_if_over(ref.slot, now);
      break;
  }
}

// Makes an instruction ready as soon as nothing holds it back; one without chunks just commits.
void Scheduler::consider(Ref ref, Tick now) {
  InstructionStatus& status = board_.status(ref.slot, ref.instruction);
  if (status.state != State::Waiting || status.waiting != 0) return;
  if (status.chunks == 0) {
    status.state = State::Ready;
    skipped_.push_back(ref);
    return;
  }
  if (!status.released) return;
  if (graph_[ref.instruction].feed == Feed::Arrivals && !status.fed) return;
  status.state = State::Ready;
  status.ready = now;
  ready_.push_back(identify(ref));
}

void Scheduler::settle(Tick now) {
  while (!skipped_.empty()) {
    const Ref ref = skipped_.back();
    skipped_.pop_back();
    board_.status(ref.slot, ref.instruction).committed = now;
    commit(ref, now);
    finish_if_over(ref.slot, now);
  }
}

void Scheduler::commit(Ref ref, Tick now) {
  InstructionStatus& status = board_.status(ref.slot, ref.instruction);
  status.state = State::Committed;
  --board_.frame(ref.slot).open;
  const Instruction& instruction = graph_[ref.instruction];
  if (instruction.notify && status.chunks != 0) {
    emit(FrameEvent::Kind::Committed, ref.slot, ref.instruction, Reason::None, status.committed);
  }
  for (const std::uint16_t next : instruction.successors) {
    --board_.status(ref.slot, next).waiting;
    consider({ref.slot, next}, now);
  }
}

void Scheduler::miss(Ref first, Reason why, Tick now) {
  missed_.push_back(first);
  while (!missed_.empty()) {
    const Ref ref = missed_.back();
    missed_.pop_back();
    InstructionStatus& status = board_.status(ref.slot, ref.instruction);
    if (status.state >= State::Committed) continue;
    const bool issued = status.unissued != status.chunks;
    const Instruction& instruction = graph_[ref.instruction];
    status.state = State::Missed;
    status.why = why;
    status.uncommitted = 0;  // nobody waits for it
    status.committed = now;
    --board_.frame(ref.slot).open;
    if (issued) executor_.cancel(identify(ref));
    if (status.chunks != 0 && instruction.notify) {
      emit(FrameEvent::Kind::Missed, ref.slot, ref.instruction, why, now);
    }
    why = Reason::Predecessor;
    for (const std::uint16_t next : instruction.successors) missed_.push_back({ref.slot, next});
  }
  forget_unready();
}

void Scheduler::drop(std::uint16_t slot, Reason why, Tick now) {
  FrameStatus& frame = board_.frame(slot);
  frame.state = FrameStatus::State::Draining;
  frame.why = why;
  for (std::uint16_t i = 0; i < graph_.size(); ++i) {
    InstructionStatus& status = board_.status(slot, i);
    if (status.state >= State::Committed) continue;
    const bool issued = status.unissued != status.chunks;
    status.state = State::Missed;
    status.why = why;
    if (issued) executor_.cancel(identify({slot, i}));
  }
  forget_unready();
  finish_if_over(slot, now);
}

void Scheduler::finish_if_over(std::uint16_t slot, Tick now) {
  FrameStatus& frame = board_.frame(slot);
  const bool live = frame.state == FrameStatus::State::Live;
  if (frame.issued != 0 || (live && frame.open != 0)) return;
  if (!live && frame.state != FrameStatus::State::Draining) return;
  frame.state = FrameStatus::State::Finished;
  frame.finished = now;
  emit(live ? FrameEvent::Kind::Done : FrameEvent::Kind::Dropped, slot, 0, frame.why, now);
}

void Scheduler::forget_unready() {
  std::erase_if(ready_, [&](const InstanceId& id) {
    return board_.status(board_.slot(id.frame), id.instruction).state != State::Ready;
  });
}

void Scheduler::decide(Tick now) {
  std::array<Issue, 16> issues;
  for (;;) {
    const std::size_t room = std::min(executor_.room(), issues.size());
    if (room == 0 || ready_.empty()) return;
    const std::size_t count =
        policy_.decide({board_, ready_, planned_, now}, std::span(issues).first(room));
    for (const Issue& issue : std::span(issues).first(count)) {
      const std::uint16_t slot = board_.slot(issue.what.frame);
      InstructionStatus& status = board_.status(slot, issue.what.instruction);
      status.unissued -= issue.count;
      if (status.unissued == 0) status.state = State::Issued;
      status.why = issue.why;
      status.issued = now;
      ++board_.frame(slot).issued;
      planned_.push_back(issue.what);
      executor_.issue(issue, now);
    }
    forget_unready();
    if (count < room) return;
  }
}

Tick Scheduler::next_timer() const {
  Tick next = kNever;
  const auto timers = graph_.timers();
  for (const FrameStatus& frame : board_.frames()) {
    if (frame.state != FrameStatus::State::Live) continue;
    next = std::min(next, frame.deadline);
    if (frame.next_timer < timers.size()) {
      next = std::min(next, frame.air_start + timers[frame.next_timer].offset);
    }
  }
  return next;
}

Tick Scheduler::next_arrival() {
  Tick next = kNever;
  for (std::uint16_t slot = 0; slot < board_.ring(); ++slot) {
    const FrameStatus& frame = board_.frame(slot);
    if (frame.state != FrameStatus::State::Live) continue;
    std::uint32_t& cursor = arrival_cursor_[slot];
    for (; cursor < by_arrival_.size(); ++cursor) {
      const std::uint16_t id = by_arrival_[cursor];
      const InstructionStatus& status = board_.status(slot, id);
      if (status.state >= State::Committed || arrivals_.taken(slot, id) >= status.chunks) continue;
      const Tick release = graph_[id].release;
      next = std::min(next, release == kAlways ? kAlways : frame.air_start + release);
      break;
    }
  }
  return next;
}

}  // namespace carillon::runtime
