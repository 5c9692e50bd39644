// Cells on a pool of devices in virtual time (engine/rack/pool_plan.hpp).
#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <memory>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "frame/opcodes.hpp"
#include "milestones.hpp"
#include "rack/pool_plan.hpp"
#include "rack/pool_run.hpp"
#include "runtime/policies/pool/pool_policies.hpp"
#include "runtime/policies/timed.hpp"

namespace carillon::bindings {

namespace nb = nanobind;

namespace {

using Progress = std::function<bool(std::uint64_t)>;

const runtime::DeviceType& known_type(const std::string& name) {
  const auto* type = runtime::find_device_type(name);
  if (type == nullptr) throw nb::value_error(("no device type is called " + name).c_str());
  return *type;
}

using Frames = std::vector<std::unique_ptr<frame::Frame>>;

Frames frames_of(const rack::PoolPlan& plan, const std::vector<std::string>& plan_texts) {
  require(plan_texts.size() == plan.cells.size(),
          "plan_texts must be as many as the pool plan has cells");
  Frames frames;
  for (const std::string& text : plan_texts)
    frames.push_back(std::make_unique<frame::Frame>(checked_plan(text).cell));
  return frames;
}

std::vector<Problem> validate_pool(const std::vector<std::string>& plan_texts,
                                   const std::string& pool_text) {
  std::vector<Problem> problems;
  const rack::PoolPlan plan = rack::parse_pool_plan(pool_text, problems);
  if (problems.empty()) {
    const Frames owned = frames_of(plan, plan_texts);
    std::vector<const frame::Frame*> frames;
    for (const auto& frame : owned) frames.push_back(frame.get());
    problems = rack::check(plan, frames);
  }
  return problems;
}

// Reasons by number: a scheduler's, and after them a rack's (but none).
template <typename Enum>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for (std::uint8_t i = 0; to_string(static_cast<Enum>(i)) != "unknown"; ++i)
    names.emplace_back(to_string(static_cast<Enum>(i)));
  return names;
}

std::uint8_t number(runtime::Reason why) { return static_cast<std::uint8_t>(why); }
std::uint8_t number(rack::Cause cause) {
  static const std::size_t first = names_of<runtime::Reason>().size();
  return static_cast<std::uint8_t>(first + static_cast<std::size_t>(cause) - 1);
}

nb::dict as_dict(const rack::PoolRun& run) {
  std::vector<double> began, latency;
  std::vector<std::uint16_t> cell, devices, server;
  std::vector<std::uint8_t> done, why;
  for (const rack::PoolFrame& each : run.frames) {
    began.push_back(milliseconds(each.began));
    latency.push_back(milliseconds(each.latency));
    cell.push_back(each.cell);
    devices.push_back(each.devices);
    server.push_back(each.server);
    done.push_back(each.done);
    why.push_back(each.lost == rack::Cause::None ? number(each.why) : number(each.lost));
  }
  nb::dict result;
  result["began"] = array_of(std::move(began));
  result["latency"] = array_of(std::move(latency));
  result["cell"] = array_of(std::move(cell));
  result["devices"] = array_of(std::move(devices));
  result["server"] = array_of(std::move(server));
  result["done"] = array_of(std::move(done));
  result["why"] = array_of(std::move(why));
  result["busy"] = run.busy;
  result["memory"] = run.memory;
  result["ports"] = run.ports;
  nb::list moves;
  for (const rack::Move& each : run.moves)
    moves.append(nb::make_tuple(milliseconds(each.decided), milliseconds(each.served), each.cell,
                                each.from, each.to, number(each.why)));
  result["moves"] = moves;
  nb::list joins;
  for (const rack::Join& each : run.joins)
    joins.append(nb::make_tuple(milliseconds(each.at), each.server, each.device, each.cell));
  result["joins"] = joins;
  nb::dict stages;
  for (std::size_t op = 0; op < frame::kOps; ++op)
    if (run.of_opcode[op] != 0)
      stages[nb::str(frame::kOpNames[op].data(), frame::kOpNames[op].size())] =
          run.of_opcode[op] / 1e6;
  result["stages"] = stages;
  result["tasks"] = run.tasks;
  result["copies"] = run.copies;
  result["again"] = run.again;
  result["end"] = milliseconds(run.end);
  nb::list executions;
  const auto expected = [](const runtime::Execution& each) {
    return each.expected == runtime::kNever ? nb::object(nb::none())
                                            : nb::object(nb::float_(milliseconds(each.expected)));
  };
  for (const auto& each : run.executions)
    executions.append(nb::make_tuple(each.what.source, each.what.frame, each.what.instruction,
                                     each.device, each.queue, milliseconds(each.start),
                                     milliseconds(each.end), number(each.placed), number(each.why),
                                     expected(each)));
  result["executions"] = executions;
  return result;
}

std::function<bool(std::uint64_t)> now_and_then(const Progress& progress) {
  if (!progress) return {};
  return [&progress, known = std::uint64_t{0}](std::uint64_t ended) mutable {
    constexpr std::uint64_t kOften = 256;  // frames between two calls, while frames end
    const bool meanwhile = ended == std::exchange(known, ended);
    if (ended % kOften != 0 && !meanwhile) return true;
    const nb::gil_scoped_acquire held;
    return progress(ended);
  };
}

nb::dict simulate_pool(const std::vector<std::string>& plan_texts, const std::string& pool_text,
                       const Progress& progress) {
  std::vector<Problem> problems;
  const rack::PoolPlan plan = rack::parse_pool_plan(pool_text, problems);
  require_none(problems);
  const Frames frames = frames_of(plan, plan_texts);
  std::vector<const frame::Frame*> units;
  for (std::size_t c = 0; c < frames.size(); ++c)
    units.insert(units.end(), plan.cells[c].count, frames[c].get());
  rack::PoolRunOptions options = rack::options_of(plan);
  std::vector<double> decisions;
  if (plan.timed)
    options.around = [&](std::unique_ptr<runtime::Policy> plain) {
      return std::make_unique<runtime::TimedPolicy>(std::move(plain), decisions);
    };
  options.progress = now_and_then(progress);
  rack::PoolRun run;
  {
    const nb::gil_scoped_release released;
    run = rack::run_on_rack(units, rack::rack_of(plan), options);
  }
  nb::dict result = as_dict(run);
  result["decision_ns"] = array_of(std::move(decisions));
  return result;
}

nb::list pool_graph(const std::string& plan_text, const std::string& graph_text) {
  std::vector<Problem> problems;
  const rack::GraphPlan plan = rack::parse_graph_plan(graph_text, problems);
  require_none(problems);
  const frame::Frame frame(checked_plan(plan_text).cell);
  const runtime::DeviceType& type = known_type(plan.device);
  const auto graph = frame::build_pool_graph(frame, {.zero_force_parts = plan.zero_force_parts},
                                             rack::profile_of(plan.profile, plan.measured));
  nb::list result;
  for (std::uint16_t i = 0; i < graph.graph.size(); ++i) {
    const runtime::Work& work = graph.work[i];
    nb::dict each;
    each["opcode"] = nb::str(frame::kOpNames[graph.graph[i].opcode].data(),
                             frame::kOpNames[graph.graph[i].opcode].size());
    each["symbol"] = graph.graph[i].step;
    each["ctas"] = work.footprint.ctas;
    each["sms"] = runtime::sms_needed(type, work.footprint);
    each["alone_us"] =
        work.footprint.ctas == 0 ? 0.0 : static_cast<double>(frame::alone(type, work)) / 1e3;
    each["moved_bytes"] = work.moved;
    each["output_bytes"] = work.output;
    const auto sources = graph.graph[i].waits_for;
    each["sources"] = std::vector<std::uint32_t>(sources.begin(), sources.end());
    result.append(each);
  }
  return result;
}

std::vector<std::string> strings(const std::vector<std::string_view>& views) {
  return {views.begin(), views.end()};
}

}  // namespace

