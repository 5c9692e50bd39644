// What a batch costs: I + N·Δ, with a marginal cost Δ that may change with N.
#pragma once

#include <cstdint>
#include <vector>

namespace carillon::dataflow {

/// The marginal cost model: job-level batching, "The Marginal Cost Model". A job over `batch`
/// executions takes `initial` and, for each execution, the `each` of the last piece that begins at
/// or before it. Times in ns.
struct Cost {
  struct Piece {
    std::uint64_t from = 1;  ///< the first execution of a batch that costs this; pieces ascend
    double each = 0;
  };
  double initial = 0;
  std::vector<Piece> pieces;

  double of(std::uint64_t batch) const {
    double sum = initial;
    for (std::size_t i = 0; i < pieces.size() && pieces[i].from <= batch; ++i) {
      const bool last = i + 1 == pieces.size() || pieces[i + 1].from > batch;
      const std::uint64_t end = last ? batch + 1 : pieces[i + 1].from;
      sum += static_cast<double>(end - pieces[i].from) * pieces[i].each;
    }
    return sum;
  }
};

}  // namespace carillon::dataflow
