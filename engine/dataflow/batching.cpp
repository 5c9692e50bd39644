#include "dataflow/batching.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace carillon::dataflow {
namespace {

// Jobs of `edge.from` then end where those of `edge.to` begin.
bool aligns(const Edge& edge, std::uint64_t from, std::uint64_t to) {
  const unsigned __int128 made = static_cast<unsigned __int128>(from) * edge.produce;
  const unsigned __int128 read = static_cast<unsigned __int128>(to) * edge.consume;
  return read % made == 0;
}

// Up to what the next job of each of its successors reads.
std::uint64_t most_before(const Graph& graph, NodeId u, const Batches& batches) {
  std::uint64_t most = ~std::uint64_t{0};
  for (const EdgeId e : graph.outputs(u)) {
    const Edge& edge = graph.edges()[e];
    most =
        std::min(most, std::max<std::uint64_t>(batches[edge.to] * edge.consume / edge.produce, 1));
  }
  return most;
}

struct PeriodClass {
  double period;
  std::size_t nodes;  // that have it
};

std::vector<PeriodClass> classes_of(const Graph& graph) {
  std::vector<double> periods;
  for (NodeId v = 0; v < graph.size(); ++v) periods.push_back(graph.period(v));
  std::ranges::sort(periods);
  std::vector<PeriodClass> classes;
  for (const double period : periods) {
    if (classes.empty() || period > classes.back().period * (1 + 1e-12))
      classes.push_back({period, 0});
    ++classes.back().nodes;
  }
  return classes;
}

// How many nodes have jobs that often.
std::size_t sharers(const std::vector<PeriodClass>& classes, double period) {
  std::size_t count = 0;
  for (const PeriodClass& one : classes) {
    if (is_multiple(period, one.period)) count += one.nodes;
  }
  return count;
}

// One of each of so many parts of a range, equal on a logarithmic scale: that which the most nodes
// share, of the first multiples of each node's period.
void add_common_periods(const std::vector<PeriodClass>& classes, double least, double most,
                        std::size_t parts, std::vector<double>& periods) {
  constexpr int kTried = 8;
  double from = least;
  for (std::size_t i = 1; i <= parts && from < most; ++i) {
    const double to =
        least * std::pow(most / least, static_cast<double>(i) / static_cast<double>(parts));
    double best = 0;
    std::size_t shared = 0;
    for (const PeriodClass& one : classes) {
      const double first = std::max(1.0, std::ceil(from / one.period * (1 - 1e-12)));
      for (int k = 0; k < kTried; ++k) {
        const double period = (first + k) * one.period;
        if (period > to * (1 + 1e-12)) break;
        const std::size_t count = sharers(classes, period);
        if (count <= shared) continue;
        shared = count;
        best = period;
      }
    }
    if (shared > 0) periods.push_back(best);
    from = std::nextafter(to * (1 + 1e-12), most);
  }
}

// Those up to a million, and their counterparts: the others of a prime near 2^64 would take
// seconds.
std::vector<std::uint64_t> divisors_of(std::uint64_t number, std::size_t most) {
  constexpr std::uint64_t kTried = 1'000'000;
  std::vector<std::uint64_t> found;
  for (std::uint64_t d = 1; d <= std::min(kTried, number / d) && found.size() < most; ++d)
    if (number % d == 0) {
      found.push_back(d);
      if (d != number / d) found.push_back(number / d);
    }
  return found;
}

}  // namespace

bool is_multiple(double period, double of) {
  const double ratio = period / of;
  return ratio > 0.5 && std::abs(ratio - std::round(ratio)) <= 1e-9 * ratio;
}

Batches uniform(const Graph& graph, std::uint64_t batch) { return Batches(graph.size(), batch); }

Batches rate_exploiting(const Graph& graph, std::uint64_t batch) {
  Batches batches = uniform(graph, 1);
  for (std::size_t i = graph.size(); i-- > 0;) {
    const NodeId u = graph.order()[i];
    if (graph.is_sink(u)) continue;
    const std::uint64_t most = most_before(graph, u, batches);
    if (most == 1) continue;  // of most nodes, and what follows looks at the whole graph
    const std::uint64_t least = samples_to_first_output(graph, batches);
    const auto suits = [&](std::uint64_t b) {
      const auto all = graph.outputs(u);
      const bool aligned = std::ranges::all_of(
          all, [&](EdgeId e) { return aligns(graph.edges()[e], b, batches[graph.edges()[e].to]); });
      if (!aligned) return false;
      Batches with = batches;
      with[u] = b;
      return samples_to_first_output(graph, with) <= least;
    };
    std::vector<std::uint64_t> sizes = divisors_of(most, 1000);
    std::ranges::sort(sizes, std::greater<>());
    const auto largest = std::ranges::find_if(sizes, suits);
    if (largest != sizes.end()) batches[u] = *largest;
  }
  for (std::uint64_t& b : batches) b *= batch;
  return batches;
}

Candidates candidates_within(const Graph& graph, double bound_ns, std::size_t most,
                             double around_ns) {
  Candidates all(graph.size());
  const std::vector<PeriodClass> classes = classes_of(graph);
  const double fastest = classes.front().period;
  const bool few = bound_ns / fastest < static_cast<double>(most + 1);
  std::vector<double> periods;
  if (!few) {
    add_common_periods(classes, fastest, bound_ns, most, periods);
    if (around_ns > 0)
      add_common_periods(classes, std::max(fastest, 0.95 * around_ns),
                         std::min(bound_ns, 1.05 * around_ns), most, periods);
  }
  for (NodeId v = 0; v < graph.size(); ++v) {
    std::vector<std::uint64_t>& own = all[v];
    const double period = graph.period(v);
    own.push_back(1);
    if (few)
      for (std::uint64_t b = 2; static_cast<double>(b) * period <= bound_ns; ++b) own.push_back(b);
    for (const double common : periods)
      if (common > period)
        own.push_back(static_cast<std::uint64_t>(std::floor(common / period * (1 + 1e-12))));
    std::ranges::sort(own);
    own.erase(std::ranges::unique(own).begin(), own.end());
  }
  return all;
}

}  // namespace carillon::dataflow
