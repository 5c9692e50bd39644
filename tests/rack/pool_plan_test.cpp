#include "rack/pool_plan.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "frame/pool_cell.hpp"
#include "support/test.hpp"

using namespace carillon;
using rack::PoolPlan;

namespace {

// One A100 on a switch that serves one unit.
PoolPlan small() {
  PoolPlan plan;
  plan.servers = {{{{"host", 0, 0, 0}, {"device 0", 0, 25e9, 500}}, {{}}}};
  plan.cells = {{}};
  return plan;
}

std::vector<Problem> problems_of(const PoolPlan& plan) {
  std::vector<Problem> problems;
  rack::parse_pool_plan(to_text(plan), problems);
  return problems;
}

void expect_problem(const PoolPlan& plan, const std::string& key, const std::string& part) {
  const auto problems = problems_of(plan);
  ASSERT_EQ(problems.size(), 1U) << key;
  EXPECT_EQ(problems[0].key, key);
  EXPECT_NE(problems[0].message.find(part), std::string::npos) << problems[0].message;
}

frame::Frame uplink() { return frame::Frame(frame::pool_cell(64, 16, 'U')); }

void expect_misfit(const PoolPlan& plan, const std::string& key, const std::string& part) {
  ASSERT_TRUE(problems_of(plan).empty());
  const frame::Frame frame = uplink();
  const std::vector<const frame::Frame*> frames(plan.cells.size(), &frame);
  const auto problems = rack::check(plan, frames);
  ASSERT_EQ(problems.size(), 1U) << key;
  EXPECT_EQ(problems[0].key, key);
  EXPECT_NE(problems[0].message.find(part), std::string::npos) << problems[0].message;
}

// Something of everything.
PoolPlan whole() {
  PoolPlan plan = small();
  plan.policy = "adaptive";
  plan.profile = "roofline";
  plan.servers.push_back(plan.servers[0]);
  plan.servers[1].devices[0] = {"v100", 1, 8, 3, 1'000'000'000, 0.45, false};
  plan.servers[1].devices.push_back({"epyc-7763", 0, 32, 60, 0, 0.2, false});
  plan.cells = {
      {.count = 3, .server = 1},
      {.measured = {"h200", {{frame::Op::Decode, {32, 8, 40, 18432}, 3.7, 1e4, 416, 5}}}}};
  plan.fronthaul = {50e9, 1000, 2, 10, 3.5, 0.25};
  plan.host = {1, 2, 3, 4};
  plan.jitter = {0.05, 0.1, 20};
  plan.faults = {{5, 0, 0, runtime::Fault::Kind::Hung, 0.3}, {9.7, 1, {}}};
  plan.background = {{1, 0, 2, {100, 4, 32, 0}, 1.5e6, 3e3}};
  plan.seed = 1ULL << 52;
  plan.keep = true;
  return plan;
}

}  // namespace

TEST(PoolPlan, ReadsBackWhatItWrites) {
  std::vector<Problem> problems;
  const PoolPlan back = rack::parse_pool_plan(to_text(whole()), problems);
  for (const auto& problem : problems) EXPECT_EQ(problem.key + problem.message, std::string());
  EXPECT_EQ(to_text(back), to_text(whole()));
}

TEST(PoolPlan, IsARackAndItsRun) {
  const rack::RackModel rack = rack_of(whole());
  ASSERT_EQ(rack.servers.size(), 2U);
  EXPECT_EQ(rack.servers[0].fabric.name(1), "device 0");
  EXPECT_EQ(rack.servers[0].host.gap, 4);
  EXPECT_TRUE(rack.servers[1].devices[0].type == runtime::find_device_type("v100"));
  EXPECT_EQ(rack.servers[1].devices[0].memory, 1'000'000'000U);
  EXPECT_EQ(rack.servers[0].faults.at(0).at, 5 * kMillisecond);
  EXPECT_EQ(rack.faults.at(0).server, 1U);
  EXPECT_EQ(rack.servers[1].background.at(0).work.footprint.ctas, 100U);
  EXPECT_EQ(rack.fronthaul->latency, kMicrosecond);
  EXPECT_EQ(rack.moving.move, kMillisecond / 4);
  ASSERT_EQ(rack.homes.size(), 4U);
  EXPECT_TRUE(rack.homes[2] == std::uint16_t{1} && !rack.homes[3]);
  const rack::PoolRunOptions options = options_of(whole());
  ASSERT_EQ(options.of_cells.size(), 4U);
  EXPECT_TRUE(options.of_cells[2].device == nullptr);
  const auto decode = static_cast<std::size_t>(frame::Op::Decode);
  EXPECT_EQ(options.of_cells[3].measured[decode].time, 3700);
  EXPECT_EQ(options.late, 20 * kMicrosecond);
}

TEST(PoolPlan, ProblemsNameTheKey) {
  EXPECT_TRUE(problems_of(small()).empty());
  PoolPlan plan = small();
  plan.servers.clear();
  expect_problem(plan, "servers", "are 0 in all but must be between 1 and 64");
  plan = small();
  plan.policy = "best";
  expect_problem(plan, "policy", "is 'best' but must be one of frame-level, ");
  plan = small();
  plan.profile = "guess";
  expect_problem(plan, "profile", "is 'guess' but must be one of megastation, ");
  plan = small();
  plan.servers[0].devices.push_back({.type = "a1000"});
  expect_problem(plan, "servers.0.devices.1.type", "is 'a1000' but must be one of v100, ");
  plan = small();
  plan.servers[0].devices[0].node = 2;
  expect_problem(plan, "servers.0.devices.0.node", "is 2 but the nodes are 0 to 1");
  plan.servers[0].devices[0].node = 0;
  expect_problem(plan, "servers.0.devices.0.node", "is 0 but must be 0 of a host's cores");
  plan = small();
  plan.servers[0].nodes[1].bytes_per_s = 0;
  expect_problem(plan, "servers.0.nodes", "(device 0): its bandwidth must be positive");
  plan = small();
  plan.servers[0].nodes[1].latency_ns = -1;
  expect_problem(plan, "servers.0.nodes.1.latency_ns", "is -1 but must be between 0 and ");
  plan = small();
  plan.cells[0].count = 64;
  plan.cells.push_back({.count = 1, .server = 3});
  EXPECT_EQ(problems_of(plan).size(), 2U);
  EXPECT_EQ(problems_of(plan)[0].key, "cells.1.server");
  EXPECT_EQ(problems_of(plan)[1].key, "cells");
  plan = small();
  plan.deadline_ms = 1e300;
  expect_problem(plan, "deadline_ms", "is 1e+300 but must be between 0 and 10000000000");
  plan = small();
  plan.fronthaul.window = 65;
  expect_problem(plan, "switch.window", "is 65 but must be between 1 and 64");
}

TEST(PoolPlan, WhatNamesADeviceNamesOneThatIsThere) {
  PoolPlan plan = small();
  plan.faults = {{.at_ms = 1, .device = 1}};
  expect_problem(plan, "faults.0.device", "is 1 but the devices of server 0 are 0 to 0");
  plan.faults = {{.at_ms = 1, .server = 1}};
  expect_problem(plan, "faults.0.server", "is 1 but the servers are 0 to 0");
  plan.faults = {{.at_ms = 1, .event = runtime::Fault::Kind::Hung}};
  expect_problem(plan, "faults.0.event", "only devices hang");
  plan = small();
  plan.background = {{.device = 7, .footprint = {8, 4, 32, 0}, .flops = 1e6}};
  expect_problem(plan, "background.0.device", "is 7 but");
  plan.background = {{.footprint = {8, 32, 72, 0}, .flops = 1e6}};
  expect_problem(plan, "background.0", "fits no SM of type a100");
}

TEST(PoolPlan, OnlyOneServerThatIsNeverLostIsSaturated) {
  PoolPlan plan = small();
  plan.at_once = 9;
  expect_problem(plan, "at_once", "is 9 but must be at most ring, 8");
  plan.at_once = 2;
  EXPECT_TRUE(problems_of(plan).empty());
  plan.servers[0].devices.push_back({.reserve = true});
  expect_problem(plan, "at_once", "is 2 but must be 0 unless there is one server");
  plan = small();
  plan.at_once = 2;
  plan.faults = {{.at_ms = 1}};
  expect_problem(plan, "at_once", "is 2 but must be 0 unless there is one server");
}

TEST(PoolPlan, UnknownKeysAndUnreadableValuesAreProblems) {
  std::vector<Problem> problems;
  rack::parse_pool_plan("servers.0.colour = red\ncells.0.measured.kernels.0.opcode = Fft\n",
                        problems);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_EQ(problems[0].key, "cells.0.measured.kernels.0.opcode");
  EXPECT_EQ(problems[1].key, "servers.0.colour");
  EXPECT_EQ(problems[1].message, "is not a key of a pool plan");
}

TEST(PoolPlan, SaysWhatDoesNotSuitTheCells) {
  const PoolPlan plan = small();
  const frame::Frame frame = uplink();
  EXPECT_TRUE(rack::check(plan, std::vector<const frame::Frame*>{&frame}).empty());
  PoolPlan late = plan;
  late.deadline_ms = 0.5;
  late.cells.push_back({});  // reported once
  expect_misfit(late, "deadline_ms", "is 0.5 ms but the last symbol to receive ends after ");
  PoolPlan parts = plan;
  parts.zero_force_parts = 100;
  expect_misfit(parts, "zero_force_parts", "is 100 but must be between 1 and the ");
  PoolPlan short_of = plan;
  short_of.servers[0].devices.push_back({.memory_bytes = 1000});
  expect_misfit(short_of, "servers.0.devices.1.memory_bytes",
                "is 1e-06 GB but a frame's results take 0.");
  PoolPlan missing = plan;
  missing.cells.push_back({.measured = {.device = "h200"}});
  expect_misfit(missing, "cells.1.measured.kernels", "has no PilotFft, which the cell needs");
  const auto problems = rack::check(missing, std::vector<const frame::Frame*>{&frame, &frame});
  EXPECT_TRUE(problems.at(0).code == ProblemCode::Unmeasured);
  EXPECT_EQ(problems.at(0).numbers.at(0), static_cast<double>(frame::Op::PilotFft));
}

TEST(PoolPlan, AGraphHasAPlanOfItsOwn) {
  std::vector<Problem> problems;
  const auto plan = rack::parse_graph_plan("device = v100\nzero_force_parts = 3\n", problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(plan.zero_force_parts, 3U);
  rack::parse_graph_plan("device = v101\n", problems);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].key, "device");
}
