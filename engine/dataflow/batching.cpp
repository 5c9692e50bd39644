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

// Evenly on a logarithmic scale, all of them where that is dense.
void spread_evenly(double least, double most, std::size_t count,
                   std::vector<std::uint64_t>& values) {
  for (std::size_t i = 0; i < count; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(count - 1);
    const double even = most - least < static_cast<double>(count)
                            ? least + static_cast<double>(i)
                            : least * std::pow(most / least, share);
    if (even <= most * (1 + 1e-12)) values.push_back(static_cast<std::uint64_t>(std::round(even)));
  }
}

std::vector<std::uint64_t> divisors_of(std::uint64_t number, std::size_t most) {
  std::vector<std::uint64_t> found;
  for (std::uint64_t d = 1; d <= number / d && found.size() < most; ++d)
    if (number % d == 0) {
      found.push_back(d);
      if (d != number / d) found.push_back(number / d);
    }
  return found;
}

}  // namespace

Batches uniform(const Graph& graph, std::uint64_t batch) { return Batches(graph.size(), batch); }

Batches rate_exploiting(const Graph& graph, std::uint64_t batch) {
  Batches batches = uniform(graph, 1);
  for (std::size_t i = graph.size(); i-- > 0;) {
    const NodeId u = graph.order()[i];
    if (graph.is_sink(u)) continue;
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
    std::vector<std::uint64_t> sizes = divisors_of(most_before(graph, u, batches), 1000);
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
  const auto within = [&](NodeId v) {
    return static_cast<std::uint64_t>(std::clamp(bound_ns / graph.period(v), 1.0, 1e15));
  };
  double slowest = 0;
  bool few = true;
  for (NodeId v = 0; v < graph.size(); ++v) {
    slowest = std::max(slowest, graph.period(v));
    few = few && within(v) <= most;
  }
  std::vector<std::uint64_t> multiples;
  const double top = std::max(bound_ns / slowest, 1.0);
  spread_evenly(1, top, most, multiples);
  if (around_ns > 0)
    spread_evenly(std::max(std::floor(0.95 * around_ns / slowest), 1.0),
                  std::min(1.05 * around_ns / slowest, top), most, multiples);
  for (NodeId v = 0; v < graph.size(); ++v) {
    std::vector<std::uint64_t>& own = all[v];
    if (few) {
      own.resize(within(v));
      std::iota(own.begin(), own.end(), std::uint64_t{1});
      continue;
    }
    const double each = slowest / graph.period(v);
    for (const std::uint64_t multiple : multiples)
      own.push_back(static_cast<std::uint64_t>(
          std::floor(static_cast<double>(multiple) * each * (1 + 1e-12))));
    for (const std::uint64_t d : divisors_of(own.front(), most / 4)) own.push_back(d);
    std::ranges::sort(own);
    own.erase(std::ranges::unique(own).begin(), own.end());
  }
  return all;
}

}  // namespace carillon::dataflow
