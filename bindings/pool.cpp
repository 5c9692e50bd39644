// Cells on a pool of devices in virtual time (engine/rack/pool_run.hpp).
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "frame/opcodes.hpp"
#include "milestones.hpp"
#include "rack/pool_run.hpp"
#include "runtime/policies/pool/pool_policies.hpp"
#include "runtime/policies/timed.hpp"

namespace carillon::bindings {

namespace nb = nanobind;

namespace {

using Node = std::tuple<std::string, std::uint16_t, double, double>;  // parent, B/s, ns
using Device =
    std::tuple<std::string, std::uint16_t, std::uint32_t, std::uint32_t, std::uint64_t, bool>;
using Degrees = std::map<std::string, double>;
using Server = std::pair<std::vector<Node>, std::vector<Device>>;
using Fault = std::tuple<double, std::uint16_t, std::optional<std::uint16_t>, std::string, double>;
// Opcode, footprint (CTAs, warps, registers, shared bytes), µs alone, bytes, CTAs and µs of many.
using Kernel =
    std::tuple<std::string, std::vector<std::uint32_t>, double, double, std::uint32_t, double>;
using Measured = std::pair<std::string, std::vector<Kernel>>;  // type of the device
using Background = std::tuple<std::uint16_t, std::uint16_t, std::uint32_t,
                              std::vector<std::uint32_t>, double, double>;

Tick ticks(double value, double unit, const char* what) {
  const double ns = value * unit;
  if (!(ns >= 0 && ns < 1e16))
    throw nb::value_error((std::string(what) + " is out of range").c_str());
  return std::llround(ns);
}

runtime::Fault::Kind fault_kind(const std::string& name) {
  if (name == "lost") return runtime::Fault::Kind::Lost;
  if (name == "hung") return runtime::Fault::Kind::Hung;
  if (name == "back") return runtime::Fault::Kind::Back;
  throw nb::value_error(("a fault is lost, hung or back, not " + name).c_str());
}

const runtime::DeviceType& known_type(const std::string& name) {
  const auto* type = runtime::find_device_type(name);
  if (type == nullptr) throw nb::value_error(("no device type is called " + name).c_str());
  return *type;
}

runtime::PoolModel model_of(const Server& server, const Degrees& degrees,
                            const std::vector<double>& host_ns, std::pair<double, double> jitter,
                            std::uint64_t seed) {
  const auto& [nodes, devices] = server;
  std::vector<runtime::FabricNode> fabric;
  for (const auto& [name, parent, bandwidth, latency] : nodes)
    fabric.push_back({name, parent, bandwidth, ticks(latency, 1, "a latency")});
  const auto built = runtime::Fabric::build(fabric);
  if (!built.fabric) throw nb::value_error(built.error.c_str());
  runtime::PoolModel model;
  model.fabric = *built.fabric;
  for (const auto& [type, node, queues, reserved, memory, reserve] : devices) {
    const auto* known = &known_type(type);
    if ((node == 0) != known->host || node >= nodes.size() || queues < 3)
      throw nb::value_error(
          "a device needs a node of its own, a host's cores node 0, and both at least 3 queues");
    model.devices.push_back({known, node, queues, reserved, memory});
    model.devices.back().reserve = reserve;
    if (const auto own = degrees.find(type); own != degrees.end())
      model.devices.back().degree = own->second;
  }
  if (devices.empty() || devices.size() > 64)
    throw nb::value_error("a pool has between 1 and 64 devices");
  if (host_ns.size() != 4) throw nb::value_error("host_ns: decision, launch, notify, gap");
  model.host = {ticks(host_ns[0], 1, "host_ns"), ticks(host_ns[1], 1, "host_ns"),
                ticks(host_ns[2], 1, "host_ns"), ticks(host_ns[3], 1, "host_ns")};
  model.jitter = {jitter.first, jitter.second};
  model.seed = seed;
  return model;
}

runtime::PoolModel& server_of(rack::RackModel& rack, std::uint16_t server) {
  if (server >= rack.servers.size())
    throw nb::value_error("what names a server names one that is not there");
  return rack.servers[server];
}

void add_faults(rack::RackModel& rack, const std::vector<Fault>& faults) {
  for (const auto& [at_ms, server, device, what, noticed_ms] : faults) {
    runtime::PoolModel& of = server_of(rack, server);
    const Tick at = ticks(at_ms, 1e6, "a fault"), noticed = ticks(noticed_ms, 1e6, "a fault");
    const auto kind = fault_kind(what);
    if (!device && kind == runtime::Fault::Kind::Hung)
      throw nb::value_error("a server is lost or back; only devices hang");
    if (!device)
      rack.faults.push_back({at, server, kind == runtime::Fault::Kind::Back, noticed});
    else if (*device < of.devices.size())
      of.faults.push_back({at, *device, kind, noticed});
    else
      throw nb::value_error("a fault names a device that is not there");
  }
}

void add_background(rack::RackModel& rack, const std::vector<Background>& background) {
  for (const auto& [server, device, kernels, footprint, flops, bytes] : background) {
    runtime::PoolModel& of = server_of(rack, server);
    if (device >= of.devices.size() || footprint.size() != 4)
      throw nb::value_error("background: a device, kernels, footprint of four, flops, bytes");
    of.background.push_back({device,
                             kernels,
                             {.footprint = {footprint[0], footprint[1], footprint[2], footprint[3]},
                              .flops = flops,
                              .bytes = bytes}});
  }
}

const frame::PoolProfile& known_profile(const std::string& name) {
  const auto* profile = frame::find_pool_profile(name);
  if (profile == nullptr)
    throw nb::value_error(("no profile of kernels is called " + name).c_str());
  return *profile;
}

// `base` says how large a symbol is between two kernels.
frame::PoolProfile with_kernels(frame::PoolProfile base, const Measured& measured) {
  base.device = &known_type(measured.first);
  for (const auto& [opcode, footprint, us, bytes, full_ctas, full_us] : measured.second) {
    const auto op = std::ranges::find(frame::kOpNames, opcode);
    if (op == frame::kOpNames.end() || footprint.size() != 4 || !(bytes >= 0))
      throw nb::value_error("measured: an opcode, its footprint of four, µs and bytes");
    base.measured[static_cast<std::size_t>(op - frame::kOpNames.begin())] = {
        {footprint[0], footprint[1], footprint[2], footprint[3]},
        ticks(us, 1e3, "a kernel's time"),
        bytes,
        full_ctas,
        ticks(full_us, 1e3, "a kernel's time")};
  }
  return base;
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
    why.push_back(static_cast<std::uint8_t>(each.why));
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
                                each.from, each.to, static_cast<std::uint8_t>(each.why)));
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
    executions.append(nb::make_tuple(each.what.cell, each.what.frame, each.what.instruction,
                                     each.device, each.queue, milliseconds(each.start),
                                     milliseconds(each.end), static_cast<std::uint8_t>(each.placed),
                                     static_cast<std::uint8_t>(each.why), expected(each)));
  result["executions"] = executions;
  return result;
}

