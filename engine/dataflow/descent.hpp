// Choices of batches, node by node, at prices of a relaxation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "dataflow/optimum.hpp"
#include "dataflow/relaxation.hpp"

namespace carillon::dataflow {

/// Takes nodes in their order and gives each an option; keeps the best choice that it has met.
class Descent {
 public:
  Descent(const Graph& graph, const Options& options, const Relaxation& relaxation, Machine machine,
          double bound_ns);

  /// Each node's cheapest option after what feeds it, with several levels of prices, which learn
  /// from each choice how long its paths are.
  void dive(Relaxed relaxed, Shortest shortest, int levels);

  /// All choices whose shortest period is this one, unless no better can come of them. False if the
  /// graph has too many nodes, or it would be more than `most_steps` in all.
  bool exhaust(const Relaxed& relaxed, double shortest, double gap, std::uint64_t most_steps);

  /// Its utilization is infinite while none is known.
  const Choice& best() const { return best_; }
  std::uint64_t steps() const { return steps_; }

 private:
  using Chosen = std::vector<std::size_t>;  // of each node: the place of its option
  class Exhaustive;

  double waiting(NodeId node, std::size_t option, const Chosen& chosen, const Prices& prices) const;
  Chosen at_prices(const Relaxed& relaxed, const Prices& prices) const;
  std::optional<Latency> judge(const Chosen& chosen);
  void improve();
  bool related(NodeId node, double period) const;

  const Graph& graph_;
  const Options& options_;
  const Relaxation& relaxation_;
  Machine machine_;
  double bound_;
  Choice best_;
  Chosen best_options_;
  std::uint64_t steps_ = 0;
};

}  // namespace carillon::dataflow
