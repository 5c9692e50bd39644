#include "rack/pool_plan.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "frame/pool_server.hpp"
#include "runtime/policies/pool/pool_policies.hpp"
#include "runtime/scheduler.hpp"

namespace carillon::rack {
namespace {

using frame::PoolProfile;
using runtime::DeviceType;
using runtime::Fault;
using runtime::PoolModel;
using Problems = std::vector<Problem>;

constexpr double kLongest = 1e16;  // ns, some months
constexpr double kMostBytes = 1e18, kMostFlops = 1e18;
constexpr std::size_t kMostServers = 64, kMostDevices = 64;
constexpr std::uint32_t kMostRing = 64, kLeastQueues = 3, kMostQueues = 1 << 16;
constexpr double kMostVariation = 10, kMostCtas = 1e9;

std::string numbered(const char* list, std::size_t place) {
  return list + ("." + std::to_string(place));
}

Tick ticks(double value, double unit) { return std::llround(value * unit); }

void check_time(double value, double unit, const std::string& key, Problems& problems) {
  in_range(value, 0, kLongest / unit, key, problems);
}

void check_count(std::size_t count, std::size_t most, const std::string& key, Problems& problems) {
  if (count < 1 || count > most)
    problems.push_back({key, "are " + std::to_string(count) + " in all but must be between 1 and " +
                                 std::to_string(most)});
}

// That there is none at all is another problem.
void check_place(std::size_t place, std::size_t count, const std::string& key,
                 const std::string& what, Problems& problems) {
  if (place >= count && count != 0)
    problems.push_back({key, "is " + std::to_string(place) + " but the " + what + " are 0 to " +
                                 std::to_string(count - 1)});
}

void check_type(const std::string& name, const std::string& key, Problems& problems) {
  std::vector<std::string_view> names;
  for (const DeviceType& type : runtime::device_types()) names.push_back(type.name);
  one_of(name, names, key, problems);
}

void check_profile(const std::string& name, Problems& problems) {
  std::vector<std::string_view> names;
  for (const PoolProfile& profile : frame::pool_profiles()) names.push_back(profile.name);
  one_of(name, names, "profile", problems);
}

std::vector<runtime::FabricNode> fabric_of(const ServerPlan& server) {
  std::vector<runtime::FabricNode> nodes;
  for (const NodePlan& node : server.nodes)
    nodes.push_back({node.name, node.parent, node.bytes_per_s, ticks(node.latency_ns, 1)});
  return nodes;
}

void check_nodes(const ServerPlan& server, const std::string& key, Problems& problems) {
  const std::size_t before = problems.size();
  for (std::size_t n = 0; n < server.nodes.size(); ++n)
    check_time(server.nodes[n].latency_ns, 1, key + "." + std::to_string(n) + ".latency_ns",
               problems);
  if (problems.size() != before) return;
  if (const auto built = runtime::Fabric::build(fabric_of(server)); !built.fabric)
    problems.push_back({key, "make no fabric: " + built.error});
}

void check_device(const DevicePlan& device, std::size_t nodes, const std::string& key,
                  Problems& problems) {
  check_type(device.type, key + ".type", problems);
  const DeviceType* type = runtime::find_device_type(device.type);
  if (type != nullptr && type->host != (device.node == 0))
    problems.push_back({key + ".node", "is " + std::to_string(device.node) +
                                           " but must be 0 of a host's cores, and of them alone"});
  check_place(device.node, nodes, key + ".node", "nodes", problems);
  in_range(device.queues, kLeastQueues, kMostQueues, key + ".queues", problems);
  in_range(device.degree, 0, 1, key + ".degree", problems);
}

void check_servers(const PoolPlan& plan, Problems& problems) {
  check_count(plan.servers.size(), kMostServers, "servers", problems);
  for (std::size_t s = 0; s < plan.servers.size(); ++s) {
    const ServerPlan& server = plan.servers[s];
    const std::string key = numbered("servers", s);
    check_nodes(server, key + ".nodes", problems);
    check_count(server.devices.size(), kMostDevices, key + ".devices", problems);
    for (std::size_t d = 0; d < server.devices.size(); ++d)
      check_device(server.devices[d], server.nodes.size(), key + ".devices." + std::to_string(d),
                   problems);
  }
}

void check_measured(const MeasuredPlan& measured, const std::string& key, Problems& problems) {
  if (!measured.device.empty()) check_type(measured.device, key + ".device", problems);
  for (std::size_t k = 0; k < measured.kernels.size(); ++k) {
    const KernelPlan& kernel = measured.kernels[k];
    const std::string own = key + ".kernels." + std::to_string(k);
    check_time(kernel.us, kMicrosecond, own + ".us", problems);
    check_time(kernel.full_us, kMicrosecond, own + ".full_us", problems);
    in_range(kernel.bytes, 0, kMostBytes, own + ".bytes", problems);
  }
}

void check_cells(const PoolPlan& plan, Problems& problems) {
  std::size_t units = 0;
  for (std::size_t c = 0; c < plan.cells.size(); ++c) {
    const CellPlan& cell = plan.cells[c];
    const std::string key = numbered("cells", c);
    in_range(cell.count, 1, runtime::kMaxSources, key + ".count", problems);
    if (cell.server)
      check_place(*cell.server, plan.servers.size(), key + ".server", "servers", problems);
    check_measured(cell.measured, key + ".measured", problems);
    units += cell.count;
  }
  check_count(units, runtime::kMaxSources, "cells", problems);
}

void check_switch(const SwitchPlan& fronthaul, Problems& problems) {
  in_range(fronthaul.bytes_per_s, 0, kMostBytes, "switch.bytes_per_s", problems);
  check_time(fronthaul.latency_ns, 1, "switch.latency_ns", problems);
  in_range(fronthaul.window, 1, 64, "switch.window", problems);
  check_time(fronthaul.hold_ms, kMillisecond, "switch.hold_ms", problems);
  check_time(fronthaul.move_ms, kMillisecond, "switch.move_ms", problems);
}

void check_times(const PoolPlan& plan, Problems& problems) {
  check_time(plan.apart_ms, kMillisecond, "apart_ms", problems);
  check_time(plan.deadline_ms, kMillisecond, "deadline_ms", problems);
  check_time(plan.urgent_us, kMicrosecond, "urgent_us", problems);
  check_time(plan.host.decision_ns, 1, "host.decision_ns", problems);
  check_time(plan.host.launch_ns, 1, "host.launch_ns", problems);
  check_time(plan.host.notify_ns, 1, "host.notify_ns", problems);
  check_time(plan.host.gap_ns, 1, "host.gap_ns", problems);
  check_time(plan.jitter.late_us, kMicrosecond, "jitter.late_us", problems);
  in_range(plan.jitter.kernel, 0, kMostVariation, "jitter.kernel", problems);
  in_range(plan.jitter.launch, 0, kMostVariation, "jitter.launch", problems);
}

// What names a device, or a server by its first one; null where there is no such.
const DevicePlan* device_of(const PoolPlan& plan, std::uint16_t server, std::uint16_t device,
                            const std::string& key, Problems& problems) {
  check_place(server, plan.servers.size(), key + ".server", "servers", problems);
  if (server >= plan.servers.size()) return nullptr;
  const auto& devices = plan.servers[server].devices;
  check_place(device, devices.size(), key + ".device",
              "devices of server " + std::to_string(server), problems);
  return device < devices.size() ? &devices[device] : nullptr;
}

void check_faults(const PoolPlan& plan, Problems& problems) {
  for (std::size_t f = 0; f < plan.faults.size(); ++f) {
    const FaultPlan& fault = plan.faults[f];
    const std::string key = numbered("faults", f);
    check_time(fault.at_ms, kMillisecond, key + ".at_ms", problems);
    check_time(fault.noticed_ms, kMillisecond, key + ".noticed_ms", problems);
    device_of(plan, fault.server, fault.device.value_or(0), key, problems);
    if (!fault.device && fault.event == Fault::Kind::Hung)
      problems.push_back({key + ".event", "is hung but only devices hang; a server is lost"});
  }
}

void check_background(const PoolPlan& plan, Problems& problems) {
  for (std::size_t b = 0; b < plan.background.size(); ++b) {
    const BackgroundPlan& load = plan.background[b];
    const std::string key = numbered("background", b);
    in_range(load.footprint.ctas, 1, kMostCtas, key + ".ctas", problems);
    in_range(load.flops, 0, kMostFlops, key + ".flops", problems);
    in_range(load.bytes, 0, kMostBytes, key + ".bytes", problems);
    const DevicePlan* device = device_of(plan, load.server, load.device, key, problems);
    const DeviceType* type = device ? runtime::find_device_type(device->type) : nullptr;
    if (type != nullptr && ctas_per_sm(*type, load.footprint) == 0)
      problems.push_back({key, "fits no SM of type " + device->type});
  }
}

bool has_reserve(const PoolPlan& plan) {
  return std::ranges::any_of(plan.servers, [](const ServerPlan& server) {
    return std::ranges::any_of(server.devices, &DevicePlan::reserve);
  });
}

// Frames that are always under way have no pace, by which several servers meet.
void check_at_once(const PoolPlan& plan, Problems& problems) {
  if (plan.at_once > plan.ring)
    problems.push_back({"at_once", "is " + std::to_string(plan.at_once) +
                                       " but must be at most ring, " + std::to_string(plan.ring)});
  const auto of_server = [](const FaultPlan& fault) { return !fault.device; };
  if (plan.at_once != 0 &&
      (plan.servers.size() > 1 || has_reserve(plan) || std::ranges::any_of(plan.faults, of_server)))
    problems.push_back({"at_once", "is " + std::to_string(plan.at_once) +
                                       " but must be 0 unless there is one server, never lost and "
                                       "without a reserve"});
}

void check_parts(const PoolPlan& plan, Problems& problems) {
  one_of(plan.policy, runtime::pool_policy_names(), "policy", problems);
  check_profile(plan.profile, problems);
  check_servers(plan, problems);
  check_cells(plan, problems);
  check_switch(plan.fronthaul, problems);
  in_range(plan.ring, 1, kMostRing, "ring", problems);
  check_at_once(plan, problems);
  check_times(plan, problems);
  check_faults(plan, problems);
  check_background(plan, problems);
}

template <typename Plan>
Plan parse(std::string_view text, const char* kind, Problems& problems) {
  Plan plan;
  KeyValues values = parse_key_values(text, problems);
  read_fields(plan, "", values, problems);
  for (const auto& [key, value] : values)
    problems.push_back({key, std::string("is not a key of a ") + kind});
  return plan;
}

PoolModel pool_of(const PoolPlan& plan, const ServerPlan& server) {
  PoolModel model;
  model.fabric = *runtime::Fabric::build(fabric_of(server)).fabric;
  for (const DevicePlan& device : server.devices)
    model.devices.push_back({.type = runtime::find_device_type(device.type),
                             .node = device.node,
                             .queues = device.queues,
                             .reserved_sms = device.reserved_sms,
                             .memory = device.memory_bytes,
                             .degree = device.degree,
                             .reserve = device.reserve});
  const HostPlan& host = plan.host;
  model.host = {ticks(host.decision_ns, 1), ticks(host.launch_ns, 1), ticks(host.notify_ns, 1),
                ticks(host.gap_ns, 1)};
  model.jitter = {plan.jitter.kernel, plan.jitter.launch};
  model.seed = plan.seed;
  return model;
}

void add_fault(const FaultPlan& fault, RackModel& rack) {
  const Tick at = ticks(fault.at_ms, kMillisecond);
  const Tick noticed = ticks(fault.noticed_ms, kMillisecond);
  if (fault.device)
    rack.servers[fault.server].faults.push_back({at, *fault.device, fault.event, noticed});
  else
    rack.faults.push_back({at, fault.server, fault.event == Fault::Kind::Back, noticed});
}

// Adds what is not known yet of a key: of several cells the first.
void add_new(Problems found, const std::string& prefix, Problems& problems) {
  for (Problem& problem : found) {
    problem.key = detail::join(prefix, problem.key);
    if (std::ranges::find(problems, problem.key, &Problem::key) == problems.end())
      problems.push_back(std::move(problem));
  }
}

frame::PoolGraphOptions graph_options(const PoolPlan& plan, const frame::Frame& frame) {
  const Tick on_air = plan.at_once != 0 ? frame.duration() : 0;
  return {ticks(plan.deadline_ms, kMillisecond) + on_air, plan.zero_force_parts};
}

Problems check_options(const frame::Frame& frame, const frame::PoolGraphOptions& options,
                       const std::string& cell) {
  Problems problems = frame::check_pool_graph(frame, options);
  for (Problem& problem : problems) {
    if (problem.key == "deadline")
      problem.key = "deadline_ms";
    else if (problem.key != "zero_force_parts")
      problem.key = cell + "." + problem.key;
  }
  return problems;
}

void check_cell(const PoolPlan& plan, const RackModel& rack, std::size_t place,
                const frame::Frame& frame, Problems& problems) {
  const std::string key = numbered("cells", place);
  const frame::PoolGraphOptions options = graph_options(plan, frame);
  if (Problems found = check_options(frame, options, key); !found.empty())
    return add_new(std::move(found), "", problems);
  const PoolProfile profile = profile_of(plan.profile, plan.cells[place].measured);
  if (const auto op = frame::unmeasured(frame, profile)) {
    const std::string name(frame::kOpNames[static_cast<std::size_t>(*op)]);
    problems.push_back({key + ".measured.kernels",
                        "has no " + name + ", which the cell needs",
                        ProblemCode::Unmeasured,
                        {static_cast<double>(*op)}});
    return;
  }
  const frame::PoolGraph graph = frame::build_pool_graph(frame, options, profile);
  for (std::size_t s = 0; s < rack.servers.size(); ++s)
    add_new(frame::misfits(graph, rack.servers[s]), numbered("servers", s), problems);
}

}  // namespace

PoolPlan parse_pool_plan(std::string_view text, std::vector<Problem>& problems) {
  const auto plan = parse<PoolPlan>(text, "pool plan", problems);
  if (problems.empty()) check_parts(plan, problems);
  return plan;
}

GraphPlan parse_graph_plan(std::string_view text, std::vector<Problem>& problems) {
  const auto plan = parse<GraphPlan>(text, "graph plan", problems);
  if (!problems.empty()) return plan;
  check_profile(plan.profile, problems);
  check_type(plan.device, "device", problems);
  check_measured(plan.measured, "measured", problems);
  return plan;
}

std::string to_text(const PoolPlan& plan) {
  std::string text;
  write_fields(plan, "", text);
  return text;
}

std::vector<Problem> check(const PoolPlan& plan, std::span<const frame::Frame* const> frames) {
  const RackModel rack = rack_of(plan);
  Problems problems;
  for (std::size_t c = 0; c < frames.size(); ++c) check_cell(plan, rack, c, *frames[c], problems);
  return problems;
}

RackModel rack_of(const PoolPlan& plan) {
  RackModel rack;
  for (const ServerPlan& server : plan.servers) rack.servers.push_back(pool_of(plan, server));
  const SwitchPlan& fronthaul = plan.fronthaul;
  if (fronthaul.bytes_per_s > 0)
    rack.fronthaul = {fronthaul.bytes_per_s, ticks(fronthaul.latency_ns, 1)};
  for (const FaultPlan& fault : plan.faults) add_fault(fault, rack);
  for (const BackgroundPlan& load : plan.background)
    rack.servers[load.server].background.push_back(
        {load.device,
         load.kernels,
         {.footprint = load.footprint, .flops = load.flops, .bytes = load.bytes}});
  for (const CellPlan& cell : plan.cells)
    rack.homes.insert(rack.homes.end(), cell.count, cell.server);
  rack.moving = {fronthaul.nacks, fronthaul.window, ticks(fronthaul.hold_ms, kMillisecond),
                 ticks(fronthaul.move_ms, kMillisecond)};
  return rack;
}

PoolRunOptions options_of(const PoolPlan& plan) {
  PoolRunOptions options;
  options.policy = plan.policy;
  options.lroc = {ticks(plan.urgent_us, kMicrosecond)};
  options.graph = {ticks(plan.deadline_ms, kMillisecond), plan.zero_force_parts};
  for (const CellPlan& cell : plan.cells)
    options.of_cells.insert(options.of_cells.end(), cell.count,
                            profile_of(plan.profile, cell.measured));
  options.ring = plan.ring;
  options.keep = plan.keep;
  options.frames = plan.frames;
  options.at_once = plan.at_once;
  options.apart = ticks(plan.apart_ms, kMillisecond);
  options.late = ticks(plan.jitter.late_us, kMicrosecond);
  return options;
}

frame::PoolProfile profile_of(const std::string& name, const MeasuredPlan& measured) {
  PoolProfile profile = *frame::find_pool_profile(name);
  if (measured.device.empty()) return profile;
  profile.device = runtime::find_device_type(measured.device);
  for (const KernelPlan& kernel : measured.kernels)
    profile.measured[static_cast<std::size_t>(kernel.opcode)] = {
        kernel.footprint, ticks(kernel.us, kMicrosecond), kernel.bytes, kernel.full_ctas,
        ticks(kernel.full_us, kMicrosecond)};
  return profile;
}

}  // namespace carillon::rack
