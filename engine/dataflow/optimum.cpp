#include "dataflow/optimum.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>

#include "dataflow/descent.hpp"
#include "dataflow/relaxation.hpp"

namespace carillon::dataflow {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kRounds = 8;           // of prices for a range; parts of it go on from there
constexpr double kTelling = 1.002;           // by what further rounds have to raise what is proven
constexpr std::size_t kMostRounds = 100;     // for one shortest period, in a graph of many nodes
constexpr int kLevels = 24, kFewLevels = 6;  // of a dive, for one shortest period or several

// All periods that options have, up to the shortest of nodes' longest.
std::vector<double> shortest_periods(const Options& options) {
  std::vector<double> periods;
  double most = kNever;
  for (const std::vector<Option>& own : options) {
    if (own.empty()) return {};
    most = std::min(most, own.back().period);
    for (const Option& option : own) periods.push_back(option.period);
  }
  std::ranges::sort(periods);
  const auto same = [](double a, double b) { return b <= a * (1 + 1e-12); };
  periods.erase(std::unique(periods.begin(), periods.end(), same), periods.end());
  periods.erase(std::upper_bound(periods.begin(), periods.end(), most * (1 + 1e-12)),
                periods.end());
  return periods;
}

// Shortest periods [first, last] of all that there are.
struct Range {
  Relaxed relaxed;
  std::size_t first = 0, last = 0;

  bool operator>(const Range& other) const { return relaxed.least > other.relaxed.least; }
};

// What all searches among the same candidates share.
struct Problem {
  Problem(const Graph& of, const Candidates& candidates)
      : graph(of), options(options_of(of, candidates)), edges(of, options) {}

  const Graph& graph;
  Options options;
  EdgeTables edges;
};

class Search {
 public:
  Search(const Problem& problem, const Demand& demand, const SearchLimits& limits)
      : limits_(limits),
        periods_(shortest_periods(problem.options)),
        relaxation_(problem.graph, problem.options, problem.edges, demand.machine, demand.bound_ns),
        descent_(problem.graph, problem.options, relaxation_, demand.machine, demand.bound_ns) {}

  void adopt(const Batches& batches) { descent_.adopt(batches); }

  Choice run() {
    descent_.begin(periods_);
    if (!periods_.empty()) open(0, periods_.size() - 1, nullptr);
    double unresolved = kNever;
    for (std::uint32_t looked = 0; !ranges_.empty() && !good(least()); ++looked) {
      if (looked == limits_.ranges || steps() > limits_.steps) break;
      const Range range = ranges_.top();
      ranges_.pop();
      look_into(range, unresolved);
    }
    Choice choice = descent_.best();
    choice.least = std::min({unresolved, least(), choice.utilization});
    choice.proven = good(choice.least);
    choice.steps = steps();
    return choice;
  }

 private:
  double least() const { return ranges_.empty() ? kNever : ranges_.top().relaxed.least; }
  std::uint64_t steps() const { return descent_.steps() + relaxation_.steps(); }
  bool good(double least) const {
    const double known = descent_.best().utilization;
    return least == kNever || least >= known * (1 - limits_.gap);
  }

  // What is known of a range that it is part of is true of the part as well.
  Relaxed relax(std::size_t first, std::size_t last, const Relaxed* near) const {
    const double known = descent_.best().utilization;
    return relaxation_.relax({periods_[first], periods_[last]}, near, kRounds, known,
                             known * (1 - limits_.gap));
  }

  void open(std::size_t first, std::size_t last, const Relaxed* near) {
    Relaxed relaxed = relax(first, last, near);
    if (relaxed.least < kNever) ranges_.push({std::move(relaxed), first, last});
  }

  void look_into(const Range& range, double& unresolved) {
    const double from = periods_[range.first];
    const bool narrow = range.first == range.last;
    descent_.dive(range.relaxed, narrow ? kLevels : kFewLevels);
    if (!good(range.relaxed.least)) descent_.climb();
    if (!narrow) {
      const std::size_t middle = std::midpoint(range.first, range.last);
      open(range.first, middle, &range.relaxed);
      open(middle + 1, range.last, &range.relaxed);
    } else if (!descent_.exhaust(range.relaxed, from, limits_.gap, limits_.steps)) {
      refine(range, unresolved);
    }
  }

