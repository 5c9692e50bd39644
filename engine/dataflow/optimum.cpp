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

class Search {
 public:
  Search(const Graph& graph, const Demand& demand, const Candidates& candidates,
         const SearchLimits& limits)
      : limits_(limits),
        options_(options_of(graph, candidates)),
        periods_(shortest_periods(options_)),
        relaxation_(graph, options_, demand.machine, demand.bound_ns),
        descent_(graph, options_, relaxation_, demand.machine, demand.bound_ns) {}

  Choice run() {
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
    choice.steps = descent_.steps();
    return choice;
  }

 private:
  double least() const { return ranges_.empty() ? kNever : ranges_.top().relaxed.least; }
  bool good(double least) const {
    const double known = descent_.best().utilization;
    return least == kNever || least >= known * (1 - limits_.gap);
  }

  // What is known of a range that it is part of is true of the part as well.
  void open(std::size_t first, std::size_t last, const Relaxed* near) {
    Relaxed relaxed = relaxation_.relax({periods_[first], periods_[last]}, near, kRounds);
    if (relaxed.least < kNever) ranges_.push({std::move(relaxed), first, last});
  }

  void look_into(const Range& range, double& unresolved) {
    const double from = periods_[range.first];
    const bool narrow = range.first == range.last;
    descent_.dive(range.relaxed, {from, periods_[range.last]}, narrow ? kLevels : kFewLevels);
    if (!narrow) {
      const std::size_t middle = std::midpoint(range.first, range.last);
      open(range.first, middle, &range.relaxed);
      open(middle + 1, range.last, &range.relaxed);
    } else if (!descent_.exhaust(range.relaxed, from, limits_.gap, limits_.steps)) {
      if (range.relaxed.lengths.rounds < kMostRounds)
        open(range.first, range.last, &range.relaxed);
      else
        unresolved = std::min(unresolved, range.relaxed.least);
    }
  }

  SearchLimits limits_;
  Options options_;
  std::vector<double> periods_;
  Relaxation relaxation_;
  Descent descent_;
  std::priority_queue<Range, std::vector<Range>, std::greater<>> ranges_;
};

}  // namespace

Choice least_utilization(const Graph& graph, const Demand& demand, const Candidates& candidates,
                         const SearchLimits& limits) {
  return Search(graph, demand, candidates, limits).run();
}

Choice least_utilization(const Graph& graph, const Demand& demand, std::size_t most,
                         const SearchLimits& limits) {
  const Choice first =
      least_utilization(graph, demand, candidates_within(graph, demand.bound_ns, most), limits);
  if (first.batches.empty()) return first;
  double shortest = kNever;
  for (const Task& task : tasks_of(graph, first.batches))
    shortest = std::min(shortest, task.period);
  const Candidates more = candidates_within(graph, demand.bound_ns, most, shortest);
  Choice second = least_utilization(graph, demand, more, limits);
  // More candidates, but the search may have been cut off.
  return second.utilization <= first.utilization || second.proven ? second : first;
}

Choice least_bound(const Graph& graph, const Demand& demand, const Candidates& candidates,
                   const SearchLimits& limits) {
  const auto within = [&](double bound, const SearchLimits& how) {
    return least_utilization(graph, {demand.machine, bound}, candidates, how);
  };
  SearchLimits any = limits;  // the first choice that keeps a bound will do
  any.gap = 1;
  const double near = 1 + std::max(0.001, limits.gap);
  Choice best = within(demand.bound_ns, any);
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
  Choice cheapest = within(best.bound_ns, limits);
  return cheapest.batches.empty() ? best : cheapest;
}

Choice least_bound(const Graph& graph, const Demand& demand, std::size_t most,
                   const SearchLimits& limits) {
  Choice best = least_bound(graph, demand, candidates_within(graph, demand.bound_ns, most), limits);
  if (best.batches.empty()) return best;
  const Demand nearer{demand.machine, best.bound_ns};
  Choice second =
      least_bound(graph, nearer, candidates_within(graph, nearer.bound_ns, most), limits);
  return second.batches.empty() || second.bound_ns > best.bound_ns ? best : second;
}

}  // namespace carillon::dataflow
