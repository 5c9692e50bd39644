#include "dataflow/graph.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace carillon::dataflow {
namespace {

std::string text(Ratio rate) {
  if (rate.denominator == 1) return std::to_string(rate.numerator);
  return std::to_string(rate.numerator) + "/" + std::to_string(rate.denominator);
}

Graph::Links links_of(const GraphSpec& spec, NodeId Edge::*end) {
  Graph::Links all;
  all.first.assign(spec.nodes.size() + 1, 0);
  for (const Edge& edge : spec.edges) ++all.first[edge.*end + 1];
  for (std::size_t v = 1; v < all.first.size(); ++v) all.first[v] += all.first[v - 1];
  std::vector<std::uint32_t> next(all.first.begin(), all.first.end() - 1);
  all.edges.resize(spec.edges.size());
  for (EdgeId e = 0; e < spec.edges.size(); ++e) all.edges[next[spec.edges[e].*end]++] = e;
  return all;
}

}  // namespace

// A graph's properties, as far as they can be found, and what stood in the way.
struct Graph::Derived {
  const GraphSpec& spec;
  Links inputs, outputs;
  std::vector<NodeId> order;
  std::vector<Ratio> rates;
  std::vector<Execution> executions;
  Ratio ticks{0, 1};
  std::vector<GraphProblem> problems;

  explicit Derived(const GraphSpec& s) : spec(s) {
    check_nodes();
    check_edges();
    if (!problems.empty()) return;
    inputs = links_of(spec, &Edge::to);
    outputs = links_of(spec, &Edge::from);
    check_sources();
    sort();
    if (!problems.empty()) return;
    propagate();
    if (!problems.empty()) return;
    count();
  }

  std::span<const EdgeId> in(NodeId v) const { return Graph::links(inputs, v); }
  const std::string& name(NodeId v) const { return spec.nodes[v].name; }

  void at_node(NodeId v, const std::string& message) {
    problems.push_back({v, kNone, "node " + name(v) + ": " + message});
  }
  void at_edge(EdgeId e, const std::string& message) {
    const Edge& edge = spec.edges[e];
    const auto end = [&](NodeId v) {
      return v < spec.nodes.size() ? name(v) : "node " + std::to_string(v);
    };
    problems.push_back(
        {kNone, e, "edge " + end(edge.from) + " -> " + end(edge.to) + ": " + message});
  }

  void check_nodes() {
    if (spec.nodes.empty()) problems.push_back({kNone, kNone, "the graph has no nodes"});
    for (NodeId v = 0; v < spec.nodes.size(); ++v) {
      const Node& node = spec.nodes[v];
      const auto is_time = [](double ns) { return std::isfinite(ns) && ns >= 0; };
      if (!is_time(node.cost.initial)) at_node(v, "its initial cost is no time");
      for (std::size_t i = 0; i < node.cost.pieces.size(); ++i) {
        if (!is_time(node.cost.pieces[i].each)) at_node(v, "a marginal cost is no time");
        const std::uint64_t before = i == 0 ? 0 : node.cost.pieces[i - 1].from;
        if (node.cost.pieces[i].from <= before || (i == 0 && node.cost.pieces[i].from != 1))
          at_node(v, "the pieces of its marginal cost have to begin at 1 and to ascend");
      }
    }
  }

  void check_edges() {
    for (EdgeId e = 0; e < spec.edges.size(); ++e) {
      const Edge& edge = spec.edges[e];
      if (edge.from >= spec.nodes.size() || edge.to >= spec.nodes.size())
        at_edge(e, "one of its ends is no node");
      if (edge.produce == 0) at_edge(e, "it has to produce at least one sample");
      if (edge.consume == 0) at_edge(e, "it has to consume at least one sample");
      if (edge.consume > edge.threshold)
        at_edge(e, "it consumes " + std::to_string(edge.consume) + " samples, more than the " +
                       std::to_string(edge.threshold) + " of its threshold");
    }
  }

  void check_sources() {
    for (NodeId v = 0; v < spec.nodes.size(); ++v) {
      const Ratio rate = spec.nodes[v].rate;
      const bool has_rate = rate.numerator != 0 && rate.denominator != 0;
      if (in(v).empty() && !has_rate)
        at_node(v, "nothing reaches it: it has neither an input nor a rate");
      if (!in(v).empty() && rate.numerator != 0)
        at_node(v, "a rate is a source's, and it has an input");
    }
  }