  // More rounds, as long as they tell more.
  void refine(const Range& range, double& unresolved) {
    Relaxed relaxed = relax(range.first, range.last, &range.relaxed);
    if (relaxed.least == kNever) return;
    if (relaxed.lengths.rounds < kMostRounds && relaxed.least > range.relaxed.least * kTelling)
      ranges_.push({std::move(relaxed), range.first, range.last});
    else
      unresolved = std::min(unresolved, relaxed.least);
  }

  SearchLimits limits_;
  std::vector<double> periods_;
  Relaxation relaxation_;
  Descent descent_;
  std::priority_queue<Range, std::vector<Range>, std::greater<>> ranges_;
};

// The least bound of all choices with the same period everywhere.
Choice of_one_period(const Problem& problem, const Demand& demand) {
  Evaluation evaluation(problem.graph, problem.options, problem.edges, demand.machine);
  Climb climb(problem.graph, problem.options, evaluation, demand.bound_ns);
  Choice best;
  best.bound_ns = kNever;
  for (const double period : shortest_periods(problem.options)) {
    const Chosen chosen = climb.at_period(period);
    if (chosen.empty() || !evaluation.evaluate(chosen) || evaluation.bound() >= best.bound_ns)
      continue;
    Batches batches;
    for (NodeId v = 0; v < problem.graph.size(); ++v)
      batches.push_back(problem.options[v][chosen[v]].batch);
    const Latency found = latency_of(problem.graph, batches, demand.machine);
    if (found.bound < std::min(best.bound_ns, demand.bound_ns * kRounded))
      best = {std::move(batches), found.utilization, found.bound, 0, false, 0};
  }
  return best;
}

Choice least_bound_of(const Problem& problem, const Demand& demand, const SearchLimits& limits,
                      const Choice* known) {
  const auto within = [&](double bound, const SearchLimits& how) {
    return Search(problem, {demand.machine, bound}, how).run();
  };
  SearchLimits any = limits;  // the first choice that keeps a bound will do
  any.gap = 1;
  const double near = 1 + std::max(0.001, limits.gap);
  Choice best = of_one_period(problem, demand);
  if (known != nullptr && known->bound_ns < best.bound_ns) best = *known;
  if (best.batches.empty()) best = within(demand.bound_ns, any);
  double none = 0;  // below it there is no choice
  while (!best.batches.empty() && best.bound_ns > none * near) {
    const double middle = none == 0 ? best.bound_ns / 2 : std::sqrt(none * best.bound_ns);
    Choice found = within(middle, any);
    if (found.batches.empty())
      none = middle;
    else
      best = std::move(found);
  }
  if (best.batches.empty()) return best;
  Search cheapest(problem, {demand.machine, best.bound_ns}, limits);
  cheapest.adopt(best.batches);
  Choice found = cheapest.run();
  return found.batches.empty() ? best : found;
}

}  // namespace

Choice least_utilization(const Graph& graph, const Demand& demand, const Candidates& candidates,
                         const SearchLimits& limits) {
  return Search(Problem(graph, candidates), demand, limits).run();
}

Choice least_utilization(const Graph& graph, const Demand& demand, std::size_t most,
                         const SearchLimits& limits) {
  const Candidates candidates = candidates_within(graph, demand.bound_ns, most);
  const Choice first = least_utilization(graph, demand, candidates, limits);
  if (first.batches.empty()) return first;
  double shortest = kNever;
  for (const Task& task : tasks_of(graph, first.batches))
    shortest = std::min(shortest, task.period);
  const Candidates more = candidates_within(graph, demand.bound_ns, most, shortest);
  if (more == candidates) return first;
  const Problem problem(graph, more);
  Search search(problem, demand, limits);
  search.adopt(first.batches);
  Choice second = search.run();
  second.steps += first.steps;
  return second;
}

Choice least_bound(const Graph& graph, const Demand& demand, const Candidates& candidates,
                   const SearchLimits& limits) {
  return least_bound_of(Problem(graph, candidates), demand, limits, nullptr);
}

Choice least_bound(const Graph& graph, const Demand& demand, std::size_t most,
                   const SearchLimits& limits) {
  const Candidates candidates = candidates_within(graph, demand.bound_ns, most);
  Choice best = least_bound(graph, demand, candidates, limits);
  if (best.batches.empty()) return best;
  const Demand nearer{demand.machine, best.bound_ns};
  const Candidates more = candidates_within(graph, nearer.bound_ns, most);
  if (more == candidates) return best;
  Choice second = least_bound_of(Problem(graph, more), nearer, limits, &best);
  return second.batches.empty() || second.bound_ns > best.bound_ns ? best : second;
}

}  // namespace carillon::dataflow
