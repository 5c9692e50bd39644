#include "app/loop.hpp"

#include <algorithm>
#include <limits>

namespace carillon::app {

Loop::Loop(Options options, std::vector<Duty*> duties)
    : options_(std::move(options)),
      duties_(std::move(duties)),
      backoff_({.wakeup_p99 = options_.wakeup_p99,
                .asleep_share = options_.realtime ? options_.asleep_share : 0}) {
  for (const Duty* duty : duties_) roles_ |= static_cast<std::uint64_t>(duty->kind());
}

void Loop::set_up(Tick due) {
  name_thread(options_.name);
  const Attempt pinned = pin_thread(options_.core);
  if (!pinned.done) complaint_ = pinned.reason;
  if (options_.realtime) {
    const Attempt fifo = make_realtime(kPriority);
    granted_ = fifo.done;
    if (!fifo.done) complaint_ += (complaint_.empty() ? "" : "; ") + fifo.reason;
  }
  run_delay_.emplace();
  charged_ = now();
  // A new thread has waited for nothing but to be here.
  if (const Tick late = charged_ - due; late >= kStall) note_stall(due, late);
  waited_ = run_delay_->read();
  last_.store(charged_, std::memory_order_release);
  started_.store(true, std::memory_order_release);
}

void Loop::run(Tick due) noexcept {
  set_up(due);
  while (!stopping_.load(std::memory_order_acquire)) {
    if (turn())
      wake(backoff_.pay(last_seen()));
    else
      rest();
  }
}

// The present instant; what has passed since the last look without anything being done is a stall.
Tick Loop::look() noexcept {
  const Tick instant = now();
  if (const Tick passed = instant - last_seen(); passed >= kStall) note_stall(last_seen(), passed);
  last_.store(instant, std::memory_order_release);
  return instant;
}

// After a duty has done something the more urgent ones are asked again.
bool Loop::turn() noexcept {
  for (Duty* duty : duties_) {
    const Tick start = look();
    if (!duty->step()) continue;
    const Tick end = now();
    charge(time_of(duty->kind()), start, end);
    if (end - start >= kStall)
      if (const Tick excess = end - start - duty->expected(); excess >= kStall)
        note_stall(start, excess);
    last_.store(end, std::memory_order_release);
    return true;
  }
  return false;
}

void Loop::rest() noexcept {
  Tick until = std::numeric_limits<Tick>::max();
  for (Duty* duty : duties_) until = std::min(until, duty->next_event());
  const Tick start = look();
  // Whatever happens unannounced waits no longer than this.
  const Tick slept = backoff_.idle(std::min(until, start + kMillisecond));
  wake(slept);
  if (slept == 0) charge(spinning_, charged_, look());
}

// Sleeping longer than was asked for is a stall too.
void Loop::wake(Tick slept) noexcept {
  if (slept == 0) return;
  const Tick end = now();
  charge(sleeping_, end - slept, end);
  if (const Tick late = end - backoff_.due(); late >= kStall) note_stall(backoff_.due(), late);
  waited_ = run_delay_->read();  // what happened before says nothing about the next stall
  last_.store(end, std::memory_order_release);
}

// What passed before, asking duties that had nothing to do, is spinning.
void Loop::charge(std::atomic<Tick>& sum, Tick from, Tick until) noexcept {
  const auto add = [](std::atomic<Tick>& to, Tick value) {  // one writer
    to.store(to.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
  };
  add(spinning_, std::max<Tick>(from - charged_, 0));
  add(sum, until - from);
  charged_ = until;
}

std::atomic<Tick>& Loop::time_of(RoleKind kind) noexcept {
  switch (kind) {
    case RoleKind::Worker: return busy_;
    case RoleKind::Receiver: return receiving_;
    case RoleKind::Conductor:
    case RoleKind::Accelerator: return conducting_;
    case RoleKind::Radio:
    case RoleKind::Users: break;
  }
  return emulating_;
}

// The system had the core if the thread was ready and not run for half of the stall or longer, by
// the kernel's own account; else the machine itself stood still. Without real-time priority, or
// without that account, it is never put down to the machine.
void Loop::note_stall(Tick start, Tick length) noexcept {
  const Tick waited = run_delay_->read();
  const bool system = !granted_ || waited < 0 || waited - waited_ >= length / 2;
  waited_ = waited;
  telemetry::TraceEvent event;
  event.start = start;
  event.duration = telemetry::saturate<std::uint32_t>(static_cast<std::uint64_t>(length));
  event.kind = telemetry::TraceKind::Stall;
  event.code = static_cast<std::uint16_t>(system ? telemetry::LateCause::OperatingSystem
                                                 : telemetry::LateCause::MachineStall);
  stalls_.write(event);
}

telemetry::ThreadRecord Loop::account(const Purposes& purposes) const noexcept {
  const Tick working = busy_.load(std::memory_order_relaxed);
  const Tick receiving = receiving_.load(std::memory_order_relaxed);
  const Tick conducting = conducting_.load(std::memory_order_relaxed);
  telemetry::ThreadRecord record;
  record.core = options_.core;
  record.roles = roles_;
  record.busy = std::min(working, purposes.kernels);
  record.network = std::min(receiving, purposes.receiving) + std::min(conducting, purposes.sending);
  record.overhead = working + receiving + conducting - record.busy - record.network;
  record.emulating = emulating_.load(std::memory_order_relaxed);
  record.spinning = spinning_.load(std::memory_order_relaxed);
  record.sleeping = sleeping_.load(std::memory_order_relaxed);
  record.realtime = granted_ ? 1 : 0;
  return record;
}

}  // namespace carillon::app
