// The life of frames and their instructions, in whatever time `now` counts: admitted, ready,
// issued, committed, missed, dropped. Single-threaded; whoever holds the scheduler token runs it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/arrivals.hpp"
#include "runtime/event_ring.hpp"
#include "runtime/executor.hpp"
#include "runtime/frame_event.hpp"
#include "runtime/policy.hpp"
#include "runtime/scoreboard.hpp"

namespace carillon::runtime {

class Scheduler {
 public:
  Scheduler(Scoreboard& board, Arrivals& arrivals, Policy& policy, Executor& executor);

  /// Starts a frame in its empty slot; see Runtime::begin. False when the policy refuses it.
  bool admit(std::uint64_t frame, Tick air_start, std::span<const std::uint32_t> chunks, Tick now);
  /// The instruction's first item has come.
  void fed(std::uint16_t slot, std::uint16_t instruction, Tick now);
  /// Its remaining items will not come.
  void close(std::uint16_t slot, std::uint16_t instruction, Tick now);
  void abandon(std::uint16_t slot, Tick now);
  /// A finished slot becomes empty.
  void release(std::uint16_t slot);

  /// Takes in what executors finished and timers that expired, then issues what the policy decides.
  void step(Tick now);

  /// When step() has something to do even if nothing else happens; kNever when never.
  Tick next_timer() const;
  /// When the next item from outside is expected by a live frame; kNever when none is.
  Tick next_arrival();

  /// Lets poll() see the events of all calls up to now.
  void publish() noexcept { events_.publish(); }
  /// One other thread may call it.
  std::size_t poll(std::span<FrameEvent> out) noexcept { return events_.pop(out); }

 private:
  struct Ref {
    std::uint16_t slot, instruction;
  };
  InstanceId identify(Ref ref) const;
  void emit(FrameEvent::Kind kind, std::uint16_t slot, std::uint16_t instruction, Reason why,
            Tick now);
  void collect(Tick now);
  void expire(std::uint16_t slot, Tick now);
  void timer(Ref ref, Timer::Kind kind, Tick now);
  void consider(Ref ref, Tick now);
  void settle(Tick now);
  void commit(Ref ref, Tick now);
  void miss(Ref ref, Reason why, Tick now);
  void drop(std::uint16_t slot, Reason why, Tick now);
  void finish_if_over(std::uint16_t slot, Tick now);
  void forget_unready();
  void decide(Tick now);

  Scoreboard& board_;
  const Graph& graph_;
  Arrivals& arrivals_;
  Policy& policy_;
  Executor& executor_;
  std::vector<InstanceId> ready_, planned_;
  std::vector<Ref> skipped_;                   // without chunks, about to commit
  std::vector<Ref> missed_;                    // about to be missed
  std::vector<std::uint16_t> by_arrival_;      // Feed::Arrivals instructions by release
  std::vector<std::uint32_t> arrival_cursor_;  // per slot: index into by_arrival_
  EventRing<FrameEvent> events_;
};

}  // namespace carillon::runtime
