// A worker thread's loop: work, the thread's other roles, and rest, in this order of preference.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/tick.hpp"
#include "runtime/backoff.hpp"
#include "runtime/runtime.hpp"
#include "telemetry/trace.hpp"

namespace carillon::runtime {

/// A thread that was to look again soon and did so this much later was stopped by the machine.
inline constexpr Tick kStall = 200 * kMicrosecond;

/// Until `stop`. `others` does a bounded piece of the thread's other roles (receiving, sending,
/// polling events) and returns whether there was any; it is called once per look, so that a busy
/// worker still receives. When every role is idle the thread rests as `backoff` decides. Sleeps and
/// stalls go to the worker's trace.
template <typename Others>
void work_loop(Runtime& runtime, std::uint32_t worker, Backoff& backoff,
               const std::atomic<bool>& stop, Others&& others) {
  telemetry::TraceRing& trace = runtime.trace(worker);
  const auto note = [&](telemetry::TraceKind kind, Tick start, Tick duration) {
    trace.write({.start = start,
                 .duration = telemetry::saturate<std::uint32_t>(duration),
                 .worker = static_cast<std::uint16_t>(worker),
                 .kind = kind});
  };
  // Debts are looked at once per so many busy rounds: now() is not free.
  constexpr std::uint32_t kBusyRounds = 64;
  for (std::uint32_t busy = 0; !stop.load(std::memory_order_relaxed);) {
    const bool worked = runtime.work(worker);
    const bool other = others();
    if (other) runtime.resume(worker);
    if (worked || other) {
      if (++busy % kBusyRounds == 0 && backoff.pay(now()) != 0) runtime.resume(worker);
      continue;
    }
    const Tick start = now();
    const Tick slept = backoff.idle(runtime.quiet_until());
    const Tick end = now();
    if (slept != 0) note(telemetry::TraceKind::Sleep, start, end - start);
    const Tick back = slept == 0 ? start : backoff.due();
    if (end - back > kStall) note(telemetry::TraceKind::Stall, back, end - back);
  }
}

}  // namespace carillon::runtime
