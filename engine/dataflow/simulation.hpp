// Global earliest deadline first, job by job, in exact time: what bounds are held against.
#pragma once

#include <cstdint>
#include <vector>

#include "dataflow/graph.hpp"
#include "dataflow/latency.hpp"

namespace carillon::dataflow {

/// A task set or graph in whole units of time.
struct SimulatedTask {
  std::int64_t period = 1, cost = 0;
  std::int64_t point = 1;  ///< what gives a job its priority: so long after its release
  std::int64_t first = 0;  ///< of a task without inputs: when its first job is released
};

struct Workload {
  std::vector<SimulatedTask> tasks;
  std::vector<Edge> edges;  ///< between batches: ρ', τ', κ'
};

struct SimulationOptions {
  Machine machine;
  std::int64_t until = 0;  ///< releases of tasks without inputs end before that time
  std::uint64_t seed = 1;
  double least_cost = 1;  ///< costs are drawn evenly from that share of the cost to all of it
  double most_delay =
      0;  ///< releases of tasks without inputs are delayed by up to that share of a period
};

struct Simulated {
  std::vector<std::int64_t> response;  ///< of each task: the longest from release to end
  std::vector<std::uint64_t>
      most;  ///< of each edge: samples in it, and in jobs that read or make them
  std::vector<std::vector<std::int64_t>>
      ends;                  ///< of each task without outputs: when each job ended
  std::uint64_t events = 0;  ///< releases and ends of jobs
  std::uint64_t preempted = 0;
};

/// A task's jobs run one after another. Without inputs they are released a period apart; else job k
/// is released when its samples are there, but not before a period after job k - 1. The earliest
/// priority points run, of equal ones the task of the lower number. All jobs that can be released
/// end.
Simulated simulate(const Workload& workload, const SimulationOptions& options);

/// A graph with its batches in the longest unit in which all periods are whole, or such a fraction
/// of it that a unit is at most `unit_ns`. Costs are rounded down, so that none is exceeded. Throws
/// std::invalid_argument when there is none of 64 bits.
struct Timeline {
  Workload workload;
  double unit_ns = 1;
};
Timeline timeline_of(const Graph& graph, const Batches& batches, double unit_ns = 1);

/// The longest from a sample's arrival to the end of the job that puts out the last of it, over
/// all samples and paths of a graph that was simulated. Units of the timeline.
std::int64_t longest_latency(const Graph& graph, const Batches& batches, const Timeline& timeline,
                             const Simulated& simulated);

}  // namespace carillon::dataflow
