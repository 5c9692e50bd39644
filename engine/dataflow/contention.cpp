#include "dataflow/contention.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace carillon::dataflow {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double sum_of_first(const std::vector<double>& values, std::size_t count) {
  const auto end = static_cast<std::ptrdiff_t>(std::min(count, values.size()));
  return std::accumulate(values.begin(), values.begin() + end, 0.0);
}

}  // namespace

Contention::Contention(const Options& options, Machine machine)
    : options_(options), machine_(machine), m_(machine.cores), others_((m_ - 1) / m_) {
  struct Least {
    double utilization, product;  // of u and u·e: the least, the most
  };
  std::vector<Least> nodes;
  double most_product = 0;
  for (const std::vector<Option>& own : options) {
    Least one{kNever, 0};
    double most = 0;
    for (const Option& o : own) {
      one.utilization = std::min(one.utilization, o.utilization);
      one.product = std::max(one.product, o.utilization * o.cost);
      most = std::max(most, o.utilization);
    }
    nodes.push_back(one);
    least_.push_back(one.utilization);
    most_sorted_.push_back(most);
    costs_sorted_.push_back(own.empty() ? 0 : own.back().cost);
    most_product = std::max(most_product, one.product);
    least_utilization_ += one.utilization;
  }
  std::ranges::sort(most_sorted_, std::greater<>());
  std::ranges::sort(costs_sorted_, std::greater<>());
  std::ranges::sort(nodes, std::greater<>(), &Least::utilization);
  const std::size_t busy = machine.preemptive ? this->busy(least_utilization_) : machine.cores - 1;
  double left = m_, interfering = 0;
  for (std::size_t i = 0; i < machine.cores - 1 && i < nodes.size(); ++i) {
    if (i < busy) left -= nodes[i].utilization;
    interfering += i < busy ? nodes[i].product : most_product;
  }
  slope_ = 1 / left;
  interference_ = interfering / m_ / left;
}

std::size_t Contention::busy(double utilization) const {
  const std::size_t count =
      machine_.preemptive
          ? static_cast<std::size_t>(std::clamp(std::ceil(utilization - 1e-9) - 1, 0.0, m_ - 1))
          : machine_.cores;
  return std::min(count, options_.size());
}

std::vector<double> Contention::first_weights(double utilization) const {
  std::vector<double> costs, weights(options_.size(), 0);
  for (const std::vector<Option>& own : options_) costs.push_back(own.front().cost);
  std::vector<std::size_t> order(options_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t v) { return costs[v]; });
  for (std::size_t i = 0; i < busy(utilization); ++i) weights[order[i]] = 1;
  return weights;
}

double Contention::growth(const std::vector<double>& weights) const {
  const double share = machine_.preemptive ? 1 : others_;
  double grows = m_;
  for (std::size_t v = 0; v < weights.size(); ++v) grows -= weights[v] * share * least_[v];
  return grows;
}

// Of the nodes one has the shortest period, and no more than its cost is the least.
double Contention::dearest_shortest(Shortest shortest) const {
  double dearest = 0;
  for (const std::vector<Option>& own : options_)
    for (const Option& o : own)
      if (o.period >= shortest.from * (1 - 1e-12) && o.period <= shortest.to * (1 + 1e-12))
        dearest = std::max(dearest, o.cost);
  return dearest;
}

// Without preemption x = (m largest e - least e)/(m - (m - 1) largest u).
double Contention::in_the_way(Shortest shortest) const {
  std::vector<double> costs;
  for (const std::vector<Option>& own : options_) {
    double cheapest = kNever;
    for (const Option& o : own)
      if (o.period >= shortest.from * (1 - 1e-12)) cheapest = std::min(cheapest, o.cost);
    costs.push_back(cheapest);
  }
  std::ranges::sort(costs, std::greater<>());
  return std::max(0.0, slope_ * (sum_of_first(costs, machine_.cores) - dearest_shortest(shortest)));
}

double Contention::first_lead(const Within& within) const {
  const auto at = [&](double q) { return (slope_ * within.least - 1) * q - interference_; };
  const Shortest q = within.shortest;
  return std::max(-q.to, std::min(at(q.from), at(q.to)));
}

// Each response is the lesser of two. Where l is above 0, Devi and Anderson's may be:
// x + least e/m ≥ (l·M + (m - U)·q - least e·(1 - D/m))/D with M = m - Λ largest u and D = M + the
// mean of these u, for x·D is at least the Λ largest e - least e, and l·M + (m - U)·q no more than
// these e. As M grows, this approaches l; it is taken for the least M.
Lateness Contention::lateness(const Within& within) const {
  if (!machine_.preemptive) {
    const double x = in_the_way(within.shortest);
    return {x, x, 1};
  }
  const double lead = first_lead(within), most = std::min(within.most, m_);
  const std::size_t busy = this->busy(most),
                    surely = std::max<std::size_t>(this->busy(within.least), 1);
  const double idle = (m_ - most) * within.shortest.from;
  if (within.early || sum_of_first(costs_sorted_, busy) <= idle) return {lead, lead, 1};
  const double free = std::max(m_ - std::min(sum_of_first(most_sorted_, busy), most), 0.0);
  const double divisor = free + sum_of_first(most_sorted_, surely) / static_cast<double>(surely);
  const double share = free / divisor;
  const double least_cost = dearest_shortest(within.shortest) * (1 - divisor / m_);
  const double over = std::max(0.0, least_cost - idle) / divisor;
  return {lead, share * lead - over + std::min(0.0, (1 - share) * lead), share};
}

}  // namespace carillon::dataflow