nb::dict simulate_pool(const std::vector<std::string>& plan_texts, const std::string& policy,
                       const std::vector<Server>& servers, const std::string& profile,
                       const std::vector<Measured>& measured,
                       std::optional<std::pair<double, double>> fronthaul,
                       const std::tuple<std::uint32_t, std::uint32_t, double, double>& moving,
                       const std::vector<std::optional<std::uint16_t>>& homes, std::uint64_t frames,
                       std::uint32_t ring, std::uint32_t at_once, double apart_ms, double late_us,
                       double deadline_ms, std::uint32_t zero_force_parts, double urgent_us,
                       const Degrees& degrees, const std::vector<double>& host_ns,
                       std::pair<double, double> jitter, const std::vector<Fault>& faults,
                       const std::vector<Background>& background, bool keep, bool timed,
                       std::uint64_t seed, const std::function<bool(std::uint64_t)>& progress) {
  for (const auto& [type, degree] : degrees)
    if (known_type(type).host || !(degree >= 0 && degree <= 1))
      throw nb::value_error("degrees: of types of GPUs, between 0 and 1");
  rack::RackModel rack;
  for (const Server& server : servers)
    rack.servers.push_back(model_of(server, degrees, host_ns, jitter, seed));
  if (servers.empty()) throw nb::value_error("a rack has at least one server");
  if (fronthaul) rack.fronthaul = {fronthaul->first, ticks(fronthaul->second, 1, "fronthaul")};
  add_faults(rack, faults);
  add_background(rack, background);
  for (const auto& home : homes)
    if (home) server_of(rack, *home);
  rack.homes = homes;
  const auto [nacks, window, hold_ms, move_ms] = moving;
  if (window < 1 || window > 64) throw nb::value_error("moving: a window is of 1 to 64 frames");
  rack.moving = {nacks, window, ticks(hold_ms, 1e6, "moving"), ticks(move_ms, 1e6, "moving")};
  std::vector<std::unique_ptr<frame::Frame>> owned;
  std::vector<const frame::Frame*> cells;
  for (const std::string& text : plan_texts) {
    owned.push_back(std::make_unique<frame::Frame>(checked_plan(text).cell));
    cells.push_back(owned.back().get());
  }
  if (cells.empty() || cells.size() > runtime::kMaxCells)
    throw nb::value_error("a pool serves between 1 and 64 cells");
  if (ring < 1 || ring > 64 || at_once > ring)
    throw nb::value_error("ring must be between 1 and 64, and at_once at most as many");
  rack::PoolRunOptions options;
  options.policy = policy;
  options.profile = &known_profile(profile);
  if (!measured.empty() && measured.size() != cells.size())
    throw nb::value_error("measured: kernels of every cell, or of none");
  for (const Measured& of_cell : measured)
    options.of_cells.push_back(with_kernels(*options.profile, of_cell));
  options.lroc = {ticks(urgent_us, 1e3, "urgent_us")};
  options.graph = {ticks(deadline_ms, 1e6, "deadline_ms"), zero_force_parts};
  options.frames = frames;
  options.ring = ring;
  options.at_once = at_once;
  options.apart = ticks(apart_ms, 1e6, "apart_ms");
  options.late = ticks(late_us, 1e3, "late_us");
  options.keep = keep;
  std::vector<double> decisions;
  if (timed)
    options.around = [&](std::unique_ptr<runtime::Policy> plain) {
      return std::make_unique<runtime::TimedPolicy>(std::move(plain), decisions);
    };
  constexpr std::uint64_t kOften = 256;  // frames between two calls, while frames end
  std::uint64_t known = 0;
  if (progress)
    options.progress = [&](std::uint64_t ended) {
      const bool meanwhile = ended == std::exchange(known, ended);
      if (ended % kOften != 0 && !meanwhile) return true;
      const nb::gil_scoped_acquire held;
      return progress(ended);
    };
  rack::PoolRun run;
  {
    const nb::gil_scoped_release released;
    run = rack::run_on_rack(cells, rack, options);
  }
  nb::dict result = as_dict(run);
  result["decision_ns"] = array_of(std::move(decisions));
  return result;
}

