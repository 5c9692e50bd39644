// Runs a graph in its batches: global earliest deadline first, job by job, by workers that ask for
// work. A job that has begun is not interrupted.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "base/tick.hpp"
#include "dataflow/blocks/block.hpp"
#include "dataflow/graph.hpp"
#include "dataflow/journal.hpp"
#include "dataflow/latency.hpp"
#include "dataflow/node_state.hpp"

namespace carillon::dataflow {

struct ExecutorOptions {
  /// Sources deliver at their rates, live ones when they have something; else all as fast as there
  /// is room.
  bool paced = true;
  std::vector<std::uint64_t> executions = {};  ///< of each source; none, or 0: until stop()
  std::size_t workers = 1;                     ///< at most
  /// Worker n runs node n alone, as many of them as there are nodes: the system decides whose turn
  /// it is.
  bool worker_for_each = false;
  /// ns that a batch of each node is planned to take; none: nothing is planned.
  std::vector<double> budgets = {};
  Tick bound = 0;            ///< of a sample's latency; 0: none
  std::size_t changes = 64;  ///< that can wait at each node
};

class Executor {
 public:
  /// `graph` and `blocks`, one of each node, outlive it. Throws std::invalid_argument where a block
  /// does not read and write what the graph's edges say, std::system_error where there is no
  /// memory.
  Executor(const Graph& graph, const Batches& batches, const std::vector<Block*>& blocks,
           const ExecutorOptions& options);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Works on the calling thread until all has been read that the sources have given; a source
  /// whose readers have all ended gives nothing more. A worker that finds nothing to do sleeps
  /// until a source's next job is due, or until another worker has more than it can run at once.
  void work(std::size_t worker = 0) noexcept;
  /// Sources give nothing more. Any thread.
  void stop() noexcept;
  /// Has a parameter of a node changed. False: so many changes of it wait that there is no room.
  /// Any thread, one at a time.
  bool change(NodeId node, const Change& change) { return states_.at(node)->changes.add(change); }

  /// Sorts the changes that wait, before a worker does. Before any begins.
  void prepare() noexcept {
    for (const auto& state : states_) state->changes.next(0);
  }

  /// At any time.
  NodeAccount account(NodeId node) const { return states_[node]->account(); }
  /// Samples in a ring, of so many.
  std::uint64_t filled(NodeId node) const;
  std::uint64_t capacity(NodeId node) const;
  bool ended() const noexcept { return alive_.load() == 0; }
  /// Executions of all nodes, and whether a job is ready or runs.
  std::uint64_t executed() const noexcept;
  bool at_work() const noexcept;
  /// When the sources began; 0: not yet.
  Tick begun() const noexcept { return begun_.load(); }
  /// Since then, up to the end of the last node.
  Tick elapsed() const noexcept;
  /// While no worker is at work.
  Lateness lateness() const;
  /// What is known of standstills, overruns and late jobs; and how many standstills there were.
  std::vector<EventRecord> events() const;
  std::uint64_t standstills() const noexcept;
  const Histogram& latencies(NodeId sink) const { return states_[sink]->latencies; }
  std::span<const std::unique_ptr<Journal>> journals() const { return journals_; }
  /// Samples of an edge that were too few for an execution when all had ended.
  std::uint64_t left(EdgeId edge) const;

 private:
  enum class Step : std::uint8_t { Wait, Run, End };
  // What a node can do, and for a job: of how many executions.
  struct Chance {
    Step step = Step::Wait;
    std::uint64_t count = 0;
    std::uint64_t there = 0;  // executions for which its device has samples, or room
  };
  static constexpr Tick kNever = std::numeric_limits<Tick>::max();

  void connect(const std::vector<Block*>& blocks);
  void check(NodeId node) const;
  Chance look(NodeId node, Tick at, bool asks) const noexcept;
  std::uint64_t next_count(NodeId node) const noexcept;
  Tick due(const NodeState& state, std::uint64_t count) const noexcept;
  Chance look_at_source(NodeId node, Tick at) const noexcept;
  static Chance look_at_feeds(const NodeState& state) noexcept;
  void ask_device(const NodeState& state, Chance& chance) const noexcept;
  bool find_job(NodeId node, Tick at) noexcept;
  void offer(NodeId node, Tick at) noexcept;
  void offer_neighbours(NodeId node, Tick at) noexcept;
  void release(NodeId node, const Chance& chance, Tick at) noexcept;
  void publish(NodeId node) noexcept;
  void end(NodeId node) noexcept;
  bool any_ready() const noexcept;
  NodeId take(Tick at) noexcept;
  Tick run(NodeId node, Tick start, Journal& journal) noexcept;
  NodeId follow(NodeId node, Tick at) noexcept;
  void judge(NodeState& state, NodeId node, Tick start, Tick end, Tick arrived,
             Journal& journal) const noexcept;
  bool is_own_doing(NodeId node) const noexcept;
  Tick next_due(NodeId node, Tick at) const noexcept;
  Tick next_due(Tick at) const noexcept;
  Tick next_look(Tick due, Tick at) const noexcept;
  void idle(Tick at, Tick last_job, Journal& journal) noexcept;
  bool needs_another(NodeId node, Tick at) const noexcept;
  void wake(int sleepers) noexcept;
  void share(Journal& journal) noexcept;
  void serve(NodeId node) noexcept;
  void wake_own(NodeState& state) const noexcept;

  const Graph& graph_;
  const ExecutorOptions options_;
  std::vector<std::unique_ptr<NodeState>> states_;
  std::vector<NodeId> polled_;                     // sources, and sinks with a device
  std::vector<std::atomic<std::uint64_t>> ready_;  // a bit for each node
  std::vector<std::unique_ptr<Journal>> journals_;
  bool devices_ = false;
  std::atomic<std::uint32_t> alive_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<Tick> begun_{0}, last_end_{0};
  std::atomic<std::uint32_t> asleep_{0}, called_{0};  // workers that sleep; a futex's word
  std::atomic<Tick> call_{0};                         // when it was last changed
  std::atomic<Tick> watched_{kNever};                 // a sleeper is up by then
};

}  // namespace carillon::dataflow
