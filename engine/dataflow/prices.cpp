#include "dataflow/prices.hpp"

#include <algorithm>
#include <cmath>

namespace carillon::dataflow {

void Prices::scale(double by) {
  total *= by;
  for (double& price : through) price *= by;
  for (double& price : along) price *= by;
}

void Lengths::learn(const std::vector<double>& of_nodes, const std::vector<double>& of_edges) {
  const double share = 1 / static_cast<double>(++rounds);
  const auto learn = [&](double known, double now) { return known + share * (now - known); };
  std::ranges::transform(nodes, of_nodes, nodes.begin(), learn);
  std::ranges::transform(edges, of_edges, edges.begin(), learn);
}

Prices prices_of(const Graph& graph, const Lengths& lengths, double bound_ns, double total) {
  const double temperature = 4 * bound_ns / static_cast<double>(lengths.rounds + 1);
  // Of each node: log Σ exp of all paths up to its end. The sinks' sum is that of all paths.
  std::vector<double> logs(graph.size(), 0);
  const auto along = [&](EdgeId e) {
    return logs[graph.edges()[e].from] + lengths.edges[e] / temperature;
  };
  double longest = 0, all = 0;
  for (const NodeId v : graph.order()) {
    double most = 0, sum = 0;
    for (const EdgeId e : graph.inputs(v)) most = std::max(most, along(e));
    for (const EdgeId e : graph.inputs(v)) sum += std::exp(along(e) - most);
    logs[v] = lengths.nodes[v] / temperature + (sum > 0 ? most + std::log(sum) : 0);
    if (graph.is_sink(v)) longest = std::max(longest, logs[v]);
  }
  for (NodeId v = 0; v < graph.size(); ++v)
    if (graph.is_sink(v)) all += std::exp(logs[v] - longest);
  Prices prices{total, std::vector<double>(graph.size()),
                std::vector<double>(graph.edges().size())};
  for (std::size_t i = graph.size(); i-- > 0;) {
    const NodeId v = graph.order()[i];
    if (graph.is_sink(v)) prices.through[v] = total * std::exp(logs[v] - longest) / all;
    const double before = logs[v] - lengths.nodes[v] / temperature;
    for (const EdgeId e : graph.inputs(v)) {
      prices.along[e] = prices.through[v] * std::exp(along(e) - before);
      prices.through[graph.edges()[e].from] += prices.along[e];
    }
  }
  return prices;
}

}  // namespace carillon::dataflow
