// What a cell's stages cost on this machine (engine/emulator/calibration.hpp), and the cell in real
// time from memory (engine/emulator/memory_run.hpp).
#include "emulator/calibration.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "bindings.hpp"
#include "emulator/memory_run.hpp"
#include "frame/opcodes.hpp"
#include "frame/stages.hpp"
#include "milestones.hpp"

namespace carillon::bindings {

namespace nb = nanobind;

namespace {

using emulator::Calibration;
using emulator::ClaimTime;
using emulator::MemoryRun;

nb::object column(const std::vector<ClaimTime>& claims, std::uint32_t ClaimTime::*member) {
  std::vector<std::uint32_t> values;
  values.reserve(claims.size());
  for (const ClaimTime& claim : claims) values.push_back(claim.*member);
  return array_of(std::move(values));
}

void check_workers(std::uint32_t workers) {
  if (workers < 1 || workers > runtime::DeviceMask::kDevices)
    throw nb::value_error("workers must be between 1 and 128");
}

nb::dict time(Calibration& calibration, std::uint32_t grain, std::uint64_t frames) {
  if (grain < 1) throw nb::value_error("grain must be at least 1");
  std::vector<ClaimTime> claims;
  {
    nb::gil_scoped_release released;
    claims = calibration.time(grain, frames);
  }
  nb::dict result;
  result["opcode"] = column(claims, &ClaimTime::opcode);
  result["chunks"] = column(claims, &ClaimTime::chunks);
  result["ns"] = column(claims, &ClaimTime::ns);
  return result;
}

template <typename Items, typename Of>
nb::object array_by(const Items& items, Of&& of) {
  std::vector<decltype(of(*std::begin(items)))> values;
  values.reserve(std::size(items));
  for (const auto& item : items) values.push_back(of(item));
  return array_of(std::move(values));
}

// When what happened, in ms from the first frame's start on air.
void set_times(nb::dict& result, const emulator::MemoryRunResult& run) {
  const auto at = [&](Tick when) { return milliseconds(when - run.starts.front()); };
  result["starts"] = array_by(run.starts, at);
  const auto gaps = [&](const std::vector<emulator::MemoryGap>& from) {
    return nb::make_tuple(array_by(from, [&](const auto& gap) { return at(gap.start); }),
                          array_by(from, [](const auto& gap) { return milliseconds(gap.length); }));
  };
  result["idle"] = gaps(run.idle);
  result["bringing"] = gaps(run.bringing);
  using telemetry::TraceEvent;
  result["traced"] = nb::make_tuple(
      array_by(run.traced, [&](const TraceEvent& claim) { return at(claim.start); }),
      array_by(run.traced, [](const TraceEvent& claim) { return milliseconds(claim.duration); }),
      array_by(run.traced, [](const TraceEvent& claim) { return std::uint32_t{claim.code}; }),
      array_by(run.traced, [](const TraceEvent& claim) { return std::uint32_t{claim.count}; }));
}

nb::dict run(MemoryRun& memory, const std::string& plan_text, std::uint64_t frames, bool at_once,
             bool traced) {
  const auto plan = checked_plan(plan_text);
  if (frames < 1 || frames > 100'000) throw nb::value_error("frames must be 1 to 100000");
  if (plan.runtime.policy == "core-groups" && frame::cores(plan.runtime.groups) != memory.workers())
    throw nb::value_error("runtime.groups must have as many cores in all as there are workers");
  emulator::MemoryRunResult run;
  {
    nb::gil_scoped_release released;
    const auto policy =
        runtime::make_policy(plan.runtime.policy, frame::devices_of_opcodes(plan.runtime.groups));
    run = memory.run(*policy, {.frames = frames,
                               .grain = frame::by_opcode(plan.runtime.grain),
                               .at_once = at_once,
                               .traced = traced});
  }
  nb::dict result;
  set_milestones(result, run.frames);
  std::vector<double> busy;
  for (const Tick ticks : run.busy) busy.push_back(milliseconds(ticks));
  result["busy"] = array_of(std::move(busy)).attr("reshape")(run.frames.size(), frame::kOps);
  set_times(result, run);
  result["claims"] = run.claims;
  result["instructions"] = run.instructions;
  result["blocks_failed"] = run.blocks_failed;
  nb::list workers;
  for (const emulator::MemoryWorker& worker : run.workers) {
    nb::dict times;
    times["lasted"] = milliseconds(worker.lasted);
    times["kernels"] = milliseconds(worker.kernels);
    times["scheduling"] = milliseconds(worker.scheduling);
    times["claiming"] = milliseconds(worker.claiming);
    times["arriving"] = milliseconds(worker.arriving);
    workers.append(times);
  }
  result["workers"] = workers;
  result["complaint"] = run.complaint;
  return result;
}

}  // namespace

void bind_calibration(nb::module_& core) {
  nb::class_<Calibration>(core, "Calibration",
                          "A cell's stages timed in place, on one core, from samples in memory.")
      .def(
          "__init__",
          [](Calibration* self, const std::string& plan_text, std::uint32_t workers) {
            const auto plan = checked_plan(plan_text);
            check_workers(workers);
            nb::gil_scoped_release released;
            new (self) Calibration(plan.cell, plan.radio, workers);
          },
          nb::arg("plan_text"), nb::arg("workers") = 1,
          "Makes the samples. Code blocks are packed as for so many workers. Raises ValueError on "
          "a plan that cannot be.")
      .def("time", &time, nb::arg("grain"), nb::arg("frames") = 1,
           nb::sig("def time(self, grain: int, frames: int = 1) -> dict[str, "
                   "numpy.typing.NDArray[numpy.uint32]]"),
           "Runs frames with claims of at most `grain` chunks. One entry for each claim: opcode "
           "(see opcodes()), chunks and ns.");
  nb::class_<MemoryRun>(core, "MemoryRun",
                        "A cell in real time on worker threads, its samples from memory.")
      .def(
          "__init__",
          [](MemoryRun* self, const std::string& plan_text, std::uint32_t workers) {
            const auto plan = checked_plan(plan_text);
            check_workers(workers);
            nb::gil_scoped_release released;
            new (self) MemoryRun(plan.cell, plan.radio, workers);
          },
          nb::arg("plan_text"), nb::arg("workers"),
          "Makes the samples. Raises ValueError on a plan that cannot be.")
      .def("run", &run, nb::arg("plan_text"), nb::kw_only(), nb::arg("frames"),
           nb::arg("at_once") = false, nb::arg("traced") = false,
           nb::sig("def run(self, plan_text: str, *, frames: int, at_once: bool = False, "
                   "traced: bool = False) -> dict[str, typing.Any]"),
           "Runs frames of the same cell, under the policy and the job sizes of this plan. As "
           "simulate() tells them, but measured; busy, the core time of each frame and opcode in "
           "ms; starts, when frames were on air; idle and bringing, when and for how long workers "
           "without a claim stood still, or began frames and brought packets; traced, where "
           "asked for, when, for how long, opcode and chunks of claims, the newest of each worker; "
           "claims of all frames, instructions of one; blocks_failed, uplink blocks whose check "
           "failed; workers, where the time of each went in ms, the rest being waiting; complaint, "
           "why the threads were no real-time ones.");
}

}  // namespace carillon::bindings
