// Flowgraphs, their batches and bounds (engine/dataflow).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "dataflow/batching.hpp"
#include "dataflow/latency.hpp"
#include "dataflow/optimum.hpp"
#include "dataflow/simulation.hpp"
#include "dataflow/synthetic.hpp"

namespace carillon::bindings {

namespace nb = nanobind;

namespace {

using Result = nb::typed<nb::dict, nb::str, nb::any>;
using dataflow::Batches;
using dataflow::Graph;
using dataflow::Machine;
using Pieces = std::vector<std::pair<std::uint64_t, double>>;  // from that execution on, ns each
// Name, I in ns, pieces of Δ, executions a second (numerator, denominator; 0, 1: it has inputs).
using NodeRow = std::tuple<std::string, double, Pieces, std::uint64_t, std::uint64_t>;
// From, to, produce, threshold, consume.
using EdgeRow =
    std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t>;

dataflow::GraphSpec spec_of(const std::vector<NodeRow>& nodes, const std::vector<EdgeRow>& edges) {
  dataflow::GraphSpec spec;
  for (const auto& [name, initial, pieces, numerator, denominator] : nodes) {
    dataflow::Node node{name, {initial, {}}, {numerator, denominator}};
    for (const auto& [from, each] : pieces) node.cost.pieces.push_back({from, each});
    spec.nodes.push_back(std::move(node));
  }
  for (const auto& [from, to, produce, threshold, consume] : edges)
    spec.edges.push_back({from, to, produce, threshold, consume});
  return spec;
}

nb::typed<nb::tuple, std::vector<NodeRow>, std::vector<EdgeRow>> rows_of(
    const dataflow::GraphSpec& spec) {
  std::vector<NodeRow> nodes;
  std::vector<EdgeRow> edges;
  for (const dataflow::Node& node : spec.nodes) {
    Pieces pieces;
    for (const auto& piece : node.cost.pieces) pieces.emplace_back(piece.from, piece.each);
    nodes.emplace_back(node.name, node.cost.initial, pieces, node.rate.numerator,
                       node.rate.denominator);
  }
  for (const dataflow::Edge& edge : spec.edges)
    edges.emplace_back(edge.from, edge.to, edge.produce, edge.threshold, edge.consume);
  return nb::make_tuple(nodes, edges);
}

Machine machine_of(std::uint32_t cores, bool preemptive) {
  if (cores < 1 || cores > 4096) throw nb::value_error("cores must be between 1 and 4096");
  return {cores, preemptive};
}

// Batches whose products with rates keep 64 bits.
const Batches& checked(const Graph& graph, const Batches& batches) {
  if (batches.size() != graph.size())
    throw nb::value_error("batches must have a value for each node");
  for (const std::uint64_t b : batches)
    if (b < 1 || b > 1'000'000'000'000)
      throw nb::value_error("a batch must be between 1 and 1e12 executions");
  return batches;
}

std::vector<double> responses(const std::vector<dataflow::Task>& tasks, Machine machine,
                              const std::string& formula) {
  if (formula == "least") return response_bounds(tasks, machine);
  if (formula == "devi-anderson") return devi_anderson(tasks, machine);
  if (formula == "any") {
    std::vector<double> bounds = response_bounds(tasks, machine);
    const std::vector<double> light = light_load(tasks, machine);
    for (std::size_t i = 0; i < light.size(); ++i) bounds[i] = std::min(bounds[i], light[i]);
    return bounds;
  }
  if (!machine.preemptive)
    throw nb::value_error("without preemption the formulas are any, least and devi-anderson");
  if (formula == "compliant-vector") return compliant_vector(tasks, machine.cores);
  if (formula == "fair-lateness")
    return compliant_vector(tasks, machine.cores, dataflow::PriorityPoint::Fair);
  throw nb::value_error(
      "formula must be any, least, devi-anderson, compliant-vector or fair-lateness");
}

Result latency(const Graph& graph, const Batches& batches, std::uint32_t cores, bool preemptive,
               const std::string& formula) {
  const Machine machine = machine_of(cores, preemptive);
  const std::string why = unbounded(graph, checked(graph, batches), machine);
  if (!why.empty()) throw nb::value_error(why.c_str());
  const auto tasks = tasks_of(graph, batches);
  const dataflow::Latency found = latency_of(graph, batches, responses(tasks, machine, formula));
  std::vector<double> periods, costs;
  for (const dataflow::Task& task : found.tasks) {
    periods.push_back(task.period);
    costs.push_back(task.cost);
  }
  Result result;
  result["bound_ns"] = found.bound;
  result["filling_ns"] = found.filling;
  result["responding_ns"] = found.responding;
  result["spreading_ns"] = found.spreading;
  result["utilization"] = found.utilization;
  result["periods_ns"] = periods;
  result["costs_ns"] = costs;
  result["responses_ns"] = found.responses;
  result["critical"] = found.critical;
  result["buffers"] = found.buffers;
  return result;
}

Result dict_of(const dataflow::Choice& choice) {
  Result result;
  result["batches"] = choice.batches;
  result["utilization"] = choice.utilization;
  result["bound_ns"] = choice.bound_ns;
  result["least"] = choice.least;
  result["proven"] = choice.proven;
  return result;
}

using Search = dataflow::Choice (*)(const Graph&, const dataflow::Demand&, std::size_t,
                                    const dataflow::SearchLimits&);

Result search(const Graph& graph, Search how, double bound_ns, std::uint32_t cores, bool preemptive,
              std::size_t most, double gap, std::uint32_t ranges, std::uint64_t steps) {
  if (!(bound_ns > 0) || !std::isfinite(bound_ns) || bound_ns > 1e15)
    throw nb::value_error("a bound must be above 0 and at most 1e15 ns");
  if (most < 2 || most > 4096) throw nb::value_error("most must be between 2 and 4096");
  const dataflow::Demand demand{machine_of(cores, preemptive), bound_ns};
  dataflow::Choice found;
  {
    nb::gil_scoped_release released;
    found = how(graph, demand, most, {.gap = gap, .ranges = ranges, .steps = steps});
  }
  return dict_of(found);
}

Result simulate(const Graph& graph, const Batches& batches, std::uint32_t cores, bool preemptive,
                double seconds, std::uint64_t seed, double least_cost, double most_delay) {
  const Machine machine = machine_of(cores, preemptive);
  const dataflow::Timeline timeline = timeline_of(graph, checked(graph, batches));
  dataflow::SimulationOptions options{machine, 0, seed, least_cost, most_delay};
  const double until = seconds * 1e9 / timeline.unit_ns;
  if (!(until >= 1 && until < 9e18)) throw nb::value_error("seconds must be above 0");
  options.until = static_cast<std::int64_t>(until);
  dataflow::Simulated found;
  std::int64_t latency = 0;
  {
    nb::gil_scoped_release released;
    found = simulate(timeline.workload, options);
    latency = longest_latency(graph, batches, timeline, found);
  }
  Result result;
  std::vector<double> response;
  for (const std::int64_t units : found.response)
    response.push_back(static_cast<double>(units) * timeline.unit_ns);
  result["latency_ns"] = static_cast<double>(latency) * timeline.unit_ns;
  result["responses_ns"] = response;
  result["most"] = found.most;
  result["events"] = found.events;
  result["preempted"] = found.preempted;
  return result;
}

nb::typed<nb::tuple, std::vector<NodeRow>, std::vector<EdgeRow>> synthetic(
    std::uint64_t seed, std::uint32_t least_nodes, std::uint32_t most_nodes,
    std::uint64_t least_period_ns, std::uint64_t most_period_ns, double joins, double decimates) {
  if (least_nodes < 1 || most_nodes < least_nodes || most_nodes > 100'000)
    throw nb::value_error("nodes must be between 1 and 100000");
  if (least_period_ns < 1 || most_period_ns < least_period_ns || most_period_ns > 1'000'000'000)
    throw nb::value_error("periods must be between 1 and 1e9 ns");
  dataflow::SyntheticRanges ranges;
  ranges.least_period_ns = least_period_ns;
  ranges.most_period_ns = most_period_ns;
  ranges.least_nodes = least_nodes;
  ranges.most_nodes = most_nodes;
  ranges.joins = joins;
  ranges.decimates = decimates;
  return rows_of(synthetic_graph(seed, ranges));
}

}  // namespace

void bind_dataflow(nb::module_& core) {
  using namespace nb::literals;
  core.def(
      "flowgraph_problems",
      [](const std::vector<NodeRow>& nodes, const std::vector<EdgeRow>& edges) {
        std::vector<
            std::tuple<std::optional<std::uint32_t>, std::optional<std::uint32_t>, std::string>>
            found;
        const auto place = [](std::uint32_t id) {
          return id == dataflow::kNone ? std::nullopt : std::optional(id);
        };
        for (const dataflow::GraphProblem& problem : Graph::problems(spec_of(nodes, edges)))
          found.emplace_back(place(problem.node), place(problem.edge), problem.message);
        return found;
      },
      "nodes"_a, "edges"_a,
      "What is wrong with a flowgraph: node, edge, and a sentence, of each problem.\n\n"
      "nodes: (name, I in ns, [(from that execution on, ns for each)], rate's numerator and\n"
      "denominator in 1/s; 0, 1 of nodes with inputs). edges: (from, to, produce, threshold,\n"
      "consume).");
  core.def("synthetic_flowgraph", &synthetic, "seed"_a, "least_nodes"_a, "most_nodes"_a,
           "least_period_ns"_a = 10'000, "most_period_ns"_a = 50'000, "joins"_a = 0.25,
           "decimates"_a = 0.25,
           "Nodes and edges of a graph drawn at random (engine/dataflow/synthetic.hpp).");
  nb::class_<Graph>(core, "Flowgraph",
                    "A processing graph with consistent rates (engine/dataflow/graph.hpp).")
      .def(
          "__init__",
          [](Graph* self, const std::vector<NodeRow>& nodes, const std::vector<EdgeRow>& edges) {
            new (self) Graph(spec_of(nodes, edges));
          },
          "nodes"_a, "edges"_a, "ValueError with the first of flowgraph_problems.")
      .def(
          "rates",
          [](const Graph& graph) {
            std::vector<std::pair<std::uint64_t, std::uint64_t>> rates;
            for (dataflow::NodeId v = 0; v < graph.size(); ++v)
              rates.emplace_back(graph.rate(v).numerator, graph.rate(v).denominator);
            return rates;
          },
          "Executions a second of each node, as numerator and denominator.")
      .def(
          "executions",
          [](const Graph& graph) {
            std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
            for (dataflow::NodeId v = 0; v < graph.size(); ++v)
              all.emplace_back(graph.execution(v).x, graph.execution(v).y);
            return all;
          },
          "(x, y) of each node: x executions in every y ticks.")
      .def("ticks",
           [](const Graph& graph) {
             return std::pair(graph.ticks().numerator, graph.ticks().denominator);
           })
      .def("rate_exploiting", &dataflow::rate_exploiting, "batch"_a,
           "Batches up to each rate drop, times `batch`.")
      .def(
          "first_output",
          [](const Graph& graph, const Batches& batches) {
            return samples_to_first_output(graph, checked(graph, batches));
          },
          "batches"_a, "F: samples of a source before every sink has something to give.")
      .def(
          "utilization",
          [](const Graph& graph, const Batches& batches) {
            return utilization(tasks_of(graph, checked(graph, batches)));
          },
          "batches"_a, "Cores that all nodes need together.")
      .def(
          "unbounded",
          [](const Graph& graph, const Batches& batches, std::uint32_t cores) {
            return unbounded(graph, checked(graph, batches), machine_of(cores, true));
          },
          "batches"_a, "cores"_a, "Why there is no bound; empty if there is one.")
      .def("latency", &latency, "batches"_a, "cores"_a, "preemptive"_a = true,
           "formula"_a = "least",
           "The end-to-end bound and its parts (engine/dataflow/latency.hpp). formula: least,\n"
           "any (of these and of a light load), devi-anderson, and with preemption "
           "compliant-vector or fair-lateness. ValueError if\n"
           "there is no bound.")
      .def(
          "least_utilization",
          [](const Graph& graph, double bound_ns, std::uint32_t cores, bool preemptive,
             std::size_t most, double gap, std::uint32_t ranges, std::uint64_t steps) {
            return search(graph, &dataflow::least_utilization, bound_ns, cores, preemptive, most,
                          gap, ranges, steps);
          },
          "bound_ns"_a, "cores"_a, "preemptive"_a = true, "most"_a = 64, "gap"_a = 1e-9,
          "ranges"_a = 4000, "steps"_a = 500'000'000,
          "The batches of least utilization within the bound (engine/dataflow/optimum.hpp); of "
          "each\n"
          "node about `most` batch sizes are candidates.")
      .def(
          "least_bound",
          [](const Graph& graph, double bound_ns, std::uint32_t cores, bool preemptive,
             std::size_t most, double gap, std::uint32_t ranges, std::uint64_t steps) {
            return search(graph, &dataflow::least_bound, bound_ns, cores, preemptive, most, gap,
                          ranges, steps);
          },
          "bound_ns"_a, "cores"_a, "preemptive"_a = true, "most"_a = 64, "gap"_a = 1e-9,
          "ranges"_a = 4000, "steps"_a = 500'000'000,
          "The batches of the least bound, which is at most bound_ns, for these cores.")
      .def("simulate", &simulate, "batches"_a, "cores"_a, "preemptive"_a = true, "seconds"_a = 1.0,
           "seed"_a = 1, "least_cost"_a = 1.0, "most_delay"_a = 0.0,
           "Global EDF in virtual time (engine/dataflow/simulation.hpp).");
}

}  // namespace carillon::bindings
