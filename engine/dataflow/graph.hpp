// A processing graph (PGM: Goddard, UNC TR98-027): nodes that execute when enough has arrived.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "dataflow/cost.hpp"
#include "dataflow/ratio.hpp"

namespace carillon::dataflow {

using NodeId = std::uint32_t;
using EdgeId = std::uint32_t;
inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

struct Node {
  std::string name;
  Cost cost;   ///< of a batch of executions
  Ratio rate;  ///< of a source: samples a second, each one execution; zero: it has inputs
};

/// An execution of `from` puts `produce` samples on it; one of `to` waits for `threshold` and takes
/// `consume` of them away.
struct Edge {
  NodeId from = 0, to = 0;
  std::uint64_t produce = 1, threshold = 1, consume = 1;
};

/// A graph as somebody wrote it.
struct GraphSpec {
  std::vector<Node> nodes;
  std::vector<Edge> edges;
};

/// What is wrong with one, and where: a node, an edge, or neither (kNone).
struct GraphProblem {
  NodeId node = kNone;
  EdgeId edge = kNone;
  std::string message;
};

/// That a node executes x times in every y ticks.
struct Execution {
  std::uint64_t x = 0, y = 0;
};

/// One whose rates are consistent: no cycle, every node behind a source.
class Graph {
 public:
  /// Empty if a Graph can be made of it. Time and space are linear in nodes and edges.
  static std::vector<GraphProblem> problems(const GraphSpec& spec);

  /// Throws std::invalid_argument with the first of the problems.
  explicit Graph(GraphSpec spec);

  std::span<const Node> nodes() const { return spec_.nodes; }
  std::span<const Edge> edges() const { return spec_.edges; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(spec_.nodes.size()); }
  /// Every node after those that feed it.
  std::span<const NodeId> order() const { return order_; }
  std::span<const EdgeId> inputs(NodeId node) const { return links(inputs_, node); }
  std::span<const EdgeId> outputs(NodeId node) const { return links(outputs_, node); }
  bool is_source(NodeId node) const { return inputs(node).empty(); }
  bool is_sink(NodeId node) const { return outputs(node).empty(); }

  /// Executions a second, one by one.
  Ratio rate(NodeId node) const { return rates_[node]; }
  /// ns from one execution to the next.
  double period(NodeId node) const {
    return 1e9 * static_cast<double>(rates_[node].denominator) /
           static_cast<double>(rates_[node].numerator);
  }
  /// y_v = lcm over u of κ·y_u / gcd(ρ·x_u, κ), x_v = y_v·ρ·x_u / (κ·y_u).
  Execution execution(NodeId node) const { return executions_[node]; }
  /// Ticks a second: such that the period of each source is a whole number of them.
  Ratio ticks() const { return ticks_; }

  /// Nodes' ends, in one array for all.
  struct Links {
    std::vector<std::uint32_t> first;  ///< of each node, and the end of the last
    std::vector<EdgeId> edges;
  };

 private:
  struct Derived;

  static std::span<const EdgeId> links(const Links& all, NodeId node) {
    return std::span(all.edges).subspan(all.first[node], all.first[node + 1] - all.first[node]);
  }

  GraphSpec spec_;
  Links inputs_, outputs_;
  std::vector<NodeId> order_;
  std::vector<Ratio> rates_;
  std::vector<Execution> executions_;
  Ratio ticks_;
};

}  // namespace carillon::dataflow
