#include "dataflow/climb.hpp"

#include <algorithm>
#include <utility>

namespace carillon::dataflow {
namespace {

constexpr std::size_t kTries = 6;           // of larger batches of one node
constexpr int kPasses = 4;                  // over all nodes, at most
constexpr std::uint64_t kWork = 2'000'000;  // nodes of all choices that a climb evaluates
constexpr std::size_t kBehind = 300;        // nodes up to which what is behind each is known

}  // namespace

Climb::Climb(const Graph& graph, const Options& options, Evaluation& evaluation, double bound_ns)
    : graph_(graph), options_(options), evaluation_(evaluation), bound_(bound_ns) {
  if (graph.size() > kBehind) return;
  behind_.resize(graph.size());
  std::vector<NodeId> last(graph.size(), kNone);  // for which a node has been met
  for (NodeId v = 0; v < graph.size(); ++v) {
    std::vector<NodeId>& own = behind_[v];
    own.push_back(v);
    for (std::size_t i = 0; i < own.size(); ++i)
      for (const EdgeId e : graph.outputs(own[i])) {
        const NodeId to = graph.edges()[e].to;
        if (std::exchange(last[to], v) != v) own.push_back(to);
      }
  }
}

// Whether jobs of a neighbour end where those of that period begin, or the other way round.
bool Climb::related(NodeId v, double period, const Chosen& chosen) const {
  const auto with = [&](NodeId other) {
    const double its = options_[other][chosen[other]].period;
    return is_multiple(its, period) || is_multiple(period, its);
  };
  return std::ranges::any_of(graph_.inputs(v),
                             [&](EdgeId e) { return with(graph_.edges()[e].from); }) ||
         std::ranges::any_of(graph_.outputs(v),
                             [&](EdgeId e) { return with(graph_.edges()[e].to); });
}

// Makes `instead_` of a choice; false if nothing changes.
bool Climb::raised(NodeId v, double period, bool behind, const Chosen& chosen) {
  instead_ = chosen;
  const auto lift = [&](NodeId w) {
    std::size_t i = chosen[w];
    while (i < options_[w].size() && !(options_[w][i].period >= period * (1 - 1e-12) &&
                                       is_multiple(options_[w][i].period, period)))
      ++i;
    if (i < options_[w].size()) instead_[w] = i;
  };
  if (!behind) {
    lift(v);
  } else {
    for (const NodeId w : behind_[v]) lift(w);
  }
  return instead_ != chosen;
}

bool Climb::raise(NodeId v, bool behind, Chosen& chosen) {
  std::size_t tried = 0;
  bool any = false;
  for (std::size_t i = chosen[v] + 1; i < options_[v].size() && tried < kTries; ++i) {
    const double period = options_[v][i].period;
    if (!related(v, period, chosen) || !raised(v, period, behind, chosen)) continue;
    ++tried;
    if (left_ == 0) return any;
    --left_;
    ++evaluations_;
    if (!evaluation_.evaluate(instead_) || evaluation_.bound() > bound_ ||
        evaluation_.utilization() >= utilization_)
      continue;
    utilization_ = evaluation_.utilization();
    chosen = instead_;
    any = true;
  }
  return any;
}

// From the sinks on: what is long there is in nobody's way.
bool Climb::pass(Chosen& chosen) {
  bool any = false;
  for (std::size_t i = graph_.size(); i-- > 0;) any |= raise(graph_.order()[i], false, chosen);
  if (!behind_.empty())
    for (const NodeId v : graph_.order()) any |= raise(v, true, chosen);
  return any;
}

Chosen Climb::from(Chosen chosen) {
  if (!evaluation_.evaluate(chosen)) return chosen;
  utilization_ = evaluation_.utilization();
  left_ = kWork / graph_.size();
  for (int i = 0; i < kPasses; ++i)
    if (!pass(chosen)) break;
  return chosen;
}

Chosen Climb::at_period(double period) const {
  Chosen chosen;
  for (const std::vector<Option>& own : options_) {
    const auto found = std::ranges::find_if(own, [&](const Option& o) {
      return o.period >= period * (1 - 1e-12) && is_multiple(o.period, period);
    });
    if (found == own.end()) return {};
    chosen.push_back(static_cast<std::size_t>(found - own.begin()));
  }
  return chosen;
}

}  // namespace carillon::dataflow
