#include "dataflow/descent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace carillon::dataflow {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kStarts = 3;  // with the same period everywhere
constexpr double kHopeless = 1.3;   // of the best known: not worth a climb

}  // namespace

Descent::Descent(const Graph& graph, const Options& options, const Relaxation& relaxation,
                 Machine machine, double bound_ns)
    : graph_(graph),
      options_(options),
      relaxation_(relaxation),
      machine_(machine),
      bound_(bound_ns),
      evaluation_(graph, options, relaxation.edges(), machine),
      climb_(graph, options, evaluation_, bound_ns * kRounded) {
  best_.utilization = kNever;
}

// Prices of what a node waits for because of what feeds it.
double Descent::waiting(NodeId v, std::size_t option, const Chosen& chosen,
                        const Prices& prices) const {
  double sum = 0;
  for (const EdgeId e : graph_.inputs(v))
    sum += prices.along[e] * relaxation_.edges().at(e, chosen[graph_.edges()[e].from], option);
  return sum;
}

Chosen Descent::at_prices(const Relaxed& relaxed, const Prices& prices) const {
  Weighed weighed;
  relaxation_.weigh(relaxed, prices, weighed);
  Chosen chosen(graph_.size(), 0);
  for (const NodeId v : graph_.order())
    chosen[v] = weighed.cheapest(v, [&](std::size_t i) { return waiting(v, i, chosen, prices); });
  return chosen;
}

// Keeps a choice that is better than all before; false if the cores do not suffice.
bool Descent::judge(const Chosen& chosen) {
  if (!evaluation_.evaluate(chosen)) return false;
  const double used = evaluation_.utilization();
  if (evaluation_.bound() > bound_ * kRelaxed || used > best_.utilization) return true;
  Batches batches(graph_.size());
  for (NodeId v = 0; v < graph_.size(); ++v) batches[v] = options_[v][chosen[v]].batch;
  const Latency found = latency_of(graph_, batches, machine_);
  if (found.bound > bound_ * kRounded || found.utilization >= best_.utilization) return true;
  best_.utilization = found.utilization;
  best_.bound_ns = found.bound;
  best_.batches = std::move(batches);
  return true;
}

void Descent::dive(Relaxed relaxed, int levels) {
  Prices prices = relaxed.prices;
  double step = 2, met = kNever;
  bool raised = false;
  met_.clear();
  for (int level = 0; level < levels; ++level) {
    const Chosen chosen = at_prices(relaxed, prices);
    const bool fits = judge(chosen);
    if (fits) relaxed.lengths.learn(evaluation_.responses(), evaluation_.waits());
    const bool raise = fits && evaluation_.bound() > bound_;
    if (fits && !raise && evaluation_.utilization() < met) {
      met = evaluation_.utilization();
      met_ = chosen;
    }
    if (level > 0 && raise != raised) step = std::max(1.1, std::sqrt(step));
    raised = raise;
    // Utilization over time is what prices are in the order of.
    const double total = std::max(prices.total, 0.1 * relaxed.least / bound_);
    prices = prices_of(graph_, relaxed.lengths, bound_, raise ? total * step : total / step);
  }
}

void Descent::adopt(const Batches& batches) {
  Chosen chosen;
  for (NodeId v = 0; v < graph_.size(); ++v) {
    const auto found = std::ranges::find(options_[v], batches[v], &Option::batch);
    if (found == options_[v].end()) return;
    chosen.push_back(static_cast<std::size_t>(found - options_[v].begin()));
  }
  judge(chosen);
}

void Descent::climb() {
  if (met_.empty() || !evaluation_.evaluate(met_)) return;
  if (evaluation_.utilization() > kHopeless * best_.utilization) return;
  judge(climb_.from(met_));
}

void Descent::begin(const std::vector<double>& periods) {
  std::vector<std::pair<double, Chosen>> starts;
  for (const double period : periods) {
    Chosen chosen = climb_.at_period(period);
    if (chosen.empty() || !evaluation_.evaluate(chosen) || evaluation_.bound() > bound_) continue;
    judge(chosen);
    starts.emplace_back(evaluation_.utilization(), std::move(chosen));
  }
  std::ranges::sort(starts);
  if (starts.size() > kStarts) starts.resize(kStarts);
  for (const auto& [used, chosen] : starts) judge(climb_.from(chosen));
}

