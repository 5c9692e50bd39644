#include "dataflow/relaxation.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace carillon::dataflow {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kSearchSteps = 10;  // of a line search

}  // namespace

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

Relaxation::Relaxation(const Graph& graph, const Options& options, Machine machine, double bound_ns)
    : graph_(graph), options_(options), machine_(machine), bound_(bound_ns * kRelaxed) {
  const double m = machine.cores;
  struct Least {
    double utilization, product;  // of u and u·e: the least, the most
  };
  std::vector<Least> nodes;
  double most = 0;
  for (const std::vector<Option>& own : options) {
    Least one{kNever, 0};
    for (const Option& o : own) {
      one.utilization = std::min(one.utilization, o.utilization);
      one.product = std::max(one.product, o.utilization * o.cost);
    }
    nodes.push_back(one);
    most = std::max(most, one.product);
    least_utilization_ += one.utilization;
  }
  std::ranges::sort(nodes, std::greater<>(), &Least::utilization);
  const auto busy = static_cast<std::size_t>(
      machine.preemptive ? std::clamp(std::ceil(least_utilization_ - 1e-9) - 1, 0.0, m - 1)
                         : m - 1);
  double left = m, interfering = 0;
  for (std::size_t i = 0; i < machine.cores - 1 && i < nodes.size(); ++i) {
    if (i < busy) left -= nodes[i].utilization;
    interfering += i < busy ? nodes[i].product : most;
  }
  slope_ = 1 / left;
  interference_ = interfering / m / left;
  measure_edges();
}

void Relaxation::measure_edges() {
  for (const Edge& edge : graph_.edges()) {
    const double period = graph_.period(edge.from), spreading = spread(edge) * period;
    const double sample = period / static_cast<double>(edge.produce);
    least_lengths_.push_back(static_cast<double>(edge.threshold - edge.consume) * sample +
                             spreading);
    std::vector<double>& lengths = edge_lengths_.emplace_back();
    lengths.reserve(options_[edge.from].size() * options_[edge.to].size());
    for (const Option& to : options_[edge.to])
      for (const Option& from : options_[edge.from])
        lengths.push_back(wait(edge, from.batch, to.batch) * period + spreading);
  }
}

double Relaxation::lead(Shortest shortest, double utilization) const {
  if (!machine_.preemptive) return in_the_way(shortest);
  const auto at = [&](double q) { return (slope_ * utilization - 1) * q - interference_; };
  return std::max(-shortest.to, std::min(at(shortest.from), at(shortest.to)));
}

// Without preemption x = (m largest e - least e)/(m - (m - 1) largest u). One of the periods is
// the shortest, so that no more than its cost is the least.
double Relaxation::in_the_way(Shortest shortest) const {
  std::vector<double> costs;
  double least = 0;
  for (const std::vector<Option>& own : options_) {
    double cheapest = kNever;
    for (const Option& o : own) {
      if (o.period < shortest.from * (1 - 1e-12)) continue;
      cheapest = std::min(cheapest, o.cost);
      if (o.period <= shortest.to * (1 + 1e-12)) least = std::max(least, o.cost);
    }
    costs.push_back(cheapest);
  }
  std::ranges::sort(costs, std::greater<>());
  const auto count =
      static_cast<std::ptrdiff_t>(std::min<std::size_t>(machine_.cores, costs.size()));
  return std::max(0.0,
                  slope_ * (std::accumulate(costs.begin(), costs.begin() + count, 0.0) - least));
}

double Relaxation::length(NodeId v, const Option& o, double lead) const {
  const double late = machine_.preemptive
                          ? std::min(o.cost, lead + o.cost * (1 - 1.0 / machine_.cores))
                          : o.cost + lead;
  const double filling = graph_.is_source(v) ? o.period - graph_.period(v) : 0;
  return o.period + late + filling;
}

// Of each node and option: the shortest that a path can be until its end; infinite below `from`.
std::vector<std::vector<double>> Relaxation::shortest_until(double from, double lead) const {
  std::vector<std::vector<double>> until(graph_.size());
  for (const NodeId v : graph_.order()) {
    const std::vector<Option>& own = options_[v];
    until[v].assign(own.size(), 0);
    for (const EdgeId e : graph_.inputs(v)) {
      const std::vector<double>& before = until[graph_.edges()[e].from];
      for (std::size_t i = 0; i < own.size(); ++i) {
        double first = kNever;
        for (std::size_t j = 0; j < before.size(); ++j)
          first = std::min(first, before[j] + length(e, j, i));
        until[v][i] = std::max(until[v][i], first);
      }
    }
    for (std::size_t i = 0; i < own.size(); ++i)
      until[v][i] += own[i].period < from * (1 - 1e-12) ? kNever : length(v, own[i], lead);
  }
  return until;
}

