#include "dataflow/options.hpp"

#include <map>
#include <tuple>

namespace carillon::dataflow {

Options options_of(const Graph& graph, const Candidates& candidates) {
  Options all(graph.size());
  for (NodeId v = 0; v < graph.size(); ++v)
    for (const std::uint64_t b : candidates[v]) {
      const Task task{static_cast<double>(b) * graph.period(v), graph.nodes()[v].cost.of(b)};
      if (is_bounded(std::span(&task, 1), 1))
        all[v].push_back({b, task.period, task.cost, task.utilization()});
    }
  return all;
}

EdgeTables::EdgeTables(const Graph& graph, const Options& options) {
  std::map<std::vector<std::uint64_t>, std::size_t> lists;  // of batches, numbered
  std::vector<std::size_t> list_of;
  for (const std::vector<Option>& own : options) {
    std::vector<std::uint64_t> batches;
    for (const Option& o : own) batches.push_back(o.batch);
    list_of.push_back(lists.try_emplace(std::move(batches), lists.size()).first->second);
  }
  using Key =
      std::tuple<std::size_t, std::size_t, std::uint64_t, std::uint64_t, std::uint64_t, double>;
  std::map<Key, std::size_t> known;
  for (const Edge& edge : graph.edges()) {
    const double period = graph.period(edge.from), spreading = spread(edge) * period;
    const double sample = period / static_cast<double>(edge.produce);
    least_.push_back(static_cast<double>(edge.threshold - edge.consume) * sample + spreading);
    const Key key{list_of[edge.from], list_of[edge.to], edge.produce,
                  edge.threshold,     edge.consume,     period};
    const auto [place, is_new] = known.try_emplace(key, tables_.size());
    table_of_.push_back(place->second);
    if (!is_new) continue;
    const auto &before = options[edge.from], &after = options[edge.to];
    Table& table = tables_.emplace_back(padded(before.size()));
    table.values.assign(table.stride * after.size(), 0);
    for (std::size_t i = 0; i < after.size(); ++i)
      for (std::size_t j = 0; j < before.size(); ++j)
        table.values[i * table.stride + j] =
            wait(edge, before[j].batch, after[i].batch) * period + spreading;
  }
}

}  // namespace carillon::dataflow
