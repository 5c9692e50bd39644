// All that a run on a rack of pools needs besides the cells' own run plans, as one flat text
// (base/fields.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.hpp"
#include "frame/frame.hpp"
#include "frame/opcodes.hpp"
#include "frame/pool.hpp"
#include "rack/pool_run.hpp"
#include "runtime/devices/occupancy.hpp"
#include "runtime/executors/simulated_pool.hpp"

namespace carillon::rack {

/// See runtime::FabricNode; node 0 is the host.
struct NodePlan {
  std::string name;
  std::uint16_t parent = 0;
  double bytes_per_s = 0;
  double latency_ns = 0;

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name);
    visit("parent", self.parent);
    visit("bytes_per_s", self.bytes_per_s);
    visit("latency_ns", self.latency_ns);
  }
};

/// See runtime::PoolDevice.
struct DevicePlan {
  std::string type = "a100";
  std::uint16_t node = 1;  // 0: the host's cores
  std::uint32_t queues = 32;
  std::uint32_t reserved_sms = 0;
  std::uint64_t memory_bytes = 0;
  double degree = 0.2;
  bool reserve = false;

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("type", self.type);
    visit("node", self.node);
    visit("queues", self.queues);
    visit("reserved_sms", self.reserved_sms);
    visit("memory_bytes", self.memory_bytes);
    visit("degree", self.degree);
    visit("reserve", self.reserve);
  }
};

struct ServerPlan {
  std::vector<NodePlan> nodes;
  std::vector<DevicePlan> devices;

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("nodes", self.nodes);
    visit("devices", self.devices);
  }
};

/// See frame::MeasuredKernel.
struct KernelPlan {
  frame::Op opcode = frame::Op::Load;
  runtime::Footprint footprint{};
  double us = 0;
  double bytes = 0;
  std::uint32_t full_ctas = 0;
  double full_us = 0;

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("opcode", self.opcode);
    visit("ctas", self.footprint.ctas);
    visit("warps", self.footprint.warps);
    visit("registers", self.footprint.registers);
    visit("shared_bytes", self.footprint.shared_bytes);
    visit("us", self.us);
    visit("bytes", self.bytes);
    visit("full_ctas", self.full_ctas);
    visit("full_us", self.full_us);
  }
};

/// What a cell's opcodes took on a type of device, instead of what the profile assumes.
struct MeasuredPlan {
  std::string device;  // empty: nothing was measured
  std::vector<KernelPlan> kernels{};

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("device", self.device);
    visit("kernels", self.kernels);
  }
};

/// Radio units with the same cell.
struct CellPlan {
  std::uint32_t count = 1;
  std::optional<std::uint16_t> server{};  // where they are first; none: each where the most room is
  MeasuredPlan measured{};

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("count", self.count);
    visit("server", self.server);
    visit("measured", self.measured);
  }
};

/// The fronthaul switch, and when a reserve joins or a unit is moved: see Switch and RackOptions.
struct SwitchPlan {
  double bytes_per_s = 0;  // 0: there is none, and samples are at once where they have to be
  double latency_ns = 0;
  std::uint32_t nacks = 3;
  std::uint32_t window = 50;
  double hold_ms = 20;
  double move_ms = 1;

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("bytes_per_s", self.bytes_per_s);
    visit("latency_ns", self.latency_ns);
    visit("nacks", self.nacks);
    visit("window", self.window);
    visit("hold_ms", self.hold_ms);
    visit("move_ms", self.move_ms);
  }
};

/// See runtime::HostCosts.
struct HostPlan {
  double decision_ns = 0;
  double launch_ns = 2000;
  double notify_ns = 1000;
  double gap_ns = 1000;

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("decision_ns", self.decision_ns);
    visit("launch_ns", self.launch_ns);
    visit("notify_ns", self.notify_ns);
    visit("gap_ns", self.gap_ns);
  }
};

/// What varies: see runtime::Jitter, and PoolRunOptions::late.
struct JitterPlan {
  double kernel = 0;
  double launch = 0;
  double late_us = 0;

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("kernel", self.kernel);
    visit("launch", self.launch);
    visit("late_us", self.late_us);
  }
};

