// What no choice of batches can do better than: a Lagrangian relaxation along paths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "dataflow/batching.hpp"
#include "dataflow/prices.hpp"

namespace carillon::dataflow {

/// A batch size that a node may have. Times in ns.
struct Option {
  std::uint64_t batch = 1;
  double period = 0, cost = 0, utilization = 0;
};
using Options = std::vector<std::vector<Option>>;  ///< of each node, by ascending periods

/// Of a bound: one whose parts are added in another order is the same. A relaxation may do with
/// somewhat more: a rounding error times a price without limit would forbid what just keeps a
/// bound.
inline constexpr double kRounded = 1 + 1e-12, kRelaxed = 1 + 1e-9;

/// Those candidates with which a node needs no more than a core.
Options options_of(const Graph& graph, const Candidates& candidates);

/// Shortest periods of a task set that are looked at together. ns.
struct Shortest {
  double from = 0, to = 0;
};

/// For all choices whose shortest period is within a range.
struct Relaxed {
  double least = 0;  ///< no choice that keeps the bound has less utilization; infinite: none does
  double lead = 0;   ///< Relaxation::lead of it. ns
  std::vector<std::vector<std::uint8_t>> allowed;  ///< of each node and option: not too long alone
  Prices prices;
  Lengths lengths;
};

/// All options at some prices. The input of each node whose price is highest makes a tree; of each
/// node and option there is the least of its price and those of all nodes behind it in the tree.
struct Weighed {
  std::vector<EdgeId> parent;                ///< input in the tree; kNone: it has none
  std::vector<std::vector<double>> least;    ///< of each node and option; infinite: not allowed
  std::vector<std::vector<double>> through;  ///< least by the parent's option, its edge included
  double value = 0;                          ///< of all

  /// A node's option of the least sum with what `more` says of it; the number of options if all are
  /// infinite.
  template <typename More>
  std::size_t cheapest(NodeId node, More&& more) const {
    const std::vector<double>& sums = least[node];
    std::size_t found = sums.size();
    double lowest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double sum = sums[i] + more(i);
      if (sum >= lowest) continue;
      lowest = sum;
      found = i;
    }
    return found;
  }
};

/// Prices for the time along paths turn the end-to-end bound into a sum over nodes and edges.
/// Whatever the prices, its least is a lower bound of the utilization, and on a tree that is found
/// exactly, node by node from the sinks on; edges beyond the tree count what they do at least.
/// The prices' total is that of the best lower bound.
///
/// In compliant vectors Σ S = U·q with q the shortest period, and Λ terms are at least
/// u·s - u·e/m each: so s ≥ (U·q - Σ u·e/m)/(m - Σ least u).
class Relaxation {
 public:
  Relaxation(const Graph& graph, const Options& options, Machine machine, double bound_ns);

  /// `near` has lengths and prices to begin with.
  Relaxed relax(Shortest shortest, const Relaxed* near, std::size_t rounds) const;
  Weighed weigh(const Relaxed& relaxed, const Prices& prices) const;

  /// What a node adds to the length of a path, at least. ns.
  double length(NodeId node, const Option& option, double lead) const;
  /// What an edge adds, by options of both ends. ns.
  double length(EdgeId edge, std::size_t from, std::size_t to) const {
    const std::size_t stride = options_[graph_.edges()[edge].from].size();
    return edge_lengths_[edge][to * stride + from];
  }
  /// What it adds whatever the options: what is peeked at and spread.
  double least_length(EdgeId edge) const { return least_lengths_[edge]; }

  /// With so much utilization no response is shorter than period + cost·(1 - 1/m) and that, and
  /// without preemption than period + cost and that. ns
  double lead(Shortest shortest, double utilization) const;

 private:
  double in_the_way(Shortest shortest) const;
  std::vector<std::vector<double>> shortest_until(double from, double lead) const;
  bool allow(double from, Relaxed& relaxed) const;
  void measure_edges();
  void weigh_node(NodeId node, const Prices& prices, Weighed& weighed) const;
  double line_search(const Relaxed& relaxed, Prices& prices) const;
  void learn(const Prices& prices, Relaxed& relaxed) const;

  const Graph& graph_;
  const Options& options_;
  Machine machine_;
  double bound_;
  double least_utilization_ = 0;                   // without any bound
  double slope_ = 0, interference_ = 0;            // s is at least slope·U·q - interference
  std::vector<double> least_lengths_;              // of edges
  std::vector<std::vector<double>> edge_lengths_;  // of each, by both options
};

}  // namespace carillon::dataflow
