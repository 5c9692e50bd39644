// What the time along the paths of a graph costs, for a Lagrangian relaxation.
#pragma once

#include <cstddef>
#include <vector>

#include "dataflow/graph.hpp"

namespace carillon::dataflow {

/// How long nodes and edges are, in ns: the average of what has been tried.
struct Lengths {
  std::vector<double> nodes, edges;
  std::size_t rounds = 0;  ///< that it is the average of

  explicit Lengths(const Graph& graph) : nodes(graph.size()), edges(graph.edges().size()) {}
  void learn(const std::vector<double>& of_nodes, const std::vector<double>& of_edges);
};

/// Utilization for each ns.
struct Prices {
  double total = 0;             ///< of all paths
  std::vector<double> through;  ///< of each node: of the paths through it
  std::vector<double> along;    ///< of each edge

  void scale(double by);
};

/// Paths from sources to sinks share the total by exp(length·rounds / 4 bound): multiplicative
/// weights. Linear in nodes and edges.
Prices prices_of(const Graph& graph, const Lengths& lengths, double bound_ns, double total);

}  // namespace carillon::dataflow