/// See runtime::Fault, and HostFault.
struct FaultPlan {
  double at_ms = 0;
  std::uint16_t server = 0;
  std::optional<std::uint16_t> device{};  // of the server; none: the server itself
  runtime::Fault::Kind event = runtime::Fault::Kind::Lost;
  double noticed_ms = 0.1;

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("at_ms", self.at_ms);
    visit("server", self.server);
    visit("device", self.device);
    visit("event", self.event);
    visit("noticed_ms", self.noticed_ms);
  }
};

/// See runtime::Background.
struct BackgroundPlan {
  std::uint16_t server = 0;
  std::uint16_t device = 0;  // of the server
  std::uint32_t kernels = 1;
  runtime::Footprint footprint{};
  double flops = 0;  // of a CTA
  double bytes = 0;

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("server", self.server);
    visit("device", self.device);
    visit("kernels", self.kernels);
    visit("ctas", self.footprint.ctas);
    visit("warps", self.footprint.warps);
    visit("registers", self.footprint.registers);
    visit("shared_bytes", self.footprint.shared_bytes);
    visit("flops", self.flops);
    visit("bytes", self.bytes);
  }
};

struct PoolPlan {
  std::string policy = "scoreboard";
  std::string profile = "megastation";  // what is assumed of kernels, see frame::pool_profiles()
  std::vector<ServerPlan> servers;
  std::vector<CellPlan> cells;
  SwitchPlan fronthaul;
  std::uint64_t frames = 100;  // of each radio unit
  std::uint32_t ring = 8;
  std::uint32_t at_once = 0;  // as PoolRunOptions has it
  double apart_ms = 0;
  double deadline_ms = 4;
  std::uint32_t zero_force_parts = 1;
  double urgent_us = 200;  // of policy scoreboard
  HostPlan host;
  JitterPlan jitter;
  std::vector<FaultPlan> faults;
  std::vector<BackgroundPlan> background;
  bool keep = false;   // executions
  bool timed = false;  // what the policy takes, in real time
  std::uint64_t seed = 1;

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("policy", self.policy);
    visit("profile", self.profile);
    visit("servers", self.servers);
    visit("cells", self.cells);
    visit("switch", self.fronthaul);
    visit("frames", self.frames);
    visit("ring", self.ring);
    visit("at_once", self.at_once);
    visit("apart_ms", self.apart_ms);
    visit("deadline_ms", self.deadline_ms);
    visit("zero_force_parts", self.zero_force_parts);
    visit("urgent_us", self.urgent_us);
    visit("host", self.host);
    visit("jitter", self.jitter);
    visit("faults", self.faults);
    visit("background", self.background);
    visit("keep", self.keep);
    visit("timed", self.timed);
    visit("seed", self.seed);
  }
};

/// Of one cell's graph, to look at it.
struct GraphPlan {
  std::string profile = "megastation";
  std::string device = "a100";  // on which times were measured
  std::uint32_t zero_force_parts = 1;
  MeasuredPlan measured{};

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("profile", self.profile);
    visit("device", self.device);
    visit("zero_force_parts", self.zero_force_parts);
    visit("measured", self.measured);
  }
};

/// Reads a plan; absent keys keep their defaults. Problems name full keys such as
/// `servers.0.devices.1.type`: unreadable values, unknown keys and, when there are none of these,
/// all that is wrong whatever the cells are.
PoolPlan parse_pool_plan(std::string_view text, std::vector<Problem>& problems);
GraphPlan parse_graph_plan(std::string_view text, std::vector<Problem>& problems);
std::string to_text(const PoolPlan& plan);

/// What is wrong with a plan without problems for its cells, whose frames these are, one for each
/// entry of `cells`: what does not suit their graphs, or is too small for them.
std::vector<Problem> check(const PoolPlan& plan, std::span<const frame::Frame* const> frames);

/// Of a plan without problems.
RackModel rack_of(const PoolPlan& plan);
/// Of a plan without problems; `around` and `progress` are the caller's.
PoolRunOptions options_of(const PoolPlan& plan);
/// A profile of pool_profiles(), with what was measured in its stead. Of a plan without problems.
frame::PoolProfile profile_of(const std::string& name, const MeasuredPlan& measured);

}  // namespace carillon::rack
