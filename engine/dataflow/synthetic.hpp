// Graphs drawn at random, for studies and for tests.
#pragma once

#include <cstdint>

#include "dataflow/graph.hpp"

namespace carillon::dataflow {

/// Ranges that a graph is drawn from, evenly unless it says otherwise; both ends are included.
struct SyntheticRanges {
  std::uint32_t least_nodes = 8, most_nodes = 20;
  std::uint64_t least_period_ns = 10'000, most_period_ns = 50'000;  ///< of the source
  double least_initial_ns = 5'300, most_initial_ns = 7'800;
  double least_each_ns = 0.1, most_each_ns = 10.4;  ///< logarithmically
  double joins = 0.25;                              ///< share of nodes with a second input
  double decimates = 0.25;    ///< share of nodes that run at 1/2 to 1/5 of their first input's rate
  double interpolates = 0.0;  ///< share of nodes that run at 2 to 3 times that rate
  double peeks = 0.0;  ///< share of edges whose threshold is up to 3 samples more than is consumed
};

/// One source; each further node reads one or two earlier ones, rather late ones than early ones.
/// The same seed and ranges give the same graph everywhere.
GraphSpec synthetic_graph(std::uint64_t seed, const SyntheticRanges& ranges);

}  // namespace carillon::dataflow
