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
constexpr std::uint32_t kRangesOfAny = 5;    // as few of them for a choice that only keeps a bound
constexpr std::uint32_t kFewestOfAny = 20;   // but no fewer than so many
constexpr double kFirstStep = 1.05;          // down from the first bound, and squared
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

  double rank = 0;  // the least first

  bool operator>(const Range& other) const { return rank > other.rank; }
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
        any_(limits.gap >= 1),
        periods_(shortest_periods(problem.options)),
        relaxation_(problem.graph, problem.options, problem.edges, demand.machine, demand.bound_ns),
        descent_(problem.graph, problem.options, relaxation_, demand.machine, demand.bound_ns) {}

  void adopt(const Batches& batches) { descent_.adopt(batches); }

  Choice run() {
    descent_.begin(periods_);
    if (!periods_.empty()) open(0, periods_.size() - 1, nullptr);
    double unresolved = kNever;
    for (std::uint32_t looked = 0; !ranges_.empty() && !good(least()); ++looked) {
      if (looked == limits_.ranges) break;
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
  // Where any choice will do, the top is not the least; what is true of all is true of it.
  double least() const {
    if (ranges_.empty()) return kNever;
    return any_ ? whole_ : ranges_.top().relaxed.least;
  }
  std::uint64_t steps() const { return descent_.steps() + relaxation_.steps(); }
  bool good(double least) const {
    const double known = descent_.best().utilization;
    return least == kNever || least >= known / (1 + limits_.gap);
  }

  // What is known of a range that it is part of is true of the part as well.
  Relaxed relax(std::size_t first, std::size_t last, const Relaxed* near) const {
    const double known = descent_.best().utilization;
    return relaxation_.relax({periods_[first], periods_[last]}, near, kRounds, known,
                             known / (1 + limits_.gap));
  }

  void open(std::size_t first, std::size_t last, const Relaxed* near) {
    Relaxed relaxed = relax(first, last, near);
    if (near == nullptr) whole_ = relaxed.least;
    if (relaxed.least < kNever) push(std::move(relaxed), first, last);
  }

  // Short periods cost the most utilization and keep the shortest bounds.
  void push(Relaxed relaxed, std::size_t first, std::size_t last) {
    const double rank = any_ ? -relaxed.least : relaxed.least;
    ranges_.push({std::move(relaxed), first, last, rank});
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

  // More rounds.
  void refine(const Range& range, double& unresolved) {
    Relaxed relaxed = relax(range.first, range.last, &range.relaxed);
    if (relaxed.least == kNever) return;
    if (!any_ && relaxed.lengths.rounds < kMostRounds)
      push(std::move(relaxed), range.first, range.last);
    else
      unresolved = std::min(unresolved, relaxed.least);
  }

  SearchLimits limits_;
  bool any_;  // choice that keeps the bound will do
  std::vector<double> periods_;
  Relaxation relaxation_;
  Descent descent_;
  double whole_ = 0;  // the least of all ranges together
  std::priority_queue<Range, std::vector<Range>, std::greater<>> ranges_;
};

// A short bound to begin with: of a choice with the same period everywhere, and larger batches from
// there on. Empty if none of these is within the demand.
Choice short_bound(const Problem& problem, const Demand& demand) {
  Evaluation evaluation(problem.graph, problem.options, problem.edges, demand.machine);
  Climb climb(problem.graph, problem.options, evaluation, demand.bound_ns);
  Chosen best;
  double bound = kNever;
  for (const double period : shortest_periods(problem.options)) {
    Chosen chosen = climb.at_period(period);
    if (chosen.empty() || !evaluation.evaluate(chosen) || evaluation.bound() >= bound) continue;
    bound = evaluation.bound();
    best = std::move(chosen);
  }
  if (best.empty()) return {};
  best = climb.shorter(std::move(best));
  Batches batches;
  for (NodeId v = 0; v < problem.graph.size(); ++v)
    batches.push_back(problem.options[v][best[v]].batch);
  const Latency found = latency_of(problem.graph, batches, demand.machine);
  if (found.bound > demand.bound_ns * kRounded) return {};
  return {std::move(batches),
          found.utilization,
          found.bound,
          0,
          false,
          climb.evaluations() * problem.graph.size()};
}

// Of a graph that is not searched through, whether there is any choice takes fewer ranges than the
// best one.
SearchLimits limits_of_any(const Problem& problem, const SearchLimits& limits) {
  SearchLimits any = limits;
  any.gap = kNever;
  if (problem.graph.size() > Descent::kMostNodes)
    any.ranges = std::min(limits.ranges, std::max(limits.ranges / kRangesOfAny, kFewestOfAny));
  return any;
}

Choice shortest_bound(const Problem& problem, const Demand& demand, const SearchLimits& limits,
                      const Choice& known) {
  std::uint64_t steps = known.steps;
  const SearchLimits any = limits_of_any(problem, limits);
  const auto within = [&](double bound) {
    Choice found = Search(problem, {demand.machine, bound}, any).run();
    steps += found.steps;
    return found;
  };
  const double near = 1 + std::max(0.001, limits.gap);
  Choice best = short_bound(problem, demand);
  steps += best.steps;
  if (!known.batches.empty() && (best.batches.empty() || known.bound_ns < best.bound_ns))
    best = known;
  if (best.batches.empty()) best = within(demand.bound_ns);
  double none = 0;  // below it there is no choice
  for (double step = kFirstStep; !best.batches.empty() && best.bound_ns > none * near;) {
    const double middle = none == 0 ? best.bound_ns / step : std::sqrt(none * best.bound_ns);
    Choice found = within(middle);
    step *= step;
    if (found.batches.empty())
      none = middle;
    else
      best = std::move(found);
  }
  best.steps = steps;
  return best;
}

// The least utilization within a bound that a choice has.
Choice cheapest(const Problem& problem, Machine machine, const SearchLimits& limits,
                const Choice& known) {
  if (known.batches.empty()) return known;
  Search search(problem, {machine, known.bound_ns}, limits);
  search.adopt(known.batches);
  Choice found = search.run();
  if (found.batches.empty()) found = known;
  found.steps += known.steps;
  return found;
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
  const Problem problem(graph, candidates);
  return cheapest(problem, demand.machine, limits, shortest_bound(problem, demand, limits, {}));
}

Choice least_bound(const Graph& graph, const Demand& demand, std::size_t most,
                   const SearchLimits& limits) {
  const Candidates candidates = candidates_within(graph, demand.bound_ns, most);
  const Problem problem(graph, candidates);
  const Choice first = shortest_bound(problem, demand, limits, {});
  if (first.batches.empty()) return first;
  const Demand nearer{demand.machine, first.bound_ns};
  const Candidates more = candidates_within(graph, nearer.bound_ns, most);
  if (more == candidates) return cheapest(problem, demand.machine, limits, first);
  const Problem finer(graph, more);
  return cheapest(finer, demand.machine, limits, shortest_bound(finer, nearer, limits, first));
}

}  // namespace carillon::dataflow
