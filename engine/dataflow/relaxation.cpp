#include "dataflow/relaxation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace carillon::dataflow {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kSearchSteps = 5;  // of a line search, at most
constexpr double kLater = 1e-5;  // of the bound: options are looked at once more
constexpr double kFine = 1e-3;   // what is left to win when it ends

// through[j] = the least of above[i] + price·row_i[j] over allowed i, for the span of j.
void fold(const double* rows, std::size_t stride, const std::vector<double>& above, Span of_above,
          double price, Span span, std::vector<double>& through) {
  constexpr std::size_t lanes = EdgeTables::kLanes;
  for (std::size_t j = span.first / lanes * lanes; j < span.last; j += lanes) {
    std::array<double, lanes> least;
    least.fill(kNever);
    for (std::size_t i = of_above.first; i < of_above.last; ++i) {
      const double* row = rows + i * stride + j;
      const double own = above[i];
      for (std::size_t k = 0; k < lanes; ++k) {
        const double sum = own + price * row[k];
        least[k] = sum < least[k] ? sum : least[k];
      }
    }
    for (std::size_t k = 0; k < lanes && j + k < through.size(); ++k) through[j + k] = least[k];
  }
}

// through[i] = at least through[i], and the least of before[j] + row_i[j] over the span of j.
void fold_rows(const double* rows, std::size_t stride, const std::vector<double>& before,
               std::vector<double>& through) {
  constexpr std::size_t lanes = EdgeTables::kLanes;
  const std::size_t whole = before.size() / lanes * lanes;
  for (std::size_t i = 0; i < through.size(); ++i) {
    const double* row = rows + i * stride;
    std::array<double, lanes> least;
    least.fill(kNever);
    for (std::size_t j = 0; j < whole; j += lanes)
      for (std::size_t k = 0; k < lanes; ++k) {
        const double sum = before[j + k] + row[j + k];
        least[k] = sum < least[k] ? sum : least[k];
      }
    for (std::size_t j = whole; j < before.size(); ++j)
      least[0] = std::min(least[0], before[j] + row[j]);
    through[i] = std::max(through[i], *std::ranges::min_element(least));
  }
}

}  // namespace

// One choice at some prices: what a Lagrangian relaxation takes at them.
struct Relaxation::Trial {
  Prices prices;
  Weighed weighed;
  std::vector<std::size_t> chosen;
  double value = -kNever;
  double slope = 0;  // of the value by the total of prices
};

Relaxation::Relaxation(const Graph& graph, const Options& options, const EdgeTables& edges,
                       Machine machine, double bound_ns)
    : graph_(graph),
      options_(options),
      edges_(edges),
      machine_(machine),
      bound_(bound_ns * kRelaxed),
      contention_(options, machine) {}

double Relaxation::length(NodeId v, const Option& o, double late) const {
  const double share = machine_.preemptive ? 1 - 1.0 / machine_.cores : 1;
  const double filling = graph_.is_source(v) ? o.period - graph_.period(v) : 0;
  return o.period + share * o.cost + late + filling;
}

// Whether the longest path is too long if responses are periods and costs.
bool Relaxation::is_early(Shortest shortest) const {
  std::vector<double> until(graph_.size());
  double longest = 0;
  for (const NodeId v : graph_.order()) {
    double least = kNever;
    for (const Option& o : options_[v])
      if (o.period >= shortest.from * (1 - 1e-12)) least = std::min(least, length(v, o, 0));
    for (const EdgeId e : graph_.inputs(v))
      until[v] = std::max(until[v], until[graph_.edges()[e].from] + edges_.least(e));
    until[v] += least;
    longest = std::max(longest, until[v]);
  }
  return longest > bound_;
}

// Of each node and option: the shortest that a path can be until its end; infinite below `from`.
std::vector<std::vector<double>> Relaxation::shortest_until(double from, double late) const {
  std::vector<std::vector<double>> until(graph_.size());
  for (const NodeId v : graph_.order()) {
    const std::vector<Option>& own = options_[v];
    until[v].assign(own.size(), 0);
    for (const EdgeId e : graph_.inputs(v))
      fold_rows(edges_.rows(e), edges_.stride(e), until[graph_.edges()[e].from], until[v]);
    for (std::size_t i = 0; i < own.size(); ++i)
      until[v][i] += own[i].period < from * (1 - 1e-12) ? kNever : length(v, own[i], late);
  }
  return until;
}

