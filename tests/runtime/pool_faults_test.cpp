// What befalls the devices of a pool: losses, hangs, want of memory, and what has to run again.
#include <map>
#include <set>
#include <vector>

#include "runtime/pool_scenario.hpp"
#include "support/test.hpp"

namespace carillon::runtime {
namespace {

// A symbol each of pilots and of data: Load → ZeroForce, which two data symbols read.
Scenario two_symbols(std::uint32_t first, std::uint32_t second) {
  GraphBuilder builder;
  builder.add({.opcode = 0, .step = 0});
  builder.add({.opcode = 1, .step = 0});
  builder.add({.opcode = 0, .step = 1});
  builder.add({.opcode = 2, .step = 1});
  builder.add({.opcode = 0, .step = 2});
  builder.add({.opcode = 2, .step = 2});
  const std::pair<std::uint16_t, std::uint16_t> edges[] = {{0, 1}, {1, 3}, {2, 3}, {1, 5}, {4, 5}};
  for (const auto& [from, to] : edges) builder.depend(from, to);
  const Work load{.moved = 1, .output = 1};
  Scenario scenario;
  scenario.sources.push_back(
      {std::move(*builder.build().graph),
       {load, full_kernel(1), load, full_kernel(first), load, full_kernel(second)}});
  scenario.model = bare_pool(2);
  scenario.frames = {{0, {0, 0}}};
  return scenario;
}

// symbol-level puts the first symbol where the pilots are, the second on the other device.
TEST(Pool, OnlyWhatIsNowhereElseRunsAgain) {
  struct Expected {
    std::uint32_t first, second;
    std::uint16_t dies;
    std::vector<std::uint16_t> runs;
  };
  const Expected cases[] = {
      // ZeroForce was copied to the second device: only the first symbol is lost.
      {10, 10, 0, {0, 0, 1, 1, 0, 0}},
      // It is still on the first: only the second symbol is lost.
      {10, 10, 1, {0, 0, 0, 0, 1, 1}},
      // The first symbol is done, and the second has its copy.
      {1, 10, 0, {0, 0, 0, 0, 0, 0}},
  };
  for (const Expected& expected : cases) {
    Scenario scenario = two_symbols(expected.first, expected.second);
    scenario.model.faults = {{5 * kUnit, expected.dies, Fault::Kind::Lost, kUnit / 10}};
    const Course course(scenario, "symbol-level");
    EXPECT_EQ(course.count(Kind::Done), 1U);
    EXPECT_TRUE(course.runs() == expected.runs) << "device " << expected.dies;
  }
}

// Ten data symbols, one a unit, each done when the next comes; what they read takes longer to copy
// than one of them to do. With the last two left to do, adaptive keeps these together; all ten
// would be better on two devices.
TEST(Pool, WhatIsOverDoesNotSpreadWhatIsLeft) {
  GraphBuilder builder;
  const Work load{.moved = 1, .output = 1};
  std::vector<Work> work{load, full_kernel(1)};
  work.back().output = 1'200'000;
  builder.add({.opcode = 0, .step = 0});
  builder.add({.opcode = 1, .step = 0});
  for (std::uint16_t s = 1; s <= 10; ++s) {
    builder.add({.opcode = 0, .step = s, .release = s * kUnit});
    builder.add({.opcode = 2, .step = s});
    builder.add({.opcode = 3, .step = s});
    work.insert(work.end(), {load, full_kernel(1), Work{.moved = 1}});
  }
  builder.depend(0, 1);
  for (std::uint16_t kernel = 3; kernel < work.size(); kernel = kernel + 3) {
    builder.depend(1, kernel);
    builder.depend(static_cast<std::uint16_t>(kernel - 1), kernel);
    builder.depend(kernel, static_cast<std::uint16_t>(kernel + 1));
  }
  Scenario scenario;
  scenario.sources.push_back({std::move(*builder.build().graph), std::move(work)});
  scenario.model = bare_pool(3);
  scenario.frames = {{0, {0, 0}}};
  const Tick dies = 19 * kUnit / 2;
  scenario.model.faults = {{dies, 0, Fault::Kind::Lost, kUnit / 10}};
  const Course course(scenario, "adaptive");
  EXPECT_EQ(course.count(Kind::Done), 1U);
  std::set<std::uint32_t> before, after;
  for (const Execution& each : course.log())
    (each.start < dies ? before : after).insert(each.device);
  EXPECT_TRUE(before == std::set<std::uint32_t>{0});
  EXPECT_EQ(after.size(), 1U);
}

// Of eight symbols on four devices two lose theirs, the pilots one of them: each is whole again on
// one device.
TEST(Pool, ASymbolThatLosesItsDeviceStaysTogether) {
  GraphBuilder builder;
  const Work load{.moved = 1, .output = 1};
  std::vector<Work> work;
  for (std::uint16_t s = 0; s < 8; ++s) {
    const std::uint16_t from = builder.add({.opcode = 0, .step = s});
    const std::uint16_t then = builder.add({.opcode = 1, .step = s});
    const std::uint16_t last = builder.add({.opcode = 2, .step = s});
    builder.depend(from, then);
    builder.depend(then, last);
    if (s > 0) builder.depend(2, then);
    work.insert(work.end(), {load, full_kernel(3), full_kernel(1)});
  }
  Scenario scenario;
  scenario.sources.push_back({std::move(*builder.build().graph), std::move(work)});
  scenario.model = bare_pool(4);
  scenario.frames = {{0, {0, 0}}};
  for (const Tick dies : {kUnit, 5 * kUnit, 7 * kUnit}) {
    scenario.model.faults = {{dies, 0, Fault::Kind::Lost, kUnit / 10},
                             {dies, 3, Fault::Kind::Lost, kUnit / 10}};
    const Course course(scenario, "symbol-level");
    EXPECT_EQ(course.count(Kind::Done), 1U);
    std::map<std::uint16_t, std::set<std::uint32_t>> devices;
    for (const Execution& each : course.log())
      if (each.start > dies)
        devices[scenario.sources[0].graph[each.what.instruction].step].insert(each.device);
    for (const auto& [symbol, used] : devices) EXPECT_EQ(used.size(), 1U) << "symbol " << symbol;
  }
}

TEST(Pool, WhatDiedWithItsOnlyDeviceRunsAgainWhenThatIsBack) {
  for (const std::string_view policy : pool_policy_names()) {
    Scenario scenario = two_symbols(10, 10);
    scenario.model.devices.resize(1);
    scenario.model.faults = {{5 * kUnit, 0, Fault::Kind::Lost, kUnit},
                             {8 * kUnit, 0, Fault::Kind::Back, 0}};
    const Course course(scenario, policy);
    EXPECT_EQ(course.count(Kind::Done), 1U) << policy;
    EXPECT_EQ(course.runs()[1], 1U) << policy;  // both symbols still read it
    EXPECT_GE(course.simulation().now(), 8 * kUnit + 21 * kUnit) << policy;
  }
}

// A device that stands still for a unit, and is waited for, costs a unit and nothing else; one that
// is given up costs what was on it.
TEST(Pool, AHungDeviceGoesOnUnlessItIsGivenUp) {
  for (const std::string_view policy : pool_policy_names()) {
    const auto one_device = [](std::vector<Fault> faults) {
      Scenario scenario = two_symbols(10, 10);
      scenario.model.devices.resize(1);
      scenario.model.faults = std::move(faults);
      return scenario;
    };
    const Fault back{6 * kUnit, 0, Fault::Kind::Back, 0};
    const Scenario whole = one_device({});
    const Scenario waited = one_device({{5 * kUnit, 0, Fault::Kind::Hung, 2 * kUnit}, back});
    const Scenario lost = one_device({{5 * kUnit, 0, Fault::Kind::Hung, kUnit / 2}, back});
    const Tick without = Course(whole, policy).simulation().now();
    const Course patient(waited, policy), impatient(lost, policy);
    EXPECT_EQ(patient.count(Kind::Done), 1U) << policy;
    EXPECT_EQ(patient.simulation().now(), without + kUnit) << policy;
    EXPECT_EQ(patient.runs()[1] + patient.runs()[3] + patient.runs()[5], 0) << policy;
    EXPECT_EQ(impatient.count(Kind::Done), 1U) << policy;
    EXPECT_EQ(impatient.runs()[1], 1U) << policy;
    EXPECT_GE(impatient.simulation().now(), 6 * kUnit + 21 * kUnit) << policy;
  }
}

// Nobody misses a device that hangs while nothing is asked of it.
TEST(Pool, AnIdleDeviceThatHangsIsNotGivenUp) {
  Scenario scenario = two_symbols(1, 1);
  scenario.frames = {{10 * kUnit, {0, 0}}};
  scenario.model.faults = {{kUnit, 0, Fault::Kind::Hung, kUnit},
                           {9 * kUnit, 0, Fault::Kind::Back, 0}};
  const Course course(scenario, "frame-level");
  EXPECT_EQ(course.count(Kind::Done), 1U);
  for (const Execution& each : course.log()) EXPECT_EQ(each.device, 0U);
}

// A frame of two_symbols holds 512 bytes of loads and 3 KiB of results on each device.
TEST(Pool, WithoutMemoryAFrameIsRefusedAndLeavesTheOthersAlone) {
  for (const std::string_view policy : pool_policy_names()) {
    Scenario scenario = two_symbols(10, 10);
    scenario.ring = 4;
    scenario.frames = {{0, {0, 0}}, {0, {1, 0}}, {0, {2, 0}}, {60 * kUnit, {3, 0}}};
    for (PoolDevice& device : scenario.model.devices) device.memory = 8 * 1024;
    const Course course(scenario, policy);
    EXPECT_EQ(course.count(Kind::Done), 3U) << policy;
    EXPECT_EQ(course.count(Kind::Refused), 1U) << policy;
    for (const FrameEvent& event : course.ended())
      EXPECT_TRUE(event.kind != Kind::Refused || (event.why == Reason::Memory && event.frame == 2));
    expect_nothing_left(course);
  }
}

TEST(Pool, ADeviceThatIsBackIsUsedAgain) {
  for (const std::string_view policy : pool_policy_names()) {
    Scenario scenario = two_symbols(3, 3);
    scenario.frames.clear();
    for (std::uint32_t f = 0; f < 20; ++f) scenario.frames.push_back({f * 4 * kUnit, {f, 0}});
    scenario.ring = 20;
    const Tick back = 40 * kUnit;
    scenario.model.faults = {{4 * kUnit, 1, Fault::Kind::Lost, 0}, {back, 1, Fault::Kind::Back, 0}};
    const Course course(scenario, policy);
    EXPECT_EQ(course.count(Kind::Done), 20U) << policy;
    bool used = false;
    for (const Execution& each : course.log()) {
      EXPECT_FALSE(each.device == 1 && each.end > 4 * kUnit && each.start < back) << policy;
      used |= each.device == 1 && each.start >= back && each.start < back + 6 * kUnit;
    }
    EXPECT_TRUE(used) << policy;
  }
}

}  // namespace
}  // namespace carillon::runtime
