// A graph with its threads: starts the blocks' devices and a worker on each core, watches over
// them, and closes what was opened.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/thread.hpp"
#include "dataflow/executor.hpp"

namespace carillon::dataflow {

/// Who runs what.
enum class Threads : std::uint8_t {
  Workers,  ///< one on each core, by earliest deadline first
  Blocks,   ///< one for each node, as the system wants
  Deadline  ///< one for each node under SCHED_DEADLINE, with its budget in each of its periods
};

struct RunnerOptions {
  Threads threads = Threads::Workers;
  std::vector<std::uint32_t> cores = {};  ///< a worker on each; empty: one, where the system wants
  int priority = 0;                       ///< SCHED_FIFO's, 1 to 99; 0: an ordinary thread
};

class Runner {
 public:
  /// As the Executor's, which is given a worker for each core.
  Runner(const Graph& graph, const Batches& batches, std::vector<std::shared_ptr<Block>> blocks,
         ExecutorOptions execution, RunnerOptions options);
  /// Stops, and waits for the workers.
  ~Runner();

  /// Starts all devices, then the workers. Throws std::runtime_error of the first device that does
  /// not start, with "node: " before it; what had started is closed.
  void start();
  void stop() noexcept { executor_.stop(); }
  /// Whether all that the sources gave has been worked off. To be asked now and then: it looks for
  /// devices that have failed, and stops the run then.
  bool ended();
  /// Waits for the workers and closes all devices; what holds up the end for a second without
  /// taking anything is abandoned. What went wrong with devices: "node: why".
  std::vector<std::string> finish();

  Executor& executor() { return executor_; }
  const Block& block(NodeId node) const { return *blocks_[node]; }
  /// CPU time of each worker, by the kernel's account; when they have ended.
  const std::vector<Tick>& cpu_times() const { return cpu_times_; }
  /// What workers were not granted: "worker 0: …"; when they have ended.
  std::vector<std::string> complaints() const;

 private:
  void work(std::size_t worker);
  void wait_for_workers();
  Attempt be_granted(std::size_t worker) const;

  const Graph& graph_;
  const Batches batches_;
  const std::vector<double> budgets_;
  std::vector<std::shared_ptr<Block>> blocks_;
  const RunnerOptions options_;
  Executor executor_;
  std::vector<std::string> complaints_;  // of each worker
  std::vector<Tick> cpu_times_;
  std::vector<std::string> failures_;
  std::vector<std::thread> workers_;
  std::size_t started_ = 0;  // devices
};

}  // namespace carillon::dataflow
