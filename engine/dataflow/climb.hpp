// Larger batches, node by node, from a choice that keeps a bound.
#pragma once

#include "dataflow/evaluation.hpp"

namespace carillon::dataflow {

/// Local search: as long as some larger batch of a node, or of a node and all that is behind it,
/// keeps the bound.
class Climb {
 public:
  Climb(const Graph& graph, const Options& options, Evaluation& evaluation, double bound_ns);

  /// Less utilization, of a choice that keeps the bound.
  Chosen from(Chosen chosen);
  /// A shorter bound, by larger batches, which leave cores room, and smaller ones.
  Chosen shorter(Chosen chosen);
  /// The choice whose periods are the shortest multiples of one; empty if a node has none.
  Chosen at_period(double period) const;
  std::uint64_t evaluations() const { return evaluations_; }

 private:
  Chosen search(Chosen chosen);
  bool pass(Chosen& chosen);
  bool better() const;
  bool vary(NodeId node, bool behind, Chosen& chosen);
  bool change(NodeId node, double period, bool behind, const Chosen& chosen);
  bool accept(Chosen& chosen);
  bool related(NodeId node, double period, const Chosen& chosen) const;

  const Graph& graph_;
  const Options& options_;
  Evaluation& evaluation_;
  double bound_;
  std::vector<std::vector<NodeId>> behind_;  // each node: it and all that it feeds
  double known_ = 0;                         // of the choice: what is to become less
  bool by_bound_ = false;                    // that is its bound, else its utilization
  Chosen instead_;
  std::uint64_t left_ = 0, evaluations_ = 0;
};

}  // namespace carillon::dataflow
