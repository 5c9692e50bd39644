// What each policy promises, checked from the log of executions in virtual time.
#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "runtime/random_graph.hpp"
#include "runtime/simulation.hpp"
#include "support/test.hpp"

namespace carillon::runtime {
namespace {

constexpr std::uint32_t kDevices = 4, kFrames = 6;
const std::vector<Cost> kCosts = {{20, 100}, {10, 70}, {0, 310}, {5, 45}};

DeviceMask cores(std::uint32_t first, std::uint32_t count) {
  DeviceMask mask;
  for (std::uint32_t i = first; i < first + count; ++i) mask.set(i);
  return mask;
}

// Opcodes 1 and 2 share a group.
std::vector<DeviceMask> groups() { return {cores(0, 1), cores(1, 2), cores(1, 2), cores(3, 1)}; }

std::unique_ptr<Simulation> run(const Graph& graph, Policy& policy, std::mt19937& random) {
  auto simulation = std::make_unique<Simulation>(
      graph, policy,
      Simulation::Options{
          .devices = kDevices, .ring = kFrames, .grain = {1, 2, 3, 4}, .costs = kCosts});
  for (std::uint32_t frame = 0; frame < kFrames; ++frame) {
    const Tick start = frame * Tick{1000};
    simulation->begin(start, frame, start);
    for (std::uint16_t i = 0; i < graph.size(); ++i) {
      if (graph[i].feed != Feed::Arrivals) continue;
      for (std::uint32_t item = 0; item < graph[i].chunks; ++item)
        simulation->arrive(start + static_cast<Tick>(random() % 2000), frame, i, item);
    }
  }
  simulation->run();
  return simulation;
}

// Every chunk of every frame exactly once, after all that it waits for.
void expect_complete(const Graph& graph, const Simulation& simulation) {
  std::map<std::pair<std::uint64_t, std::uint16_t>, std::vector<int>> times;
  std::map<std::pair<std::uint64_t, std::uint16_t>, std::pair<Tick, Tick>> spans;
  for (const Execution& e : simulation.executions()) {
    auto& done = times[{e.what.frame, e.what.instruction}];
    done.resize(graph[e.what.instruction].chunks);
    for (std::uint32_t i = 0; i < e.count; ++i) ++done[e.first + i];
    auto [place, added] = spans.try_emplace({e.what.frame, e.what.instruction}, e.start, e.end);
    place->second.first = std::min(place->second.first, e.start);
    place->second.second = std::max(place->second.second, e.end);
  }
  const auto predecessors = predecessors_of(graph);
  for (std::uint64_t frame = 0; frame < kFrames; ++frame)
    for (std::uint16_t i = 0; i < graph.size(); ++i) {
      const auto& done = times[{frame, i}];
      EXPECT_EQ(std::count(done.begin(), done.end(), 1),
                static_cast<std::ptrdiff_t>(graph[i].chunks));
      for (const std::uint16_t p : predecessors[i])
        EXPECT_LE((spans[{frame, p}].second), (spans[{frame, i}].first));
    }
}

TEST(Policies, AllDoAllWorkOnceAndInOrder) {
  for (const std::string_view name : policy_names()) {
    const auto policy = make_policy(name, groups());
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
      std::mt19937 random(seed);
      const Graph graph = random_graph(random, {});
      expect_complete(graph, *run(graph, *policy, random));
    }
  }
}

TEST(CoreGroups, AnOpcodeRunsOnItsOwnCoresAlone) {
  const auto policy = make_policy("core-groups", groups());
  std::mt19937 random(3);
  const Graph graph = random_graph(random, {});
  const auto simulation = run(graph, *policy, random);
  const auto of_opcode = groups();
  std::set<std::uint32_t> used;
  for (const Execution& e : simulation->executions()) {
    EXPECT_TRUE(of_opcode[graph[e.what.instruction].opcode].test(e.device));
    used.insert(e.device);
  }
  EXPECT_EQ(used.size(), std::size_t{kDevices});
}

// Thesis figure 3.2: two stages of equal work. Data parallel, a frame has both cores and is done
// before the next one comes; core groups pass it on and work on two frames at a time.
TEST(CoreGroups, FramesOverlapWhereEarliestFrameDoesOneAfterTheOther) {
  GraphBuilder builder;
  builder.add({.opcode = 0, .chunks = 2});
  builder.add({.opcode = 1, .chunks = 2});
  builder.depend(0, 1);
  const Graph graph = std::move(*builder.build().graph);
  const std::vector<DeviceMask> halves = {cores(0, 1), cores(1, 1)};
  const auto latencies = [&](std::string_view name) {
    const auto policy = make_policy(name, halves);
    Simulation simulation(graph, *policy,
                          {.devices = 2, .grain = {1, 1}, .costs = {{0, 100}, {0, 100}}});
    for (std::uint64_t f = 0; f < 3; ++f)
      simulation.begin(static_cast<Tick>(200 * f), f, static_cast<Tick>(200 * f));
    simulation.run();
    std::vector<Tick> found;
    for (const FrameEvent& e : simulation.events())
      if (e.kind == FrameEvent::Kind::Done)
        found.push_back(e.at - static_cast<Tick>(200 * e.frame));
    return found;
  };
  EXPECT_EQ(latencies("earliest-frame"), (std::vector<Tick>{200, 200, 200}));
  EXPECT_EQ(latencies("core-groups"), (std::vector<Tick>{400, 400, 400}));
}

TEST(CoreGroups, AFrameIsRefusedWhenOneGroupCannotMakeIt) {
  GraphBuilder builder;
  builder.add({.opcode = 0, .chunks = 100, .deadline = 1000});
  builder.add({.opcode = 1, .chunks = 900, .deadline = 1000});
  const Graph graph = std::move(*builder.build().graph);
  const std::vector<DeviceMask> halves = {cores(0, 1), cores(1, 1)};
  const auto policy = make_policy("core-groups", halves);
  // 1000 of work for the two cores together would fit in, but the second has 900 for each frame.
  Simulation simulation(graph, *policy,
                        {.devices = 2, .ring = 8, .grain = {10, 10}, .costs = {{0, 1}, {0, 1}}});
  // The first frames are let in while costs are unknown.
  for (std::uint64_t f = 0; f < 40; ++f)
    simulation.begin(static_cast<Tick>(500 * f), f, static_cast<Tick>(500 * f));
  simulation.run();
  std::uint64_t refused = 0, dropped = 0;
  for (const FrameEvent& e : simulation.events()) {
    refused += e.kind == FrameEvent::Kind::Refused;
    dropped += e.kind == FrameEvent::Kind::Dropped;
  }
  EXPECT_GE(refused, 15U);
  EXPECT_LE(dropped, 8U);
}

TEST(Static, EveryInstructionIsSharedOutEvenlyBeforehand) {
  const auto policy = make_policy("static");
  std::mt19937 random(5);
  const Graph graph = random_graph(random, {});
  const auto simulation = run(graph, *policy, random);
  for (const Execution& e : simulation->executions()) {
    const std::uint64_t chunks = graph[e.what.instruction].chunks;
    EXPECT_GE(e.first, chunks * e.device / kDevices);
    EXPECT_LE(e.first + e.count, chunks * (e.device + 1) / kDevices);
  }
}

TEST(Policies, AreMadeByName) {
  EXPECT_TRUE(make_policy("no-such-policy") == nullptr);
  for (const std::string_view name : policy_names())
    EXPECT_TRUE(make_policy(name, groups()) != nullptr);
}

}  // namespace
}  // namespace carillon::runtime
