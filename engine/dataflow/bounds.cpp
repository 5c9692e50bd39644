#include "dataflow/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

namespace carillon::dataflow {
namespace {

// Rounding must not make two cores of work that just fills one.
constexpr double kRounding = 1e-9;

// Λ: cores that can all be busy while one task waits.
std::size_t busy_cores(std::span<const Task> tasks) {
  return static_cast<std::size_t>(std::max(0.0, std::ceil(utilization(tasks) - kRounding) - 1));
}

double sum_of_largest(std::vector<double>& values, std::size_t count) {
  count = std::min(count, values.size());
  if (count < values.size())
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count),
                     values.end(), std::greater<>());
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += values[i];
  return sum;
}

// Of one compliant vector: Λ lines a_i + u_i·s, of which the largest count.
struct Line {
  double at_zero, slope;
};

// The s at which the `count` largest lines and `rest` add up to m·s. Their sum is convex in s and
// grows by less than m, so that Newton's steps from 0 approach from below and end when the same
// lines are the largest.
double solve(std::vector<Line>& lines, std::size_t count, double rest, double m) {
  count = std::min(count, lines.size());
  double s = rest / m;
  for (;;) {
    if (count < lines.size())
      std::nth_element(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(count),
                       lines.end(), [s](const Line& a, const Line& b) {
                         return a.at_zero + a.slope * s > b.at_zero + b.slope * s;
                       });
    double sum = rest, slope = 0;
    for (std::size_t i = 0; i < count; ++i) {
      sum += lines[i].at_zero;
      slope += lines[i].slope;
    }
    const double next = sum / (m - slope);
    if (next <= s * (1 + 1e-12)) return std::max(s, next);
    s = next;
  }
}

}  // namespace

double utilization(std::span<const Task> tasks) {
  double sum = 0;
  for (const Task& task : tasks) sum += task.utilization();
  return sum;
}

bool is_bounded(std::span<const Task> tasks, std::uint32_t cores) {
  const auto fits = [](const Task& task) { return task.utilization() <= 1 + kRounding; };
  return utilization(tasks) <= cores + kRounding && std::ranges::all_of(tasks, fits);
}

std::vector<double> devi_anderson(std::span<const Task> tasks, Machine machine) {
  std::vector<double> costs, shares, bounds;
  double least = tasks.empty() ? 0 : tasks[0].cost;
  for (const Task& task : tasks) {
    costs.push_back(task.cost);
    shares.push_back(task.utilization());
    least = std::min(least, task.cost);
  }
  const std::size_t busy = machine.preemptive ? busy_cores(tasks) : machine.cores;
  const double late = sum_of_largest(costs, busy) - least;
  const double left = machine.cores - sum_of_largest(shares, std::max<std::size_t>(busy, 1) - 1);
  const double x = std::max(0.0, late / left);
  for (const Task& task : tasks) bounds.push_back(task.period + x + task.cost);
  return bounds;
}

std::vector<double> compliant_vector(std::span<const Task> tasks, std::uint32_t cores,
                                     PriorityPoint point) {
  const double m = cores;
  const auto priority = [&](const Task& task) {
    return point == PriorityPoint::Deadline ? task.period : task.period - (m - 1) / m * task.cost;
  };
  double earliest = tasks.empty() ? 0 : priority(tasks[0]);
  for (const Task& task : tasks) earliest = std::min(earliest, priority(task));
  std::vector<Line> lines;
  double carried = 0;
  for (const Task& task : tasks) {
    const double s = std::max(0.0, task.cost * (1 - (priority(task) - earliest) / task.period));
    carried += s;
    lines.push_back({task.cost - s - task.utilization() * task.cost / m, task.utilization()});
  }
  const double s = solve(lines, busy_cores(tasks), carried, m);
  std::vector<double> bounds;
  for (const Task& task : tasks)
    bounds.push_back(priority(task) - earliest + s + task.cost * (1 - 1 / m));
  return bounds;
}

std::vector<double> light_load(std::span<const Task> tasks, Machine machine) {
  double shortest = std::numeric_limits<double>::infinity(), all = 0;
  for (const Task& task : tasks) {
    shortest = std::min(shortest, task.period);
    all += task.cost;
  }
  std::vector<std::pair<double, double>> sorted;  // periods, and the costs of those below
  for (const Task& task : tasks) sorted.emplace_back(task.period, task.cost);
  std::ranges::sort(sorted);
  double below = 0;
  for (auto& [period, cost] : sorted) below += std::exchange(cost, below);
  std::vector<double> bounds;
  for (const Task& task : tasks) {
    const auto first = std::ranges::lower_bound(sorted, task.period, {},
                                                [](const auto& each) { return each.first; });
    bounds.push_back(task.cost + (all - task.cost + first->second) / machine.cores);
    if (bounds.back() > shortest) return {};
  }
  return bounds;
}

std::vector<double> response_bounds(std::span<const Task> tasks, Machine machine) {
  std::vector<double> bounds = devi_anderson(tasks, machine);
  if (!machine.preemptive) return bounds;
  const std::vector<double> others = compliant_vector(tasks, machine.cores);
  std::ranges::transform(bounds, others, bounds.begin(),
                         [](double a, double b) { return std::min(a, b); });
  return bounds;
}

}  // namespace carillon::dataflow
