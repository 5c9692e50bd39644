// The batch sizes that a search chooses among, with what they cost.
#pragma once

#include <cstdint>
#include <vector>

#include "dataflow/batching.hpp"

namespace carillon::dataflow {

/// A batch size that a node may have. Times in ns.
struct Option {
  std::uint64_t batch = 1;
  double period = 0, cost = 0, utilization = 0;
};
using Options = std::vector<std::vector<Option>>;  ///< of each node, by ascending periods

/// Those candidates with which a node needs no more than a core.
Options options_of(const Graph& graph, const Candidates& candidates);

/// Shortest periods of a task set that are looked at together. ns.
struct Shortest {
  double from = 0, to = 0;
};

/// How long each edge makes a sample wait, by the options of both ends. Edges between nodes of the
/// same rates share a table.
class EdgeTables {
 public:
  EdgeTables(const Graph& graph, const Options& options);

  double at(EdgeId edge, std::size_t from, std::size_t to) const {
    return rows(edge)[to * stride(edge) + from];
  }
  /// A row for each option of `to`, with one value for each of `from`; ns, spread included.
  const double* rows(EdgeId edge) const { return tables_[table_of_[edge]].values.data(); }
  /// Values of a row: a multiple of kLanes, of which the last may mean nothing.
  std::size_t stride(EdgeId edge) const { return tables_[table_of_[edge]].stride; }
  /// What an edge adds whatever the options: what is peeked at and spread.
  double least(EdgeId edge) const { return least_[edge]; }

  static constexpr std::size_t kLanes = 8;
  static std::size_t padded(std::size_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

 private:
  struct Table {
    std::size_t stride = 0;
    std::vector<double> values;
  };

  std::vector<Table> tables_;
  std::vector<std::size_t> table_of_;  // each edge
  std::vector<double> least_;
};

}  // namespace carillon::dataflow
