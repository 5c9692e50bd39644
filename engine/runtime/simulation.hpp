// The runtime in virtual time: the same scoreboard, scheduler and policy as on CPU cores, driven by
// a list of what comes from outside and when.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "runtime/arrivals.hpp"
#include "runtime/executors/simulated.hpp"
#include "runtime/frame_event.hpp"
#include "runtime/policy.hpp"
#include "runtime/scheduler.hpp"
#include "runtime/scoreboard.hpp"

namespace carillon::runtime {

class Simulation {
 public:
  struct Source {
    const Graph& graph;
    std::uint32_t ring = 4;
    std::vector<std::uint32_t> grain = {};  ///< chunks per claim by opcode; 0, missing: measured
    std::vector<Cost> costs = {};           ///< by opcode
  };
  /// The graphs and the policy outlive the simulation. `seed`: of what claims take, where that
  /// varies.
  Simulation(const std::vector<Source>& sources, Policy& policy, std::uint32_t devices,
             std::uint64_t seed = 1);

  /// Another executor than one of imaginary cores.
  using MakeExecutor = std::function<std::unique_ptr<VirtualExecutor>(
      ScoreboardWriter& board, std::span<const Arrivals> arrivals)>;
  Simulation(const std::vector<Source>& sources, Policy& policy, std::uint32_t devices,
             const MakeExecutor& executor);

  struct Options {
    std::uint32_t devices = 1;
    std::uint32_t ring = 4;
    std::vector<std::uint32_t> grain = {};
    std::vector<Cost> costs = {};
    std::uint64_t seed = 1;
  };
  /// One source.
  Simulation(const Graph& graph, Policy& policy, const Options& options)
      : Simulation({{graph, options.ring, options.grain, options.costs}}, policy, options.devices,
                   options.seed) {}

  /// What happens from outside, in any order of calls (also while it runs, from watch()); at equal
  /// times in the order of calls. A frame whose place in the ring is taken is refused (its
  /// FrameEvent says so), its items are Late.
  void begin(Tick at, FrameId frame, Tick start, std::span<const std::uint32_t> chunks = {},
             Tick lead = 0);
  void arrive(Tick at, FrameId frame, std::uint16_t instruction, std::uint32_t item);
  void abandon(Tick at, FrameId frame);

  /// Tells `watch` of events as they happen, before a frame's slot is released, instead of keeping
  /// them.
  void watch(std::function<void(const FrameEvent&)> watch) { watch_ = std::move(watch); }

  /// Asks `go_on` once in kAskEvery instants, whatever happens in them; once it says no, run()
  /// returns at once.
  void ask(std::function<bool()> go_on) { go_on_ = std::move(go_on); }
  static constexpr std::uint64_t kAskEvery = 1 << 17;

  /// Until then, or until nothing is left to come and no frame under way. A frame's slot is
  /// released as soon as it is done or dropped.
  void run(Tick until = kNever);

  Tick now() const { return now_; }
  std::span<const FrameEvent> events() const { return events_; }
  std::span<const Execution> executions() const { return executor_->executions(); }
  /// By Arrival: how many items met that fate.
  std::uint64_t arrivals(Arrival fate) const { return fates_[static_cast<std::size_t>(fate)]; }
  const SourceBoard& board(std::uint16_t source = 0) const { return board_[source]; }
  std::span<const DeviceStatus> devices() const { return board_.devices(); }

 private:
  struct Input {
    enum class Kind : std::uint8_t { Begin, Arrive, Abandon };
    Tick at;
    Kind kind;
    FrameId frame;
    std::uint16_t instruction = 0;
    std::uint32_t item = 0;
    Tick start = 0, lead = 0;
    std::vector<std::uint32_t> chunks = {};
    std::uint64_t order = 0;
    bool operator<(const Input& other) const {  // a heap's top is its largest
      return at != other.at ? at > other.at : order > other.order;
    }
  };
  void expect(Input input);
  FrameRef place(FrameId frame) const {
    return {frame.source, board_[frame.source].slot(frame.frame)};
  }
  bool live(FrameId frame) const;
  bool idle() const;
  void feed(const Input& input);
  void arrive(const Input& input);
  void settle();
  void tell(const FrameEvent& event);
  bool take_events();
  bool stopped();

  ScoreboardWriter board_;
  std::vector<Arrivals> arrivals_;  // by source
  std::unique_ptr<VirtualExecutor> executor_;
  Scheduler scheduler_;
  std::vector<Input> inputs_;  // a heap
  std::uint64_t expected_ = 0;
  std::vector<FrameEvent> events_;
  std::function<void(const FrameEvent&)> watch_;
  std::function<bool()> go_on_;
  std::uint64_t instants_ = 0;
  bool stopped_ = false;
  std::uint64_t fates_[4] = {};
  Tick now_ = 0;
};

}  // namespace carillon::runtime