// Leaves out options that are too long on some path even with the best of all others; false if
// nothing remains of a node.
bool Relaxation::allow(double from, Relaxed& relaxed) const {
  const auto until = shortest_until(from, relaxed.lateness.late);
  std::vector<std::vector<double>> behind(graph_.size());  // infinite: not allowed
  std::vector<double> first;
  relaxed.allowed.assign(graph_.size(), {});
  relaxed.spans.assign(graph_.size(), {});
  for (std::size_t k = graph_.size(); k-- > 0;) {
    const NodeId u = graph_.order()[k];
    std::vector<double>& its = behind[u];
    its.assign(options_[u].size(), 0);
    first.assign(its.size(), kNever);
    for (const EdgeId e : graph_.outputs(u)) {
      const NodeId v = graph_.edges()[e].to;
      fold(edges_.rows(e), edges_.stride(e), behind[v], relaxed.spans[v], 1, {0, its.size()},
           first);
      for (std::size_t j = 0; j < its.size(); ++j) its[j] = std::max(its[j], first[j]);
    }
    Span& span = relaxed.spans[u];
    span.first = its.size();
    for (std::size_t j = 0; j < its.size(); ++j) {
      const bool allowed = until[u][j] + its[j] <= bound_;
      relaxed.allowed[u].push_back(allowed);
      its[j] = allowed ? its[j] + length(u, options_[u][j], relaxed.lateness.late) : kNever;
      if (!allowed) continue;
      span.first = std::min(span.first, j);
      span.last = j + 1;
    }
    if (span.last == 0) return false;
  }
  return true;
}

void Relaxation::weigh_node(NodeId v, const Prices& prices, const Relaxed& relaxed,
                            Weighed& weighed) const {
  const EdgeId e = weighed.parent[v];
  if (e == kNone) {
    weighed.value += *std::ranges::min_element(weighed.least[v]);
    return;
  }
  const NodeId u = graph_.edges()[e].from;
  std::vector<double>& before = weighed.least[u];
  std::vector<double>& through = weighed.through[v];
  through.assign(before.size(), kNever);
  const Span span = relaxed.spans[u], own = relaxed.spans[v];
  fold(edges_.rows(e), edges_.stride(e), weighed.least[v], own, prices.along[e], span, through);
  for (std::size_t j = span.first; j < span.last; ++j) before[j] += through[j];
  steps_ += (span.last - span.first) * (own.last - own.first);
}

void Relaxation::weigh(const Relaxed& relaxed, const Prices& prices, Weighed& weighed) const {
  const Lateness& late = relaxed.lateness;
  const double on_paths = std::accumulate(prices.through.begin(), prices.through.end(), 0.0);
  const double price = late.share * on_paths / contention_.growth(relaxed.weights);
  weighed.parent.assign(graph_.size(), kNone);
  weighed.through.resize(graph_.size());
  weighed.least.resize(graph_.size());
  weighed.value = -prices.total * bound_ - price * contention_.room(late.lead, relaxed.within);
  for (NodeId v = 0; v < graph_.size(); ++v) {
    std::vector<double>& own = weighed.least[v];
    own.assign(options_[v].size(), kNever);
    for (std::size_t i = relaxed.spans[v].first; i < relaxed.spans[v].last; ++i) {
      if (relaxed.allowed[v][i] == 0) continue;
      const Option& o = options_[v][i];
      own[i] = o.utilization + prices.through[v] * length(v, o, late.late) +
               price * contention_.of(o, relaxed.weights[v], late.lead, relaxed.within.shortest.to);
    }
    for (const EdgeId e : graph_.inputs(v)) {
      const EdgeId known = weighed.parent[v];
      if (known == kNone || prices.along[e] > prices.along[known]) weighed.parent[v] = e;
      weighed.value += prices.along[e] * edges_.least(e);
    }
    if (weighed.parent[v] != kNone)
      weighed.value -= prices.along[weighed.parent[v]] * edges_.least(weighed.parent[v]);
  }
  for (std::size_t i = graph_.size(); i-- > 0;)
    weigh_node(graph_.order()[i], prices, relaxed, weighed);
}

// For one choice the value is linear in the total, so that its slope follows from what the choice
// uses itself.
void Relaxation::try_prices(const Relaxed& relaxed, Prices prices, Trial& trial) const {
  weigh(relaxed, prices, trial.weighed);
  trial.chosen.resize(graph_.size());
  double used = 0;
  for (const NodeId v : graph_.order()) {
    const EdgeId e = trial.weighed.parent[v];
    const std::size_t before = e == kNone ? 0 : trial.chosen[graph_.edges()[e].from];
    trial.chosen[v] = trial.weighed.cheapest(v, [&](std::size_t i) {
      return e == kNone ? 0 : prices.along[e] * edges_.at(e, before, i);
    });
    used += options_[v][trial.chosen[v]].utilization;
  }
  trial.value = trial.weighed.value;
  trial.slope = (trial.value - used) / prices.total;
  trial.prices = std::move(prices);
}

