#include "dataflow/latency.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace carillon::dataflow {
namespace {

using Wide = unsigned __int128;

// Of an edge between batches.
struct Batched {
  Wide produce, threshold, consume;

  Batched(const Edge& edge, std::uint64_t from, std::uint64_t to)
      : produce(Wide{from} * edge.produce),
        threshold(Wide{to - 1} * edge.consume + edge.threshold),
        consume(Wide{to} * edge.consume) {}
  Batched(const Edge& edge, const Batches& batches)
      : Batched(edge, batches[edge.from], batches[edge.to]) {}
};

// Divisions of 128 bits are slow, and hardly ever needed.
Wide common_divisor(Wide a, Wide b) {
  while (a > ~std::uint64_t{0} || b > ~std::uint64_t{0}) {
    if (b == 0) return a;
    a = std::exchange(b, a % b);
  }
  return std::gcd(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
}

Wide remainder(Wide a, Wide b) {
  if (a > ~std::uint64_t{0} || b > ~std::uint64_t{0}) return a % b;
  return static_cast<std::uint64_t>(a) % static_cast<std::uint64_t>(b);
}

// Jobs of `from` before that which lets `to` begin.
double jobs_to_first(const Edge& edge, const Batches& batches) {
  const Batched b(edge, batches);
  return static_cast<double>((b.threshold + b.produce - 1) / b.produce - 1);
}

// The longest paths from sources, in ns, and where they come from.
struct Paths {
  std::vector<double> until;
  std::vector<EdgeId> through;

  template <typename AtSource, typename Along>
  Paths(const Graph& graph, AtSource&& at_source, Along&& along)
      : until(graph.size()), through(graph.size(), kNone) {
    for (const NodeId v : graph.order()) {
      if (graph.is_source(v)) until[v] = at_source(v);
      for (const EdgeId e : graph.inputs(v)) {
        const double there = until[graph.edges()[e].from] + along(e);
        if (through[v] != kNone && there <= until[v]) continue;
        until[v] = there;
        through[v] = e;
      }
    }
  }
};

void trace(const Graph& graph, const Paths& paths, NodeId sink, Latency& to) {
  for (NodeId v = sink;; v = graph.edges()[paths.through[v]].from) {
    to.critical.push_back(v);
    to.responding += to.responses[v];
    if (paths.through[v] == kNone) break;
  }
  std::ranges::reverse(to.critical);
}

// Samples that an edge can hold: a node is never ahead of the rate, and behind it by at most its
// release and response; what is in the making counts as well. Saturates.
std::uint64_t buffer(const Graph& graph, EdgeId e, const Batches& batches, const Latency& found,
                     const std::vector<double>& earliest) {
  const Edge& edge = graph.edges()[e];
  const double behind = found.release[edge.to] + found.responses[edge.to] - earliest[edge.from];
  const double rate = static_cast<double>(edge.produce) / graph.period(edge.from);
  const double made = static_cast<double>(batches[edge.from]) * static_cast<double>(edge.produce);
  const double most = std::ceil(made + behind * rate * (1 + 1e-9));
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  return most < static_cast<double>(kMost) ? static_cast<std::uint64_t>(most) : kMost;
}

}  // namespace

double wait(const Edge& edge, std::uint64_t from, std::uint64_t to) {
  const Batched b(edge, from, to);
  const Wide g = common_divisor(b.produce, b.consume);
  const Wide rest = remainder(b.threshold, g);
  const Wide over = rest == 0 ? 0 : g - rest;
  return static_cast<double>(b.threshold + over - g) / static_cast<double>(edge.produce);
}

double spread(const Edge& edge) {
  const std::uint64_t out = edge.produce - std::gcd(edge.produce, edge.consume);
  return static_cast<double>(out) / static_cast<double>(edge.produce);
}

std::vector<Task> tasks_of(const Graph& graph, const Batches& batches) {
  std::vector<Task> tasks;
  tasks.reserve(graph.size());
  for (NodeId v = 0; v < graph.size(); ++v)
    tasks.push_back(
        {graph.period(v) * static_cast<double>(batches[v]), graph.nodes()[v].cost.of(batches[v])});
  return tasks;
}

std::uint64_t samples_to_first_output(const Graph& graph, const Batches& batches) {
  constexpr Wide most = ~std::uint64_t{0};
  std::vector<Wide> jobs(graph.size(), 1);
  Wide samples = 1;
  for (std::size_t i = graph.size(); i-- > 0;) {
    const NodeId u = graph.order()[i];
    for (const EdgeId e : graph.outputs(u)) {
      const Batched b(graph.edges()[e], batches);
      const Wide needed = b.threshold + (jobs[graph.edges()[e].to] - 1) * b.consume;
      jobs[u] = std::max(jobs[u], std::min(most, (needed + b.produce - 1) / b.produce));
    }
    if (graph.is_source(u)) samples = std::max(samples, std::min(most, jobs[u] * batches[u]));
  }
  return static_cast<std::uint64_t>(samples);
}

std::string unbounded(const Graph& graph, const Batches& batches, Machine machine) {
  const std::vector<Task> tasks = tasks_of(graph, batches);
  const auto cores = [](double u) {
    std::string text = std::to_string(u);
    return text.substr(0, text.find('.') + 3);
  };
  for (NodeId v = 0; v < graph.size(); ++v)
    if (!is_bounded(std::span(tasks).subspan(v, 1), 1))
      return "node " + graph.nodes()[v].name + " needs " + cores(tasks[v].utilization()) +
             " cores in batches of " + std::to_string(batches[v]) +
             ", and a node runs on one at a time";
  if (!is_bounded(tasks, machine.cores))
    return "all nodes need " + cores(utilization(tasks)) + " cores, and there are " +
           std::to_string(machine.cores);
  return "";
}

Latency latency_of(const Graph& graph, const Batches& batches, Machine machine) {
  return latency_of(graph, batches, response_bounds(tasks_of(graph, batches), machine));
}

Latency latency_of(const Graph& graph, const Batches& batches, std::vector<double> responses) {
  Latency found;
  found.tasks = tasks_of(graph, batches);
  found.utilization = utilization(found.tasks);
  found.responses = std::move(responses);
  const auto first = [&](NodeId v) {
    return static_cast<double>(batches[v] - 1) * graph.period(v);
  };
  for (const Edge& edge : graph.edges())
    found.waits.push_back(wait(edge, batches[edge.from], batches[edge.to]) *
                          graph.period(edge.from));
  const auto released = [&](EdgeId e) {
    return found.responses[graph.edges()[e].from] + found.waits[e];
  };
  const Paths paths(graph, first, released);
  // Nobody takes any time; jobs are a period apart in any case.
  const auto filled = [&](EdgeId e) {
    const Edge& edge = graph.edges()[e];
    return jobs_to_first(edge, batches) * found.tasks[edge.from].period;
  };
  const std::vector<double> earliest = Paths(graph, first, filled).until;
  const Paths spreads(
      graph, [](NodeId) { return 0.0; },
      [&](EdgeId e) { return spread(graph.edges()[e]) * graph.period(graph.edges()[e].from); });
  found.release = paths.until;
  NodeId worst = kNone;
  for (NodeId v = 0; v < graph.size(); ++v) {
    if (!graph.is_sink(v)) continue;
    const double bound = paths.until[v] + found.responses[v] + spreads.until[v];
    if (worst != kNone && bound <= found.bound) continue;
    found.bound = bound;
    found.spreading = spreads.until[v];
    worst = v;
  }
  trace(graph, paths, worst, found);
  found.filling = found.bound - found.responding - found.spreading;
  for (EdgeId e = 0; e < graph.edges().size(); ++e)
    found.buffers.push_back(buffer(graph, e, batches, found, earliest));
  return found;
}

}  // namespace carillon::dataflow