// Leaves out options that are too long on some path even with the best of all others; false if
// nothing remains of a node.
bool Relaxation::allow(double from, Relaxed& relaxed) const {
  const auto until = shortest_until(from, relaxed.lead);
  std::vector<std::vector<double>> behind(graph_.size());  // infinite: not allowed
  relaxed.allowed.assign(graph_.size(), {});
  for (std::size_t k = graph_.size(); k-- > 0;) {
    const NodeId u = graph_.order()[k];
    std::vector<double>& its = behind[u];
    its.assign(options_[u].size(), 0);
    for (const EdgeId e : graph_.outputs(u)) {
      const std::vector<double>& after = behind[graph_.edges()[e].to];
      for (std::size_t j = 0; j < its.size(); ++j) {
        double first = kNever;
        for (std::size_t i = 0; i < after.size(); ++i)
          first = std::min(first, length(e, j, i) + after[i]);
        its[j] = std::max(its[j], first);
      }
    }
    bool any = false;
    for (std::size_t j = 0; j < its.size(); ++j) {
      const bool allowed = until[u][j] + its[j] <= bound_;
      relaxed.allowed[u].push_back(allowed);
      its[j] = allowed ? its[j] + length(u, options_[u][j], relaxed.lead) : kNever;
      any = any || allowed;
    }
    if (!any) return false;
  }
  return true;
}

void Relaxation::weigh_node(NodeId v, const Prices& prices, Weighed& weighed) const {
  const EdgeId e = weighed.parent[v];
  if (e == kNone) {
    weighed.value += *std::ranges::min_element(weighed.least[v]);
    return;
  }
  std::vector<double>& before = weighed.least[graph_.edges()[e].from];
  std::vector<double>& through = weighed.through[v];
  through.assign(before.size(), kNever);
  const double price = prices.along[e];
  const double* lengths = edge_lengths_[e].data();
  for (const double least : weighed.least[v]) {
    if (least < kNever)
      for (std::size_t j = 0; j < through.size(); ++j) {
        const double sum = least + price * lengths[j];
        through[j] = sum < through[j] ? sum : through[j];
      }
    lengths += through.size();
  }
  for (std::size_t j = 0; j < through.size(); ++j) before[j] += through[j];
}

Weighed Relaxation::weigh(const Relaxed& relaxed, const Prices& prices) const {
  Weighed weighed;
  weighed.parent.assign(graph_.size(), kNone);
  weighed.through.resize(graph_.size());
  weighed.value = -prices.total * bound_;
  for (NodeId v = 0; v < graph_.size(); ++v) {
    std::vector<double>& own = weighed.least.emplace_back(options_[v].size(), kNever);
    for (std::size_t i = 0; i < own.size(); ++i)
      if (relaxed.allowed[v][i] != 0)
        own[i] = options_[v][i].utilization +
                 prices.through[v] * length(v, options_[v][i], relaxed.lead);
    for (const EdgeId e : graph_.inputs(v)) {
      const EdgeId known = weighed.parent[v];
      if (known == kNone || prices.along[e] > prices.along[known]) weighed.parent[v] = e;
      weighed.value += prices.along[e] * least_lengths_[e];
    }
    if (weighed.parent[v] != kNone)
      weighed.value -= prices.along[weighed.parent[v]] * least_lengths_[weighed.parent[v]];
  }
  for (std::size_t i = graph_.size(); i-- > 0;) weigh_node(graph_.order()[i], prices, weighed);
  return weighed;
}

// The total for which the value is largest, in which it is concave.
double Relaxation::line_search(const Relaxed& relaxed, Prices& prices) const {
  double best = weigh(relaxed, prices).value, step = 2;
  for (int i = 0; i < kSearchSteps; ++i) {
    prices.scale(step);
    const double value = weigh(relaxed, prices).value;
    if (value > best) {
      best = value;
    } else {
      prices.scale(1 / step);
      step = 1 / std::sqrt(step);
    }
  }
  return best;
}

void Relaxation::learn(const Prices& prices, Relaxed& relaxed) const {
  const Weighed weighed = weigh(relaxed, prices);
  std::vector<std::size_t> chosen(graph_.size());
  std::vector<double> nodes(graph_.size()), edges = least_lengths_;
  for (const NodeId v : graph_.order()) {
    const EdgeId e = weighed.parent[v];
    const std::size_t before = e == kNone ? 0 : chosen[graph_.edges()[e].from];
    chosen[v] = weighed.cheapest(
        v, [&](std::size_t i) { return e == kNone ? 0 : prices.along[e] * length(e, before, i); });
    nodes[v] = length(v, options_[v][chosen[v]], relaxed.lead);
    if (e != kNone) edges[e] = length(e, before, chosen[v]);
  }
  relaxed.lengths.learn(nodes, edges);
}

Relaxed Relaxation::relax(Shortest shortest, const Relaxed* near, std::size_t rounds) const {
  Relaxed found{least_utilization_, lead(shortest, least_utilization_), {}, {}, Lengths(graph_)};
  double total = 1 / bound_;
  if (near != nullptr) {
    found.least = near->least;
    found.lead = lead(shortest, near->least);
    found.lengths = near->lengths;
    total = near->prices.total;
  }
  for (std::size_t round = 0; round < rounds; ++round) {
    // Utilization makes responses longer, and these more utilization, until nothing is possible.
    if (found.least > machine_.cores || !allow(shortest.from, found)) {
      found.least = kNever;
      break;
    }
    Prices prices = prices_of(graph_, found.lengths, bound_, total);
    const double value = line_search(found, prices);
    total = prices.total;
    learn(prices, found);
    if (value > found.least || round == 0) {
      found.least = std::max(value, found.least);
      found.lead = lead(shortest, found.least);
      found.prices = std::move(prices);
    }
  }
  return found;
}

}  // namespace carillon::dataflow
