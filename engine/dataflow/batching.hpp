// How many executions of a node make one job.
#pragma once

#include <cstdint>
#include <vector>

#include "dataflow/latency.hpp"

namespace carillon::dataflow {

/// The same batch everywhere: periods and waits grow with it, rates fall.
Batches uniform(const Graph& graph, std::uint64_t batch);

/// Job-level batching, "Rate-Exploiting Batching": a node before a rate drop is batched up to the
/// drop, so that what follows keeps its rate; all that times `batch`. From the sinks on, each node
/// gets the largest batch up to what the next jobs of its successors read, for which no more
/// samples have to arrive before every sink has something to give (samples_to_first_output), and
/// whose jobs end where those of its successors begin.
Batches rate_exploiting(const Graph& graph, std::uint64_t batch);

/// Whether a period is a whole number of others, up to rounding.
bool is_multiple(double period, double of);

/// Batch sizes that a search chooses among, of each node, ascending.
using Candidates = std::vector<std::vector<std::uint64_t>>;

/// All batches whose period is within `bound_ns`, if no node has more than `most` of them. Else
/// those nearest to common periods: `most` that are spread evenly on a logarithmic scale, and as
/// many within a twentieth of `around_ns` if that is given, of those in each place the one that is
/// a multiple of the most nodes' periods.
Candidates candidates_within(const Graph& graph, double bound_ns, std::size_t most = 64,
                             double around_ns = 0);

}  // namespace carillon::dataflow