// Depth first over all choices with one shortest period.
class Descent::Exhaustive {
 public:
  Exhaustive(Descent& all, const Relaxed& relaxed, double shortest, double gap,
             std::uint64_t most_steps)
      : all_(all),
        graph_(all.graph_),
        relaxed_(relaxed),
        gap_(gap),
        most_steps_(most_steps),
        chosen_(graph_.size()),
        until_(graph_.size()),
        tail_(graph_.size()),
        choices_(graph_.size()) {
    all_.relaxation_.weigh(relaxed, relaxed.prices, weighed_);
    for (std::size_t depth = graph_.size(); depth-- > 0;) look_at(depth, shortest);
  }

  bool run() { return descend(0, weighed_.value, false); }

 private:
  struct Ranked {
    double value;  // of all, with it
    std::size_t option;
  };
  struct Choices {
    std::vector<double> lengths;
    std::size_t shortest = 0;  // the option with the shortest period, or the number of all
    std::vector<Ranked> ranked;
  };

  // What options add to a path, and what is at least behind each node.
  void look_at(std::size_t depth, double shortest) {
    const NodeId v = graph_.order()[depth];
    const std::vector<Option>& options = all_.options_[v];
    Choices& own = choices_[v];
    own.shortest = options.size();
    double least = kNever;
    for (std::size_t i = 0; i < options.size(); ++i) {
      own.lengths.push_back(all_.relaxation_.length(v, options[i], relaxed_.lateness.late));
      if (relaxed_.allowed[v][i] == 0) continue;
      least = std::min(least, own.lengths[i]);
      if (options[i].period <= shortest * (1 + 1e-12)) own.shortest = i;
    }
    if (own.shortest < options.size() && last_shortest_ == 0) last_shortest_ = depth + 1;
    for (const EdgeId e : graph_.inputs(v)) {
      double& tail = tail_[graph_.edges()[e].from];
      tail = std::max(tail, all_.relaxation_.edges().least(e) + least + tail_[v]);
    }
  }

  // When the last of what a node reads is there.
  double ready(NodeId v, std::size_t option) const {
    double latest = 0;
    for (const EdgeId e : graph_.inputs(v)) {
      const NodeId u = graph_.edges()[e].from;
      latest = std::max(latest, until_[u] + all_.relaxation_.edges().at(e, chosen_[u], option));
    }
    return latest;
  }

  // The value with each option of a node instead of its cheapest, and with all waits for it.
  void rank(NodeId v, double value) {
    const EdgeId parent = weighed_.parent[v];
    const auto& least = weighed_.least[v];
    double before = parent == kNone ? *std::ranges::min_element(least)
                                    : weighed_.through[v][chosen_[graph_.edges()[parent].from]];
    for (const EdgeId e : graph_.inputs(v))
      if (e != parent) before += relaxed_.prices.along[e] * all_.relaxation_.edges().least(e);
    std::vector<Ranked>& ranked = choices_[v].ranked;
    ranked.clear();
    for (std::size_t i = 0; i < least.size(); ++i)
      if (least[i] < kNever)
        ranked.push_back(
            {value - before + least[i] + all_.waiting(v, i, chosen_, relaxed_.prices), i});
    std::ranges::sort(ranked, {}, &Ranked::value);
  }

  bool descend(std::size_t depth, double value, bool shortest) {
    if (depth == graph_.size()) {
      all_.judge(chosen_);
      return true;
    }
    const NodeId v = graph_.order()[depth];
    rank(v, value);
    const Choices& own = choices_[v];
    for (const Ranked& one : own.ranked) {
      if (one.value >= all_.best_.utilization / (1 + gap_)) break;
      if (++all_.steps_ > most_steps_) return false;
      const bool is_shortest = shortest || one.option == own.shortest;
      if (!is_shortest && depth + 1 >= last_shortest_) continue;
      until_[v] = ready(v, one.option) + own.lengths[one.option];
      if (until_[v] + tail_[v] > all_.bound_ * kRounded) continue;
      chosen_[v] = one.option;
      if (!descend(depth + 1, one.value, is_shortest)) return false;
    }
    return true;
  }

  Descent& all_;
  const Graph& graph_;
  const Relaxed& relaxed_;
  Weighed weighed_;
  double gap_;
  std::uint64_t most_steps_;
  Chosen chosen_;
  std::vector<double> until_, tail_;
  std::vector<Choices> choices_;
  std::size_t last_shortest_ = 0;  // from that depth on no option has the shortest period
};

bool Descent::exhaust(const Relaxed& relaxed, double shortest, double gap,
                      std::uint64_t most_steps) {
  if (graph_.size() > kMostNodes) return false;
  return Exhaustive(*this, relaxed, shortest, gap, most_steps).run();
}

}  // namespace carillon::dataflow
