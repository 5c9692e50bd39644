// Choices of batches, node by node, at prices of a relaxation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataflow/climb.hpp"
#include "dataflow/optimum.hpp"
#include "dataflow/relaxation.hpp"

namespace carillon::dataflow {

/// Takes nodes in their order and gives each an option; keeps the best choice that it has met.
class Descent {
 public:
  static constexpr std::uint32_t kMostNodes = 24;  ///< for which all choices are looked at

  Descent(const Graph& graph, const Options& options, const Relaxation& relaxation, Machine machine,
          double bound_ns);

  /// Each node's cheapest option after what feeds it, with several levels of prices, which learn
  /// from each choice how long its paths are.
  void dive(Relaxed relaxed, int levels);
  /// Larger batches from the best that the last dive has met.
  void climb();
  /// Larger batches from the best choices with the same period everywhere.
  void begin(const std::vector<double>& periods);
  /// A choice that is known.
  void adopt(const Batches& batches);

  /// All choices whose shortest period is this one, unless no better can come of them. False if the
  /// graph has too many nodes, or it would be more than `most_steps` in all.
  bool exhaust(const Relaxed& relaxed, double shortest, double gap, std::uint64_t most_steps);

  /// Its utilization is infinite while none is known.
  const Choice& best() const { return best_; }
  std::uint64_t steps() const { return steps_ + graph_.size() * climb_.evaluations(); }

 private:
  class Exhaustive;

  double waiting(NodeId node, std::size_t option, const Chosen& chosen, const Prices& prices) const;
  Chosen at_prices(const Relaxed& relaxed, const Prices& prices) const;
  bool judge(const Chosen& chosen);

  const Graph& graph_;
  const Options& options_;
  const Relaxation& relaxation_;
  Machine machine_;
  double bound_;
  Evaluation evaluation_;
  Climb climb_;
  Choice best_;
  Chosen met_;  // the best of the last dive; empty: none
  std::uint64_t steps_ = 0;
};

}  // namespace carillon::dataflow
