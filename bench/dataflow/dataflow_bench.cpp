// Bounds of a graph of 200 nodes, a search for its batches, and events of the simulator.
#include <cmath>
#include <string>

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

void run(bench::Bench& bench) {
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
