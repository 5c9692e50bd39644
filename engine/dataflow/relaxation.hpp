// What no choice of batches can do better than: a Lagrangian relaxation along paths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "dataflow/contention.hpp"
#include "dataflow/options.hpp"
#include "dataflow/prices.hpp"

namespace carillon::dataflow {

/// Of a bound: one whose parts are added in another order is the same. A relaxation may do with
/// somewhat more: a rounding error times a price without limit would forbid what just keeps a
/// bound.
inline constexpr double kRounded = 1 + 1e-12, kRelaxed = 1 + 1e-9;

/// Places of options, the last not included.
struct Span {
  std::size_t first = 0, last = 0;
};

/// For all choices whose shortest period is within a range.
struct Relaxed {
  double least = 0;  ///< no choice that keeps the bound has less utilization; infinite: none does
  Within within;
  Lateness lateness;
  std::vector<std::vector<std::uint8_t>> allowed;  ///< of each node and option: not too long alone
  std::vector<Span> spans;                         ///< of each node: the allowed are among these
  Prices prices;
  Lengths lengths;
  std::vector<double> weights;  ///< of nodes whose jobs are in the way of others
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
/// What cores demand (Contention) is another row of it.
class Relaxation {
 public:
  Relaxation(const Graph& graph, const Options& options, const EdgeTables& edges, Machine machine,
             double bound_ns);

  /// Of choices with no more utilization than `most`. `near` has lengths and prices to begin with.
  /// Ends when the least is at least `enough`.
  Relaxed relax(Shortest shortest, const Relaxed* near, std::size_t rounds, double most,
                double enough) const;
  void weigh(const Relaxed& relaxed, const Prices& prices, Weighed& weighed) const;

  /// What a node adds to the length of a path, at least. ns.
  double length(NodeId node, const Option& option, double late) const;
  const EdgeTables& edges() const { return edges_; }
  /// All options that `weigh` has looked at.
  std::uint64_t steps() const { return steps_; }

 private:
  struct Trial;

  bool is_early(Shortest shortest) const;
  std::vector<std::vector<double>> shortest_until(double from, double late) const;
  bool allow(double from, Relaxed& relaxed) const;
  void weigh_node(NodeId node, const Prices& prices, const Relaxed& relaxed,
                  Weighed& weighed) const;
  void try_prices(const Relaxed& relaxed, Prices prices, Trial& trial) const;
  void line_search(const Relaxed& relaxed, Prices prices, Trial& best) const;
  void learn(const Trial& trial, Relaxed& relaxed) const;

  const Graph& graph_;
  const Options& options_;
  const EdgeTables& edges_;
  Machine machine_;
  double bound_;
  Contention contention_;
  mutable std::uint64_t steps_ = 0;
};

}  // namespace carillon::dataflow
