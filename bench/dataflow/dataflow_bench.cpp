// Bounds of a graph of 200 nodes, a search for its batches, events of the simulator, and jobs that
// run.
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "dataflow/batching.hpp"
#include "dataflow/executor.hpp"
#include "dataflow/optimum.hpp"
#include "dataflow/simulation.hpp"
#include "dataflow/synthetic.hpp"
#include "support/bench.hpp"

namespace {

using namespace carillon;
using namespace carillon::dataflow;

Graph graph_of(std::uint32_t nodes) {
  SyntheticRanges ranges;
  ranges.least_nodes = ranges.most_nodes = nodes;
  ranges.decimates = 0.02;
  return Graph(synthetic_graph(1, ranges));
}

// What a job costs that computes nothing: a chain of single executions, as fast as it goes.
struct Nothing final : Block {
  explicit Nothing(Ports ports) : Block(std::move(ports)) {}
  void execute(const float* const*, float*, std::size_t) noexcept override {}
};

void run_executor(bench::Bench& bench) {
  constexpr std::uint32_t kNodes = 10;
  constexpr std::uint64_t kExecutions = 20'000;
  GraphSpec spec;
  std::vector<std::unique_ptr<Nothing>> nothing;
  std::vector<Block*> blocks;
  for (NodeId node = 0; node < kNodes; ++node) {
    spec.nodes.push_back({"node " + std::to_string(node), {}, {}});
    if (node > 0) spec.edges.push_back({node - 1, node, 1, 1, 1});
    Ports ports;
    if (node > 0) ports.inputs.push_back({Items::Real});
    if (node + 1 < kNodes) ports.output = {Items::Real};
    nothing.push_back(std::make_unique<Nothing>(std::move(ports)));
    blocks.push_back(nothing.back().get());
  }
  spec.nodes[0].rate = {1'000'000, 1};
  const std::vector<std::uint64_t> executions(kNodes, kExecutions);
  const Graph graph(spec);
  for (const std::size_t workers : {1U, 2U})
    bench.time({.kernel = "execute",
                .shape = std::to_string(workers) + (workers == 1 ? " worker" : " workers"),
                .per = "job and worker",
                .items = static_cast<double>(kNodes * kExecutions) / static_cast<double>(workers)},
               [&] {
                 Executor executor(graph, uniform(graph, 1), blocks,
                                   {.paced = false, .executions = executions, .workers = 2});
                 std::thread second;
                 if (workers > 1) second = std::thread(&Executor::work, &executor, 1);
                 executor.work();
                 if (second.joinable()) second.join();
                 if (executor.account(kNodes - 1).jobs != kExecutions) std::abort();
               });
}

void run(bench::Bench& bench) {
  run_executor(bench);
  const Graph graph = graph_of(200);
  const Batches batches = uniform(graph, 8);
  const Machine machine{
      static_cast<std::uint32_t>(std::ceil(utilization(tasks_of(graph, batches)))), true};
  bench.time({.kernel = "all bounds", .shape = "200 nodes", .per = "graph"}, [&] {
    if (latency_of(graph, batches, machine).bound <= 0) std::abort();
  });
  const double bound = latency_of(graph, batches, machine).bound;
  const Candidates candidates = candidates_within(graph, bound);
  bench.time({.kernel = "least utilization", .shape = "200 nodes", .per = "graph"}, [&] {
    const Choice found =
        least_utilization(graph, {machine, bound}, candidates, {.gap = 0.02, .ranges = 150});
    if (found.batches.empty()) std::abort();
  });
  bench.time({.kernel = "least bound", .shape = "200 nodes", .per = "graph"}, [&] {
    const Choice found = least_bound(graph, {machine, bound}, 64, {.gap = 0.02, .ranges = 150});
    if (found.batches.empty()) std::abort();
  });
  const Graph small = graph_of(20);
  const Batches four = uniform(small, 4);
  const Timeline timeline = timeline_of(small, four);
  const SimulationOptions options{
      {static_cast<std::uint32_t>(std::ceil(utilization(tasks_of(small, four)))), true},
      static_cast<std::int64_t>(1e7 / timeline.unit_ns)};
  const Simulated once = simulate(timeline.workload, options);
  bench.time({.kernel = "simulate",
              .shape = "20 nodes",
              .per = "event",
              .items = static_cast<double>(once.events)},
             [&] {
               if (simulate(timeline.workload, options).events != once.events) std::abort();
             });
}

const bench::Group group("dataflow", run);

}  // namespace
