// The life of frames and their instructions, in whatever time `now` counts: admitted, ready,
// issued, committed, missed, dropped. Single-threaded; whoever holds the scheduler token runs it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
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
  /// `arrivals`: by source.
  Scheduler(ScoreboardWriter& board, std::span<Arrivals> arrivals, Policy& policy,
            Executor& executor);

  /// Starts a frame in its empty place; see Runtime::Source::begin. False when the policy refuses
  /// it.
  bool admit(FrameId id, Tick start, std::span<const std::uint32_t> chunks, Tick now,
             Tick lead = 0);
  /// The instruction's first item has come.
  void fed(FrameRef frame, std::uint16_t instruction, Tick now);
  /// Its remaining items will not come.
  void close(FrameRef frame, std::uint16_t instruction, Tick now);
  void abandon(FrameRef frame, Tick now);
  /// A finished frame's place becomes empty.
  void release(FrameRef frame);

  /// Takes in what executors finished and timers that expired, then issues what the policy decides.
  void step(Tick now);

  /// When step() has something to do even if nothing else happens; kNever when never.
  Tick next_timer() const;
  /// Frames that have finished since publish().
  std::span<const FrameRef> finished() const { return finished_; }
  /// When the next item from outside is expected by a live frame; kNever when none is, and what is
  /// overdue when anything is.
  Tick next_arrival(Tick now);

  /// Lets poll() see the events of all calls up to now; the sources that have some, a bit each.
  std::uint64_t publish() noexcept;
  /// Of one source. One other thread for each source may call it.
  std::size_t poll(std::uint16_t source, std::span<FrameEvent> out) noexcept {
    return sources_[source]->events.pop(out);
  }

 private:
  struct Ref {
    FrameRef frame;
    std::uint16_t instruction;
  };
  // What only the scheduler knows of a source.
  struct Source {
    explicit Source(const SourceBoard& board);
    std::vector<std::uint16_t> by_arrival;      // Feed::Arrivals instructions by release
    std::vector<std::uint32_t> arrival_cursor;  // per slot: index into by_arrival
    EventRing<FrameEvent> events;
  };
  const Graph& graph(FrameRef frame) const { return board_[frame.source].graph(); }
  InstructionStatus& status(Ref ref) {
    return board_[ref.frame.source].status(ref.frame.slot, ref.instruction);
  }
  View view(Tick now) const { return {board_, ready_, planned_, now, executor_.room()}; }
  InstanceId identify(Ref ref) const;
  void emit(FrameEvent::Kind kind, FrameRef frame, std::uint16_t instruction, Reason why, Tick now);
  void fill(FrameRef at, FrameId id, Tick start, std::span<const std::uint32_t> chunks, Tick now);
  void refuse(FrameRef at, bool had_room, Tick now);
  void look_at_timers(std::uint16_t source);
  Tick expected(std::uint16_t source);
  void look_at_progress();
  void collect(Tick now);
  void unplan(const InstanceId& id);
  void look_at_devices(Tick now);
  void give_back(Ref ref, std::uint32_t chunks, Tick now);
  void again(Ref ref, Tick now);
  void revoke(FrameRef at, Tick now);
  void expire(FrameRef at, Tick now);
  void timer(Ref ref, Timer::Kind kind, Tick now);
  void consider(Ref ref, Tick now);
  void settle(Tick now);
  void commit(Ref ref, Tick now);
  void miss(Ref ref, Reason why, Tick now);
  void drop(FrameRef at, Reason why, Tick now);
  void finish_if_over(FrameRef at, Tick now);
  void forget_unready();
  void decide(Tick now);
  void issue(const Issue& issue, Tick now);

  ScoreboardWriter& board_;
  std::span<Arrivals> arrivals_;
  Policy& policy_;
  Executor& executor_;
  std::vector<std::unique_ptr<Source>> sources_;
  // By source, so that what does not concern a source costs it nothing but a look here: when its
  // frames have something to do next, and a time before which none of them expects an item.
  std::vector<Tick> timers_, expected_;
  std::uint64_t told_ = 0;  // sources with events since publish(), a bit each
  static_assert(kMaxSources <= 64);
  std::vector<FrameRef> finished_;
  std::vector<InstanceId> ready_, planned_;
  std::array<Issue, 16> issues_;  // as the policy writes them
  std::vector<Ref> skipped_;      // without chunks, about to commit
  std::vector<Ref> missed_;       // about to be missed
};

}  // namespace carillon::runtime
