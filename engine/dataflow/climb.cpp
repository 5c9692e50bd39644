#include "dataflow/climb.hpp"

#include <algorithm>
#include <utility>

namespace carillon::dataflow {
namespace {

constexpr std::size_t kTries = 6;           // of larger batches of one node
constexpr int kPasses = 4;                  // over all nodes, at most
constexpr std::uint64_t kWork = 2'000'000;  // nodes of all choices that a climb evaluates
constexpr std::size_t kBehind = 300;        // nodes up to which what is behind each is known
constexpr double kRounding = 1e-9;          // less is no shorter bound

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

// Makes `instead_` of a choice: the shortest multiple of the period. False if nothing changes.
bool Climb::change(NodeId v, double period, bool behind, const Chosen& chosen) {
  instead_ = chosen;
  const bool larger = options_[v][chosen[v]].period < period;
  const auto fit = [&](NodeId w) {
    const std::vector<Option>& own = options_[w];
    if ((own[chosen[w]].period < period) != larger) return;
    for (std::size_t i = larger ? chosen[w] : 0; i < own.size(); ++i)
      if (own[i].period >= period * (1 - 1e-12) && is_multiple(own[i].period, period)) {
        instead_[w] = i;
        return;
      }
  };
  if (!behind) {
    fit(v);
  } else {
    for (const NodeId w : behind_[v]) fit(w);
  }
  return instead_ != chosen;
}

bool Climb::accept(Chosen& chosen) {
  if (left_ == 0) return false;
  --left_;
  ++evaluations_;
  if (!evaluation_.evaluate(instead_) || !better()) return false;
  known_ = by_bound_ ? evaluation_.bound() : evaluation_.utilization();
  chosen = instead_;
  return true;
}

bool Climb::vary(NodeId v, bool behind, Chosen& chosen) {
  const std::vector<Option>& own = options_[v];
  const std::size_t before = chosen[v];
  bool any = false;
  const auto look_at = [&](std::size_t i) {
    const bool differs =
        related(v, own[i].period, chosen) && change(v, own[i].period, behind, chosen);
    if (differs && accept(chosen)) any = true;
    return differs;
  };
  std::size_t tried = 0;
  for (std::size_t i = before + 1; i < own.size() && tried < kTries; ++i) tried += look_at(i);
  tried = 0;
  if (by_bound_)
    for (std::size_t i = before; i-- > 0 && tried < kTries;) tried += look_at(i);
  return any;
}

// From the sinks on: what is long there is in nobody's way.
bool Climb::pass(Chosen& chosen) {
  bool any = false;
  for (std::size_t i = graph_.size(); i-- > 0;) any |= vary(graph_.order()[i], false, chosen);
  if (!behind_.empty())
    for (const NodeId v : graph_.order()) any |= vary(v, true, chosen);
  return any;
}

bool Climb::better() const {
  return by_bound_ ? evaluation_.bound() < known_ * (1 - kRounding)
                   : evaluation_.utilization() < known_ && evaluation_.bound() <= bound_;
}

Chosen Climb::search(Chosen chosen) {
  if (!evaluation_.evaluate(chosen)) return chosen;
  known_ = by_bound_ ? evaluation_.bound() : evaluation_.utilization();
  left_ = kWork / graph_.size();
  for (int i = 0; i < kPasses; ++i)
    if (!pass(chosen)) break;
  return chosen;
}

Chosen Climb::from(Chosen chosen) {
  by_bound_ = false;
  return search(std::move(chosen));
}

Chosen Climb::shorter(Chosen chosen) {
  by_bound_ = true;
  return search(std::move(chosen));
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
