// A cell's schedule in virtual time (engine/frame/virtual_run.hpp).
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "frame/opcodes.hpp"
#include "frame/stages.hpp"
#include "frame/virtual_run.hpp"

namespace carillon::bindings {

namespace nb = nanobind;

namespace {

using frame::VirtualFrame;
using runtime::kNever;

double milliseconds(Tick ticks) {
  return static_cast<double>(ticks) / static_cast<double>(kMillisecond);
}

nb::object milliseconds(const frame::VirtualRun& run, Tick VirtualFrame::*milestone) {
  auto* values = new std::vector<double>;
  const nb::capsule owner(values,
                          [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  for (const VirtualFrame& one : run.frames)
    values->push_back(one.*milestone == kNever ? std::numeric_limits<double>::quiet_NaN()
                                               : milliseconds(one.*milestone));
  return nb::cast(nb::ndarray<nb::numpy, double>(values->data(), {values->size()}, owner));
}

std::vector<runtime::Cost> costs_of(const std::vector<double>& claim_ns,
                                    const std::vector<double>& chunk_ns) {
  if (claim_ns.size() != frame::kOps || chunk_ns.size() != frame::kOps)
    throw nb::value_error("claim_ns and chunk_ns must have a value for each opcode");
  std::vector<runtime::Cost> costs;
  for (std::size_t op = 0; op < frame::kOps; ++op) {
    if (!(claim_ns[op] >= 0 && chunk_ns[op] >= 0 && claim_ns[op] < 1e12 && chunk_ns[op] < 1e12))
      throw nb::value_error("costs must be between 0 and 1e12 ns");
    costs.push_back({std::llround(claim_ns[op]), std::llround(chunk_ns[op])});
  }
  return costs;
}

nb::dict simulate(const std::string& plan_text, std::uint32_t cores,
                  const std::vector<double>& claim_ns, const std::vector<double>& chunk_ns,
                  std::uint64_t frames, double packet_ns) {
  const auto plan = checked_plan(plan_text);
  if (cores < 1 || cores > runtime::DeviceMask::kDevices)
    throw nb::value_error("cores must be between 1 and 128");
  if (frames > 100'000) throw nb::value_error("frames must be at most 100000");
  if (!(packet_ns >= 0 && packet_ns < 1e9))
    throw nb::value_error("packet_ns must be between 0 and 1e9");
  if (plan.runtime.policy == "core-groups" && frame::cores(plan.runtime.groups) != cores)
    throw nb::value_error("runtime.groups must have as many cores in all as there are");
  frame::VirtualRun run;
  {
    nb::gil_scoped_release released;
    const frame::Frame frame(plan.cell);
    const auto policy =
        runtime::make_policy(plan.runtime.policy, frame::devices_of_opcodes(plan.runtime.groups));
    run = frame::run_in_virtual_time(frame, *policy,
                                     {.cores = cores,
                                      .frames = frames,
                                      .costs = costs_of(claim_ns, chunk_ns),
                                      .grain = frame::by_opcode(plan.runtime.grain),
                                      .packet = std::llround(packet_ns)});
  }
  nb::dict result;
  result["first_packet"] = milliseconds(run, &VirtualFrame::first_packet);
  result["started"] = milliseconds(run, &VirtualFrame::started);
  result["pilots_done"] = milliseconds(run, &VirtualFrame::pilots_done);
  result["combiner_done"] = milliseconds(run, &VirtualFrame::combiner_done);
  result["uplink_done"] = milliseconds(run, &VirtualFrame::uplink_done);
  result["downlink_first"] = milliseconds(run, &VirtualFrame::downlink_first);
  result["slack"] = milliseconds(run, &VirtualFrame::slack);
  std::vector<std::uint32_t> missed;
  std::vector<bool> completed;
  for (const VirtualFrame& one : run.frames) {
    missed.push_back(one.missed);
    completed.push_back(one.completed);
  }
  result["missed"] = missed;
  result["completed"] = completed;
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

}  // namespace

void bind_virtual_run(nb::module_& core) {
  core.def(
      "opcodes",
      [] { return std::vector<std::string>(frame::kOpNames.begin(), frame::kOpNames.end()); },
      "What instructions do, in the order in which costs are given.");
  core.def(
      "simulate", &simulate, nb::arg("plan_text"), nb::kw_only(), nb::arg("cores"),
      nb::arg("claim_ns"), nb::arg("chunk_ns"), nb::arg("frames") = 20, nb::arg("packet_ns") = 0.0,
      nb::sig(
          "def simulate(plan_text: str, *, cores: int, claim_ns: collections.abc.Sequence[float], "
          "chunk_ns: collections.abc.Sequence[float], frames: int = 20, "
          "packet_ns: float = 0.0) -> dict[str, typing.Any]"),
      "A plan's cell under its policy on imaginary cores in virtual time: nothing is computed "
      "or measured. A claim of N chunks takes claim_ns + N·chunk_ns, by opcode (see "
      "opcodes()). Milestones of each frame in ms from its start on air, NaN where it has "
      "none; slack, what the tightest task had left to its deadline; missed, how many downlink "
      "symbols were not ready; the time of cores and of "
      "opcodes (stages) in ms. Raises ValueError on a plan or costs "
      "that cannot be.");
}

}  // namespace carillon::bindings
