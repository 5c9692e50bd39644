// The batches of least utilization that keep an end-to-end bound, with a proof.
#pragma once

#include <cstdint>

#include "dataflow/batching.hpp"

namespace carillon::dataflow {

/// What a choice of batches has to keep.
struct Demand {
  Machine machine;
  double bound_ns = 0;  ///< end to end, at most
};

struct SearchLimits {
  double gap = 1e-9;  ///< over the least utilization; within that a choice is as good as any
  std::uint32_t ranges = 4000;       ///< of shortest periods that are looked into
  std::uint64_t steps = 2000000000;  ///< options that are looked at one by one
};

/// What a search has found.
struct Choice {
  Batches batches;         ///< empty: none is known that keeps the demand
  double utilization = 0;  ///< of these
  double bound_ns = 0;
  double least = 0;  ///< proven: no choice among the candidates has less; infinite: none is there
  bool proven = false;  ///< utilization and least are within the gap, or there is proven to be none
  std::uint64_t steps =
      0;  ///< options looked at, in relaxations and choices: the work, on any machine
};

/// Branch and bound: first over ranges of the shortest period of all nodes, the one of the lowest
/// relaxation first, which is halved; then, in graphs of up to 24 nodes, over nodes in their order,
/// where a partial choice is given up when its release, response and shortest way to a sink
/// exceed the bound, or when prices of the relaxation say that it cannot be better. The same
/// input gives the same choice everywhere.
Choice least_utilization(const Graph& graph, const Demand& demand, const Candidates& candidates,
                         const SearchLimits& limits = {});

/// The same among candidates_within the bound, twice: the second time with more of them around the
/// periods of the first choice.
Choice least_utilization(const Graph& graph, const Demand& demand, std::size_t most,
                         const SearchLimits& limits = {});

/// The least end-to-end bound for which least_utilization finds a choice, up to a thousandth or the
/// gap, and that choice. `demand.bound_ns` is the most that is looked at.
Choice least_bound(const Graph& graph, const Demand& demand, const Candidates& candidates,
                   const SearchLimits& limits = {});

/// The same among candidates_within the bound, and then within that of the first choice.
Choice least_bound(const Graph& graph, const Demand& demand, std::size_t most,
                   const SearchLimits& limits = {});

}  // namespace carillon::dataflow
