// Runs a graph in its batches: global earliest deadline first, job by job, by workers that ask for
// work. A job that has begun is not interrupted.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/tick.hpp"
#include "dataflow/blocks/block.hpp"
#include "dataflow/graph.hpp"
#include "dataflow/latency.hpp"
#include "dataflow/ring.hpp"

namespace carillon::dataflow {

struct ExecutorOptions {
  /// Sources deliver at their rates; else as fast as there is room.
  bool paced = true;
  std::uint64_t executions = 0;  ///< of each source; 0: until stop()
};

/// What became of a node's jobs.
struct NodeAccount {
  std::uint64_t jobs = 0, executions = 0;
  Tick busy = 0;              ///< in its block
  Tick longest_response = 0;  ///< from a job's release to its end
  /// Of a sink: the longest from a sample's arrival to the end of the job that was the last to read
  /// something of it; where sources are paced.
  Tick longest_latency = 0;
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

  /// Works on the calling thread until all has been read that the sources have given. As many
  /// threads may as there are cores. A worker that finds nothing to do spins, but while no job is
  /// there it sleeps until a source's next.
  void work() noexcept;
  /// Sources give nothing more. Any thread.
  void stop() noexcept;

  /// While no worker is at work.
  NodeAccount account(NodeId node) const;
  /// Samples of an edge that were too few for an execution when all had ended.
  std::uint64_t left(EdgeId edge) const;

 private:
  struct State;
  enum class Step : std::uint8_t { Wait, Run, End };
  // What a node can do, and for a job: of how many executions.
  struct Chance {
    Step step = Step::Wait;
    std::uint64_t count = 0;
  };

  void connect(const std::vector<Block*>& blocks);
  void check(NodeId node) const;
  Chance look(NodeId node, Tick at) const noexcept;
  Chance look_at_source(const State& state, Tick at) const noexcept;
  bool has_room(const State& state, std::uint64_t count) const noexcept;
  void offer(NodeId node, Tick at) noexcept;
  void publish(NodeId node, std::uint64_t count, Tick at) noexcept;
  void end(NodeId node) noexcept;
  bool any_job() const noexcept;
  std::optional<NodeId> take() noexcept;
  Tick run(NodeId node, Tick start) noexcept;
  void idle(Tick at) noexcept;
  Tick arrival(const State& state) const noexcept;

  const Graph& graph_;
  const ExecutorOptions options_;
  std::vector<std::unique_ptr<State>> states_;
  std::vector<std::size_t> reader_;  // of each edge, in its ring
  std::vector<NodeId> sources_;
  std::vector<std::atomic<std::uint64_t>> ready_;  // a bit for each node
  std::atomic<std::uint32_t> alive_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<Tick> begun_{0};
};

}  // namespace carillon::dataflow
