// How long the paths of a choice are, many times a search.
#pragma once

#include <vector>

#include "dataflow/options.hpp"

namespace carillon::dataflow {

/// Of each node: the place of its option.
using Chosen = std::vector<std::size_t>;

/// Evaluates one choice after another in the same memory. The bound is latency_of's, or below it
/// where spreads of several paths differ: what keeps a bound here is to be looked at once more.
class Evaluation {
 public:
  Evaluation(const Graph& graph, const Options& options, const EdgeTables& edges, Machine machine);

  /// False if the cores do not suffice; then only the utilization is known.
  bool evaluate(const Chosen& chosen);

  double utilization() const { return utilization_; }
  double bound() const { return bound_; }
  const std::vector<double>& responses() const { return responses_; }
  const std::vector<double>& waits() const { return waits_; }  ///< of edges

 private:
  const Graph& graph_;
  const Options& options_;
  const EdgeTables& edges_;
  Machine machine_;
  double utilization_ = 0, bound_ = 0;
  std::vector<Task> tasks_;
  std::vector<double> responses_, waits_, until_;
};

}  // namespace carillon::dataflow