// The total for which the value is largest, in which it is concave: by cutting planes.
void Relaxation::line_search(const Relaxed& relaxed, Prices prices, Trial& best) const {
  struct Line {
    double total = 0, value = 0, slope = 0;
  };
  Line low, high;
  Trial trial;
  best.value = -kNever;
  for (int i = 0; i < kSearchSteps; ++i) {
    try_prices(relaxed, std::move(prices), trial);
    (trial.slope > 0 ? low : high) = {trial.prices.total, trial.value, trial.slope};
    prices = trial.prices;
    if (trial.value > best.value) std::swap(best, trial);
    double next = low.total == 0 ? high.total / 4 : low.total * 4;
    if (low.total > 0 && high.total > 0) {
      next = (high.value - low.value + low.slope * low.total - high.slope * high.total) /
             (low.slope - high.slope);
      const double most = low.value + low.slope * (next - low.total);
      if (most <= best.value * (1 + kFine)) break;
    }
    prices.scale(next / prices.total);
  }
}

void Relaxation::learn(const Trial& trial, Relaxed& relaxed) const {
  std::vector<double> nodes(graph_.size()), edges(graph_.edges().size());
  const Lateness& late = relaxed.lateness;
  // What the choice makes of the lead.
  double over = -contention_.room(late.lead, relaxed.within);
  std::vector<std::pair<double, NodeId>> in_the_way;
  for (NodeId v = 0; v < graph_.size(); ++v) {
    const Option& o = options_[v][trial.chosen[v]];
    over += contention_.of(o, relaxed.weights[v], late.lead, relaxed.within.shortest.to);
    in_the_way.emplace_back(-contention_.of(o, 1, late.lead, 0), v);
    const EdgeId e = trial.weighed.parent[v];
    for (const EdgeId input : graph_.inputs(v)) edges[input] = edges_.least(input);
    if (e != kNone) edges[e] = edges_.at(e, trial.chosen[graph_.edges()[e].from], trial.chosen[v]);
  }
  const double later = std::max(0.0, over / contention_.growth(relaxed.weights));
  for (NodeId v = 0; v < graph_.size(); ++v)
    nodes[v] = length(v, options_[v][trial.chosen[v]], late.late + late.share * later);
  relaxed.lengths.learn(nodes, edges);
  const auto busy = static_cast<std::ptrdiff_t>(contention_.busy(relaxed.least));
  std::ranges::nth_element(in_the_way, in_the_way.begin() + busy);
  const double share = 1 / static_cast<double>(relaxed.lengths.rounds + 1);
  for (double& weight : relaxed.weights) weight *= 1 - share;
  for (std::ptrdiff_t i = 0; i < busy; ++i)
    relaxed.weights[in_the_way[static_cast<std::size_t>(i)].second] += share;
}

Relaxed Relaxation::relax(Shortest shortest, const Relaxed* near, std::size_t rounds, double most,
                          double enough) const {
  const double anyway = contention_.least_utilization();
  Relaxed found{
      anyway, {shortest, anyway, most, is_early(shortest)}, {}, {}, {}, {}, Lengths(graph_), {}};
  double total = 1 / bound_;
  if (near != nullptr) {
    found.least = near->least;
    found.lengths = near->lengths;
    found.weights = near->weights;
    total = near->prices.total;
  } else {
    found.weights = contention_.first_weights(anyway);
  }
  Trial best;
  double looked = -kNever;  // the lateness for which options have been left out
  for (std::size_t round = 0; round < rounds; ++round) {
    // Utilization makes responses longer, and these more utilization, until nothing is possible.
    found.within.least = found.least;
    found.lateness = contention_.lateness(found.within);
    bool possible = found.least <= machine_.cores;
    if (possible && found.lateness.late > looked + kLater * bound_) {
      looked = found.lateness.late;
      possible = allow(shortest.from, found);
    }
    if (!possible) {
      found.least = kNever;
      break;
    }
    line_search(found, prices_of(graph_, found.lengths, bound_, total), best);
    total = best.prices.total;
    if (best.value > found.least || round == 0) {
      found.least = std::max(best.value, found.least);
      found.prices = best.prices;
    }
    if (found.least >= enough) break;
    learn(best, found);
  }
  return found;
}

}  // namespace carillon::dataflow
