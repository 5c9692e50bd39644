#include "dataflow/evaluation.hpp"

#include <algorithm>

namespace carillon::dataflow {

Evaluation::Evaluation(const Graph& graph, const Options& options, const EdgeTables& edges,
                       Machine machine)
    : graph_(graph),
      options_(options),
      edges_(edges),
      machine_(machine),
      tasks_(graph.size()),
      waits_(graph.edges().size()),
      until_(graph.size()) {}

bool Evaluation::evaluate(const Chosen& chosen) {
  for (NodeId v = 0; v < graph_.size(); ++v) {
    const Option& o = options_[v][chosen[v]];
    tasks_[v] = {o.period, o.cost};
  }
  utilization_ = carillon::dataflow::utilization(tasks_);
  if (!is_bounded(tasks_, machine_.cores)) return false;
  responses_ = response_bounds(tasks_, machine_);
  bound_ = 0;
  for (const NodeId v : graph_.order()) {
    double ready = graph_.is_source(v) ? tasks_[v].period - graph_.period(v) : 0;
    for (const EdgeId e : graph_.inputs(v)) {
      const NodeId u = graph_.edges()[e].from;
      waits_[e] = edges_.at(e, chosen[u], chosen[v]);
      ready = std::max(ready, until_[u] + waits_[e]);
    }
    until_[v] = ready + responses_[v];
    bound_ = std::max(bound_, until_[v]);
  }
  return true;
}

}  // namespace carillon::dataflow
