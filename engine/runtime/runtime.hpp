// The runtime on CPU cores: frames of one or several sources go in, kernels run on worker threads,
// events come out. It owns no thread: the application's threads call begin/arrive (receivers), work
// (workers), poll (one sink for each source). Nothing here locks, allocates, throws or enters the
// kernel after construction.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/tick.hpp"
#include "runtime/arrivals.hpp"
#include "runtime/frame_event.hpp"
#include "runtime/graph.hpp"
#include "runtime/opcode.hpp"
#include "runtime/policy.hpp"
#include "runtime/scoreboard.hpp"
#include "telemetry/trace.hpp"

namespace carillon::runtime {

/// Where a worker's time went; written by it alone. What is left of its wall-clock time, less what
/// it spent on other roles, is the cost of looking for work.
struct WorkerTimes {
  Tick kernel = 0;    ///< in kernels
  Tick schedule = 0;  ///< with the scheduler token
  std::uint64_t tasks = 0, chunks = 0, tokens = 0;
};

class Runtime {
 private:
  class Implementation;
  struct State;  // of a source

 public:
  /// What a source's frames need; sources share nothing but the workers.
  struct SourceOptions {
    const Graph& graph;
    Kernels kernels;
    std::uint32_t ring = 4;                 ///< frames in flight, at most 64
    std::vector<std::uint32_t> grain = {};  ///< chunks per claim by opcode; 0, missing: measured
  };
  struct Options {
    std::uint32_t workers = 1;  ///< at most DeviceMask::kDevices
    bool pin_token = false;     ///< worker 0 alone schedules; else whoever is there
    std::size_t trace = 0;      ///< events kept per worker; 0 = no trace
  };

  /// Graphs, opcodes' names, contexts and the policy outlive the runtime; sources are numbered in
  /// this order, at most kMaxSources.
  /// Throws std::invalid_argument on options out of range or an opcode without kernel.
  Runtime(const std::vector<SourceOptions>& sources, Policy& policy, Options options);
  ~Runtime();

  /// One source's frames: a view, cheap to copy.
  class Source {
   public:
    /// Any thread. Starts a frame, whose ticks count from `start`. `chunks` gives each
    /// instruction's count (0 = skipped, clamped to the graph's maximum); empty means the maxima.
    /// `lead`: its `drop_alone` instructions are dropped so much before their deadlines. True when
    /// the frame is live, also when another thread began it first. False when its place in the ring
    /// still holds another frame (refuse it: an overload NACK) or this frame already ended.
    bool begin(std::uint64_t frame, Tick start, std::span<const std::uint32_t> chunks = {},
               Tick lead = 0) const noexcept;

    /// An item that has come from outside.
    struct Item {
      std::uint16_t instruction;
      std::uint32_t item;
    };
    /// As begin(), of a frame that was abandoned and released, and is to be done after all. What
    /// `came` so far counts as arrived however late it is.
    bool begin_again(std::uint64_t frame, Tick start, std::span<const std::uint32_t> chunks,
                     std::span<const Item> came) const noexcept;

    /// Any thread. The frame's place in the ring is free: nobody, receivers included, is at the
    /// frame that had it, and a later one can begin. Stays so until someone begins one.
    bool vacant(std::uint64_t frame) const noexcept;

    /// Keeps a live frame's slot from being reused while a receiver writes to the frame's memory.
    /// Short-lived; false when the frame is not live.
    class Hold {
     public:
      Hold(Hold&& other) noexcept : state_(other.state_), frame_(other.frame_) {
        other.state_ = nullptr;
      }
      Hold& operator=(Hold&&) = delete;
      ~Hold() {
        if (state_ != nullptr) leave(*state_, frame_);
      }
      explicit operator bool() const { return state_ != nullptr; }
      /// The item is in place: hand it to the workers. Counts once per item.
      Arrival arrive(std::uint16_t instruction, std::uint32_t item) const noexcept {
        return state_ == nullptr ? Arrival::Late : record(*state_, frame_, instruction, item);
      }

     private:
      friend class Source;
      Hold(State* state, std::uint64_t frame) : state_(state), frame_(frame) {}
      State* state_;
      std::uint64_t frame_;
    };
    /// Any thread.
    Hold hold(std::uint64_t frame) const noexcept {
      return {enter(*state_, frame) ? state_ : nullptr, frame};
    }
    /// Any thread. hold() and arrive in one.
    Arrival arrive(std::uint64_t frame, std::uint16_t instruction,
                   std::uint32_t item) const noexcept {
      return hold(frame).arrive(instruction, item);
    }
    /// Any thread: items that have not come will not come; feeds them as missing without waiting
    /// for the instruction's close.
    void close(std::uint64_t frame, std::uint16_t instruction) const noexcept;
    /// Any thread: gives the frame up; ends in a Dropped event (unless it was Done already).
    void abandon(std::uint64_t frame) const noexcept;
    /// When the next frame's first item is expected (kNever: no idea).
    void expect(Tick next_frame) const noexcept;

    /// One consumer. Events in the order they happened; none is lost unless more than 64 refusals
    /// wait.
    std::size_t poll(std::span<FrameEvent> out) const noexcept;
    /// The consumer has what it needs of a Done or Dropped frame: its slot may be reused.
    void release(std::uint64_t frame) const noexcept;

    /// Frames begun and not yet released.
    std::uint32_t live() const noexcept;
    /// The source's tables. A frame's rows may be read between its Done or Dropped event and
    /// release(), the opcodes' when nothing runs.
    const SourceBoard& board() const noexcept;
    std::uint16_t number() const noexcept;

   private:
    friend class Runtime;
    explicit Source(State& state) : state_(&state) {}
    static bool fill(State& state, std::uint64_t frame, Tick start, Tick lead,
                     std::span<const std::uint32_t> chunks, std::span<const Item> came) noexcept;
    static bool enter(State& state, std::uint64_t frame) noexcept;
    static void leave(State& state, std::uint64_t frame) noexcept;
    static Arrival record(State& state, std::uint64_t frame, std::uint16_t instruction,
                          std::uint32_t item) noexcept;
    State* state_;
  };
  Source source(std::uint16_t number) const noexcept;

  /// One thread per worker. Does one claim's worth of work or of scheduling; true if there was any.
  bool work(std::uint32_t worker) noexcept;
  /// Until when nothing is known to need a worker: the next timer, the next item expected
  /// (Instruction::release of what has not come yet), the next frame expected; kNever when nothing
  /// is. Not after now() when there is work already.
  Tick quiet_until() const noexcept;

  /// Any thread: CpuExecutor::emulate_clock().
  void emulate_clock(double share) noexcept;

  WorkerTimes times(std::uint32_t worker) const noexcept;
  /// How long the worker's last work() should have taken in kernels, at most, by what was known
  /// before; a millisecond where that was nothing. Its thread.
  Tick expected(std::uint32_t worker) const noexcept;
  /// Written by work(worker); its thread may add events of its own.
  telemetry::TraceRing& trace(std::uint32_t worker) const noexcept;
  const Options& options() const noexcept;

 private:
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace carillon::runtime
