// A cell's schedule in virtual time (engine/frame/virtual_run.hpp).
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "frame/latency_bound.hpp"
#include "frame/opcodes.hpp"
#include "frame/stages.hpp"
#include "frame/virtual_run.hpp"
#include "milestones.hpp"

namespace carillon::bindings {

namespace nb = nanobind;

namespace {

using Spread = std::vector<std::pair<double, double>>;  // share of claims, factor

void check_spread(const Spread& spread) {
  if (spread.empty()) return;
  const auto bad = [](const auto& a, const auto& b) {
    return !(a.first < b.first && a.second <= b.second);
  };
  if (spread.front().first != 0 || spread.back().first != 1 || !(spread.front().second >= 0) ||
      !(spread.back().second < 1e9) ||
      std::adjacent_find(spread.begin(), spread.end(), bad) != spread.end())
    throw nb::value_error("a spread must rise from share 0 to share 1");
}

std::vector<runtime::Cost> costs_of(const std::vector<double>& claim_ns,
                                    const std::vector<double>& chunk_ns, double commit_ns,
                                    const std::vector<Spread>& spread) {
  if (claim_ns.size() != frame::kOps || chunk_ns.size() != frame::kOps)
    throw nb::value_error("claim_ns and chunk_ns must have a value for each opcode");
  if (!spread.empty() && spread.size() != frame::kOps)
    throw nb::value_error("spread must have a value for each opcode");
  const auto ticks = [](double ns) {
    if (!(ns >= 0 && ns < 1e12)) throw nb::value_error("costs must be between 0 and 1e12 ns");
    return static_cast<Tick>(std::llround(ns));
  };
  std::vector<runtime::Cost> costs;
  for (std::size_t op = 0; op < frame::kOps; ++op) {
    runtime::Cost cost{ticks(claim_ns[op]), ticks(chunk_ns[op]), ticks(commit_ns)};
    if (!spread.empty()) {
      check_spread(spread[op]);
      for (const auto& [share, factor] : spread[op]) cost.spread.push_back({share, factor});
    }
    costs.push_back(std::move(cost));
  }
  return costs;
}

void check_cores(std::uint32_t cores) {
  if (cores < 1 || cores > runtime::DeviceMask::kDevices)
    throw nb::value_error("cores must be between 1 and 128");
}

nb::dict simulate(const std::string& plan_text, std::uint32_t cores,
                  const std::vector<double>& claim_ns, const std::vector<double>& chunk_ns,
                  double commit_ns, const std::vector<Spread>& spread, std::uint64_t frames,
                  double packet_ns, bool at_once, std::uint64_t seed) {
  const auto plan = checked_plan(plan_text);
  check_cores(cores);
  if (frames > 100'000) throw nb::value_error("frames must be at most 100000");
  if (!(packet_ns >= 0 && packet_ns < 1e9))
    throw nb::value_error("packet_ns must be between 0 and 1e9");
  if (plan.runtime.policy == "core-groups" && frame::cores(plan.runtime.groups) != cores)
    throw nb::value_error("runtime.groups must have as many cores in all as there are");
  frame::VirtualRun run;
  const frame::VirtualRunOptions options{.cores = cores,
                                         .frames = frames,
                                         .costs = costs_of(claim_ns, chunk_ns, commit_ns, spread),
                                         .grain = frame::by_opcode(plan.runtime.grain),
                                         .packet = std::llround(packet_ns),
                                         .at_once = at_once,
                                         .seed = seed};
  {
    nb::gil_scoped_release released;
    const frame::Frame frame(plan.cell);
    const auto policy =
        runtime::make_policy(plan.runtime.policy, frame::devices_of_opcodes(plan.runtime.groups));
    run = frame::run_in_virtual_time(frame, *policy, options);
  }
  nb::dict result;
  set_milestones(result, run.frames);
  std::vector<double> busy;
  for (const Tick ticks : run.busy) busy.push_back(milliseconds(ticks));
  result["busy"] = busy;
  nb::dict stages;
  for (std::size_t op = 0; op < frame::kOps; ++op)
    if (run.of_opcode[op] != 0)
      stages[nb::str(frame::kOpNames[op].data(), frame::kOpNames[op].size())] =
          milliseconds(run.of_opcode[op]);
  result["stages"] = stages;
  result["claims"] = run.executions.size();
  return result;
}

nb::typed<nb::dict, nb::str, nb::any> bound(const std::string& plan_text, std::uint32_t cores,
                                            const std::vector<double>& claim_ns,
                                            const std::vector<double>& chunk_ns, double commit_ns,
                                            double packet_ns) {
  const auto plan = checked_plan(plan_text);
  check_cores(cores);
  if (claim_ns.size() != frame::kOps || chunk_ns.size() != frame::kOps)
    throw nb::value_error("claim_ns and chunk_ns must have a value for each opcode");
  const frame::WorstCosts costs{claim_ns, chunk_ns, commit_ns, frame::by_opcode(plan.runtime.grain),
                                packet_ns};
  const frame::Frame frame(plan.cell);
  const frame::LatencyBound found = frame::latency_bound(frame, cores, costs);
  const auto put = [](Tick ticks) {
    return ticks == runtime::kNever || ticks == runtime::kAlways ? nb::none()
                                                                 : nb::cast(milliseconds(ticks));
  };
  nb::typed<nb::dict, nb::str, nb::any> result;
  result["uplink"] = put(found.uplink);
  result["downlink"] = put(found.downlink);
  result["slack"] = put(found.slack);
  result["utilization"] = found.utilization;
  return result;
}

nb::dict work(const std::string& plan_text, std::uint32_t cores) {
  const auto plan = checked_plan(plan_text);
  check_cores(cores);
  const frame::Frame frame(plan.cell);
  const frame::FrameGraph graph = frame::build_graph(frame, cores);
  std::vector<std::pair<std::string, std::uint32_t>> instructions;
  for (const auto& one : graph.graph.instructions())
    instructions.emplace_back(frame::kOpNames[one.opcode], one.chunks);
  std::vector<std::size_t> packs;
  for (const auto& of_symbol : graph.work[0].packs)
    for (std::size_t i = 0; i < of_symbol.size(); ++i) packs.push_back(of_symbol[i].size());
  nb::dict result;
  result["instructions"] = instructions;
  result["packs"] = packs;
  return result;
}

}  // namespace

void bind_virtual_run(nb::module_& core) {
  core.def("latency_bound", &bound, nb::arg("plan_text"), nb::kw_only(), nb::arg("cores"),
           nb::arg("claim_ns"), nb::arg("chunk_ns"), nb::arg("commit_ns") = 0.0,
           nb::arg("packet_ns") = 0.0,
           "How late a frame of a cell can be when no claim takes longer than that\n"
           "(engine/frame/latency_bound.hpp): uplink, downlink and slack in ms from its start on\n"
           "air, None without a bound; utilization in cores.");
  core.def(
      "opcodes",
      [] { return std::vector<std::string>(frame::kOpNames.begin(), frame::kOpNames.end()); },
      "What instructions do, in the order in which costs are given.");
  core.def(
      "simulate", &simulate, nb::arg("plan_text"), nb::kw_only(), nb::arg("cores"),
      nb::arg("claim_ns"), nb::arg("chunk_ns"), nb::arg("commit_ns") = 0.0,
      nb::arg("spread") = std::vector<Spread>{}, nb::arg("frames") = 20, nb::arg("packet_ns") = 0.0,
      nb::arg("at_once") = false, nb::arg("seed") = 1,
      nb::sig(
          "def simulate(plan_text: str, *, cores: int, claim_ns: collections.abc.Sequence[float], "
          "chunk_ns: collections.abc.Sequence[float], commit_ns: float = 0.0, "
          "spread: collections.abc.Sequence[collections.abc.Sequence[tuple[float, float]]] = (), "
          "frames: int = 20, packet_ns: float = 0.0, at_once: bool = False, "
          "seed: int = 1) -> dict[str, typing.Any]"),
      "A plan's cell under its policy on imaginary cores in virtual time: nothing is computed "
      "or measured. A claim of N chunks takes claim_ns + N·chunk_ns, by opcode (see "
      "opcodes()), times what is drawn from its spread: points (share of claims, factor) from "
      "share 0 to 1; an instruction's last claim takes commit_ns more. Milestones of each "
      "frame in ms from its start on air, NaN where it has "
      "none; slack, what the tightest task had left to its deadline; missed, how many downlink "
      "symbols were not ready; the time of cores and of "
      "opcodes (stages) in ms. at_once: each frame by itself, its first_packet being when all "
      "its packets are there, instead of at the pace of the air. Raises ValueError on a plan or "
      "costs that cannot be.");
  core.def("work", &work, nb::arg("plan_text"), nb::arg("cores"),
           nb::sig("def work(plan_text: str, cores: int) -> dict[str, typing.Any]"),
           "A frame's instructions on so many cores, opcode and chunks each, and how many code "
           "blocks each chunk of a Decode has (packs). Raises ValueError on a plan that cannot "
           "be.");
}

}  // namespace carillon::bindings