void bind_pool(nb::module_& core) {
  core.def(
      "pool_policies", [] { return strings(runtime::pool_policy_names()); },
      "The policies for a pool of devices.");
  core.def(
      "pool_profiles",
      [] {
        std::vector<std::string> names;
        for (const auto& each : frame::pool_profiles()) names.emplace_back(each.name);
        return names;
      },
      "The assumptions there are about kernels on devices.");
  core.def(
      "device_types",
      [] {
        nb::list types;
        for (const auto& each : runtime::device_types()) {
          nb::dict type;
          type["name"] = std::string(each.name);
          type["host"] = each.host;
          type["sms"] = each.sms;
          type["fp32_flops"] = each.fp32_flops;
          type["half_flops"] = each.half_flops;
          type["memory_bytes_per_s"] = each.memory_bytes_per_s;
          type["memory_bytes"] = each.memory_bytes;
          type["watts"] = each.watts;
          type["source"] = std::string(each.source);
          types.append(type);
        }
        return types;
      },
      nb::sig("def device_types() -> list[dict[str, typing.Any]]"),
      "The types of devices a pool can have, with their published figures.");
  core.def(
      "ctas_per_sm",
      [](const std::string& device_type, std::uint32_t warps, std::uint32_t registers,
         std::uint32_t shared_bytes) {
        return runtime::ctas_per_sm(known_type(device_type), {1, warps, registers, shared_bytes});
      },
      nb::arg("device_type"), nb::arg("warps"), nb::arg("registers"), nb::arg("shared_bytes"),
      "How many CTAs of so many warps, registers of a thread and shared bytes an SM holds at once; "
      "0: it holds none.");
  core.def(
      "reasons",
      [] {
        std::vector<std::string> names = names_of<runtime::Reason>();
        for (const std::string& name : names_of<rack::Cause>() | std::views::drop(1))
          names.push_back(name);
        return names;
      },
      "What the numbers mean that say why.");
  core.def("pool_graph", &pool_graph, nb::arg("plan_text"), nb::arg("graph_text") = "",
           nb::sig("def pool_graph(plan_text: str, graph_text: str = '') "
                   "-> list[dict[str, typing.Any]]"),
           "A frame's instructions on a pool: opcode, symbol, CTAs, SMs and time alone on a device "
           "of a type (as the profile assumes it, or as it was measured), bytes moved over the "
           "host's link and of its result, and the instructions it waits for. graph_text: which "
           "type and profile, see GraphPlan in engine/rack/pool_plan.hpp. Raises ValueError on a "
           "plan that cannot be.");
  core.def("validate_pool", &validate_pool, nb::arg("plan_texts"), nb::arg("pool_text"),
           "What is wrong with a pool plan for its cells; empty when it can be simulated. Raises "
           "ValueError on a cell's plan that cannot be.");
  core.def(
      "simulate_pool", &simulate_pool, nb::arg("plan_texts"), nb::arg("pool_text"), nb::kw_only(),
      nb::arg("progress") = nb::none(),
      nb::sig("def simulate_pool(plan_texts: collections.abc.Sequence[str], pool_text: str, *, "
              "progress: collections.abc.Callable[[int], bool] | None = None) "
              "-> dict[str, typing.Any]"),
      "Cells on servers of imaginary devices in virtual time: nothing is computed or measured. "
      "plan_texts: of each of the pool plan's cells its run plan. pool_text: the pool plan, see "
      "engine/rack/pool_plan.hpp. progress: called now and then with the frames that have ended; "
      "false stops. Frames in the order in which they ended: began and latency in ms, cell, "
      "devices that had part in it, server (65535: none), done, why not (see reasons()); moves: ms "
      "when decided and when done, cell, from, to, why; joins: ms, server, device and the cell "
      "whose NACKs asked for it; shares of each port's time and of each device's SM time, and the "
      "most bytes of its memory that results took, devices of all servers in a row; ms of kernels "
      "and transfers of a frame by opcode; tasks, copies between devices, tasks issued again; "
      "executions (cell, frame, instruction, device, queue, start and end in ms, why there and why "
      "then, and in ms when the policy expected it to end, None: it has no forecast) if they are "
      "kept; where timed, what the policy took for each instruction, in ns of real time: these "
      "alone are measured. Raises ValueError on a pool or cell that cannot be.");
}

}  // namespace carillon::bindings