nb::list pool_graph(const std::string& plan_text, const std::string& profile,
                    const std::string& device_type, std::uint32_t zero_force_parts,
                    const std::optional<Measured>& measured) {
  const frame::Frame frame(checked_plan(plan_text).cell);
  const runtime::DeviceType& type = known_type(device_type);
  frame::PoolProfile known = known_profile(profile);
  if (measured) known = with_kernels(known, *measured);
  const auto graph = frame::build_pool_graph(frame, {.zero_force_parts = zero_force_parts}, known);
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
    const auto sources = graph.graph[i].sources;
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
        std::vector<std::string> names;
        for (std::uint8_t i = 0; runtime::to_string(static_cast<runtime::Reason>(i)) != "unknown";
             ++i)
          names.emplace_back(runtime::to_string(static_cast<runtime::Reason>(i)));
        return names;
      },
      "What the numbers mean that say why.");
  core.def("pool_graph", &pool_graph, nb::arg("plan_text"), nb::kw_only(),
           nb::arg("profile") = "megastation", nb::arg("device_type") = "a100",
           nb::arg("zero_force_parts") = 1, nb::arg("measured") = nb::none(),
           nb::sig("def pool_graph(plan_text: str, *, profile: str = 'megastation', "
                   "device_type: str = 'a100', zero_force_parts: int = 1, "
                   "measured: tuple[str, collections.abc.Sequence[tuple[str, "
                   "collections.abc.Sequence[int], float, float, int, float]]] | None = None) "
                   "-> list[dict[str, typing.Any]]"),
           "A frame's instructions on a pool: opcode, symbol, CTAs, SMs and time alone on a device "
           "of that type (as the profile assumes it, or as `measured` of simulate_pool has it), "
           "bytes moved over the host's "
           "link and of its result, and the instructions it waits for.");
  core.def(
      "simulate_pool", &simulate_pool, nb::arg("plan_texts"), nb::kw_only(), nb::arg("policy"),
      nb::arg("servers"), nb::arg("profile") = "megastation",
      nb::arg("measured") = std::vector<Measured>{}, nb::arg("fronthaul") = nb::none(),
      nb::arg("moving") = std::tuple<std::uint32_t, std::uint32_t, double, double>{3, 50, 20, 1},
      nb::arg("homes") = std::vector<std::optional<std::uint16_t>>{}, nb::arg("frames") = 100,
      nb::arg("ring") = 8, nb::arg("at_once") = 0, nb::arg("apart_ms") = 0.0,
      nb::arg("late_us") = 0.0, nb::arg("deadline_ms") = 4.0, nb::arg("zero_force_parts") = 1,
      nb::arg("urgent_us") = 200.0, nb::arg("degrees") = Degrees{},
      nb::arg("host_ns") = std::vector<double>{0, 2000, 1000, 1000},
      nb::arg("jitter") = std::pair<double, double>{0, 0}, nb::arg("faults") = std::vector<Fault>{},
      nb::arg("background") = std::vector<Background>{}, nb::arg("keep") = false,
      nb::arg("timed") = false, nb::arg("seed") = 1, nb::arg("progress") = nb::none(),
      nb::sig("def simulate_pool(plan_texts: collections.abc.Sequence[str], *, policy: str, "
              "servers: collections.abc.Sequence[tuple["
              "collections.abc.Sequence[tuple[str, int, float, float]], "
              "collections.abc.Sequence[tuple[str, int, int, int, int, bool]]]], "
              "profile: str = 'megastation', "
              "measured: collections.abc.Sequence[tuple[str, collections.abc.Sequence[tuple[str, "
              "collections.abc.Sequence[int], float, float, int, float]]]] = (), "
              "fronthaul: tuple[float, float] | None = None, "
              "moving: tuple[int, int, float, float] = (3, 50, 20.0, 1.0), "
              "homes: collections.abc.Sequence[int | None] = (), "
              "frames: int = 100, ring: int = 8, at_once: int = 0, "
              "apart_ms: float = 0.0, late_us: float = 0.0, deadline_ms: float = 4.0, "
              "zero_force_parts: int = 1, urgent_us: float = 200.0, "
              "degrees: collections.abc.Mapping[str, float] = ..., "
              "host_ns: collections.abc.Sequence[float] = ..., "
              "jitter: tuple[float, float] = (0.0, 0.0), "
              "faults: collections.abc.Sequence[tuple[float, int, int | None, str, float]] = (), "
              "background: collections.abc.Sequence[tuple[int, int, int, "
              "collections.abc.Sequence[int], float, float, int, float]] = (), keep: bool = False, "
              "timed: bool = False, seed: int = 1, "
              "progress: collections.abc.Callable[[int], bool] | None = None) "
              "-> dict[str, typing.Any]"),
      "Cells on servers of imaginary devices in virtual time: nothing is computed or measured. "
      "servers: of each its nodes and its devices. "
      "nodes: name, parent, bytes per second each way and latency in ns of the link to the parent; "
      "node 0 is the host. devices: type, node, hardware queues, SMs that are always busy, "
      "bytes for results (0: all of the type's), whether it is in reserve. "
      "measured: of each cell, or of none, a device type and what an opcode of a symbol took there "
      "alone: its name, CTAs, warps, registers and shared bytes, µs, bytes of device memory, and "
      "CTAs and µs of a launch of many symbols (0: not known). "
      "fronthaul: bytes per second and latency in ns of the switch's port to each server; None: "
      "samples are there at once. moving: NACKs among how many last frames that make a device in "
      "reserve join, or else the cell leave its server, ms without either after one, ms that a "
      "move takes. homes: the server of "
      "each cell, None: the roomiest. "
      "host_ns: "
      "per decision, per launch, until a kernel's end is known, between kernels of a stream. "
      "jitter: coefficients of variation of kernels and launches. faults: ms, server, its device "
      "or None for all of it, lost, hung or back, ms until that is noticed. background: server, "
      "device, kernels always queued there, their CTAs, warps, registers and shared bytes, flops "
      "and bytes per CTA. at_once: 0, frames "
      "come at the pace of the air; else so many of each cell are always under way. progress: "
      "called now and then with the frames that have ended; false stops. Frames in the order in "
      "which they ended: began and latency in ms, cell, devices that had part in it, server "
      "(65535: none), done, why not (see reasons()); moves: ms when decided and when done, cell, "
      "from, to, why; joins: ms, server, device and the cell whose NACKs asked for it; shares of "
      "each port's time and of each device's SM time, and the most bytes "
      "of its memory that results took, devices of all servers in a row; "
      "ms of kernels and transfers of a frame by "
      "opcode; tasks, copies between devices, tasks issued again; executions (cell, frame, "
      "instruction, device, queue, start and end in ms, why there and why then, and in ms when the "
      "policy expected it to end, None: it has no forecast) if they are kept; "
      "where timed, what the policy took for each instruction, in ns of real time: these alone are "
      "measured. Raises ValueError on a "
      "pool or cell that cannot be.");
}

}  // namespace carillon::bindings