  // Kahn's order. What is left over lies on a cycle or behind one; who goes back along inputs that
  // are left over, comes to a cycle.
  void sort() {
    std::vector<std::uint32_t> missing(spec.nodes.size());
    for (const Edge& edge : spec.edges) ++missing[edge.to];
    for (NodeId v = 0; v < spec.nodes.size(); ++v)
      if (missing[v] == 0) order.push_back(v);
    for (std::size_t i = 0; i < order.size(); ++i)
      for (const EdgeId e : Graph::links(outputs, order[i]))
        if (--missing[spec.edges[e].to] == 0) order.push_back(spec.edges[e].to);
    if (order.size() == spec.nodes.size()) return;
    NodeId v = 0;
    while (missing[v] == 0) ++v;
    for (std::size_t step = 0; step < spec.nodes.size(); ++step)
      for (const EdgeId e : in(v))
        if (missing[spec.edges[e].from] != 0) {
          v = spec.edges[e].from;
          break;
        }
    at_node(v, "it lies on a cycle; a graph must have none");
  }

  void propagate() {
    rates.resize(spec.nodes.size());
    for (const NodeId v : order) {
      if (in(v).empty()) {
        const Ratio r = spec.nodes[v].rate;
        const std::uint64_t common = std::gcd(r.numerator, r.denominator);
        rates[v] = {r.numerator / common, r.denominator / common};
        continue;
      }
      for (const EdgeId e : in(v)) {
        const Edge& edge = spec.edges[e];
        const auto rate = scaled(rates[edge.from], edge.produce, edge.consume);
        if (!rate) return at_edge(e, "the rate behind it does not fit 64 bits");
        if (rates[v].numerator != 0 && *rate != rates[v])
          return at_edge(e, "through it " + name(v) + " would execute " + text(*rate) +
                                " times a second, and " + text(rates[v]) + " through " +
                                name(spec.edges[in(v)[0]].from) + " -> " + name(v));
        rates[v] = *rate;
      }
    }
  }

  // The tick is the longest of which every source's period is a multiple: their rates' least
  // common multiple.
  void count() {
    for (const NodeId v : order) {
      if (!in(v).empty()) continue;
      const std::uint64_t up = ticks.numerator == 0 ? 1 : ticks.numerator;
      const auto numerator = common_multiple(up, rates[v].numerator);
      if (!numerator)
        return at_node(v, "its rate and the other sources' have no multiple of 64 bits");
      const std::uint64_t down = ticks.numerator == 0 ? 0 : ticks.denominator;
      ticks = {*numerator, std::gcd(down, rates[v].denominator)};
    }
    executions.resize(spec.nodes.size());
    for (const NodeId v : order)
      if (!count(v)) return at_node(v, "how often it executes does not fit 64 bits");
  }

  bool count(NodeId v) {
    if (in(v).empty()) {
      const auto period = scaled(ticks, rates[v].denominator, rates[v].numerator);
      if (!period) return false;
      executions[v] = {1, period->numerator};
      return true;
    }
    std::uint64_t y = 1;
    for (const EdgeId e : in(v)) {
      const Edge& edge = spec.edges[e];
      const Execution u = executions[edge.from];
      const auto samples = product(edge.produce, u.x);
      if (!samples) return false;
      const auto of_edge = product(edge.consume / std::gcd(*samples, edge.consume), u.y);
      if (!of_edge) return false;
      const auto common = common_multiple(y, *of_edge);
      if (!common) return false;
      y = *common;
    }
    const Edge& edge = spec.edges[in(v)[0]];
    const Execution u = executions[edge.from];
    const auto samples = scaled({u.x, 1}, edge.produce, edge.consume);
    const auto x = samples ? scaled(*samples, y, u.y) : std::nullopt;
    if (!x) return false;
    executions[v] = {x->numerator, y};
    return true;
  }
};

std::vector<GraphProblem> Graph::problems(const GraphSpec& spec) { return Derived(spec).problems; }

Graph::Graph(GraphSpec spec) : spec_(std::move(spec)) {
  Derived derived(spec_);
  if (!derived.problems.empty()) throw std::invalid_argument(derived.problems.front().message);
  inputs_ = std::move(derived.inputs);
  outputs_ = std::move(derived.outputs);
  order_ = std::move(derived.order);
  rates_ = std::move(derived.rates);
  executions_ = std::move(derived.executions);
  ticks_ = derived.ticks;
}

}  // namespace carillon::dataflow
