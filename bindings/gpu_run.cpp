// Cells on this machine's GPUs (engine/emulator/gpu_run.hpp).
#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>

#include "bindings.hpp"
#include "emulator/gpu_run.hpp"

namespace carillon::bindings {

namespace nb = nanobind;

namespace {

using Progress = std::function<bool(std::uint64_t)>;

nb::dict run_on_gpus(const std::string& plan_text, std::uint64_t frames, std::uint16_t cells,
                     const std::string& policy, std::uint32_t partitions,
                     const Progress& progress) {
  const app::RunPlan plan = checked_plan(plan_text);
  const frame::Frame frame(plan.cell);
  frame::GpuPool pool;
  emulator::GpuRunResult run;
  {
    const nb::gil_scoped_release released;
    constexpr std::size_t kAll = 64;
    pool = frame::this_machines(partitions, frame::blocks_within_symbols(frame) ? kAll : 1);
    emulator::GpuRunOptions options;
    options.frames = frames;
    options.cells = cells;
    options.policy = policy;
    options.deadline =
        frame.duration() + std::llround(plan.cell.deadlines.uplink_budget_ms * kMillisecond);
    options.progress = [&](std::uint64_t ended) {
      const nb::gil_scoped_acquire held;
      return progress(ended);
    };
    run = emulator::run_on_gpus(frame, plan.radio, pool, options);
  }
  nb::list records;
  for (const emulator::GpuFrameRecord& each : run.frames) {
    nb::dict record;
    record["done"] = each.done;
    record["latency_us"] = static_cast<double>(each.latency) / kMicrosecond;
    record["failed_blocks"] = each.failed;
    record["devices"] = each.devices;
    records.append(record);
  }
  nb::dict result;
  result["device"] = pool.name;
  result["devices"] = pool.devices;
  result["sms"] = pool.sms;
  result["blocks"] = run.blocks;
  result["copies"] = run.copies;
  result["frames"] = records;
  return result;
}

}  // namespace

void bind_gpu_run(nb::module_& core) {
  core.def(
      "run_on_gpus", &run_on_gpus, nb::arg("plan_text"), nb::arg("frames"), nb::kw_only(),
      nb::arg("cells"), nb::arg("policy"), nb::arg("partitions"), nb::arg("progress"),
      nb::sig("def run_on_gpus(plan_text: str, frames: int, *, cells: int, policy: str, "
              "partitions: int, progress: collections.abc.Callable[[int], bool]) -> dict[str, "
              "typing.Any]"),
      "Serves so many cells of a plan, as many frames of each, from pinned memory at the pace of "
      "the air on this machine's GPUs, or on so many partitions of the first. `progress` is told "
      "how many frames are over and stops the run with False. Frames in order, of all cells in "
      "turn: `done`, `latency_us` from the last sample to the last result on the host, "
      "`failed_blocks` that are not what was sent, `devices`. RuntimeError says why there is no "
      "GPU. Does not hold the GIL.");
}

}  // namespace carillon::bindings
