// Several sources on one scheduler, in virtual time: what one does to another, from the log of
// events and executions.
#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <vector>

#include "runtime/random_graph.hpp"
#include "runtime/simulation.hpp"
#include "support/test.hpp"

namespace carillon::runtime {
namespace {

using Kind = FrameEvent::Kind;

constexpr Tick kFrame = 1000 * kMicrosecond;

DeviceMask cores(std::uint32_t first, std::uint32_t count) {
  DeviceMask mask;
  for (std::uint32_t i = first; i < first + count; ++i) mask.set(i);
  return mask;
}

// Ten symbols of eight items; what arrived is worked on (opcode 0) and decoded (opcode 1).
Graph cell_graph(Tick budget) {
  GraphBuilder builder;
  for (std::uint16_t s = 0; s < 10; ++s) {
    const Tick air_end = (s + 1) * kFrame / 10;
    const auto receive = builder.add({.step = s,
                                      .feed = Feed::Arrivals,
                                      .chunks = 8,
                                      .release = air_end,
                                      .close = air_end + budget / 2,
                                      .deadline = kFrame + budget});
    builder.depend(receive,
                   builder.add({.opcode = 1, .step = s, .chunks = 8, .deadline = kFrame + budget}));
  }
  return std::move(*builder.build().graph);
}

// Chunks of both opcodes for that much core time in a frame.
std::vector<Cost> costs_for(double load) {
  const auto chunk = static_cast<Tick>(load * static_cast<double>(kFrame) / 160);
  return {{0, chunk}, {0, chunk}};
}

struct Offered {
  const Graph& graph;
  double load;     // core time over air time
  Tick start = 0;  // of its first frame
  std::uint64_t frames = 400;
};

struct Outcome {
  std::uint32_t done = 0, dropped = 0, refused = 0;
  Tick latency = 0;  // the longest, beyond the frame's end on air
};

// Outcomes from the frame `from` on, when what chunks cost is known.
std::vector<Outcome> run(std::span<const Offered> sources, Policy& policy, std::uint32_t devices,
                         std::uint64_t from = 0) {
  std::vector<Simulation::Source> options;
  for (const Offered& source : sources)
    options.push_back({source.graph, 8, {1, 1}, costs_for(source.load)});
  Simulation simulation(options, policy, devices);
  const auto start = [&](FrameId id) {
    return sources[id.source].start + static_cast<Tick>(id.frame) * kFrame;
  };
  for (std::uint16_t c = 0; c < sources.size(); ++c) {
    const Graph& graph = sources[c].graph;
    for (std::uint64_t n = 0; n < sources[c].frames; ++n) {
      const FrameId id{n, c};
      simulation.begin(start(id), id, start(id));
      for (std::uint16_t i = 0; i < graph.size(); ++i)
        for (std::uint32_t item = 0; graph[i].feed == Feed::Arrivals && item < graph[i].chunks;
             ++item)
          simulation.arrive(start(id) + graph[i].release, id, i, item);
    }
  }
  simulation.run();
  std::vector<Outcome> outcomes(sources.size());
  for (const FrameEvent& event : simulation.events()) {
    if (event.frame < from) continue;
    Outcome& outcome = outcomes[event.source];
    outcome.done += event.kind == Kind::Done;
    outcome.dropped += event.kind == Kind::Dropped;
    outcome.refused += event.kind == Kind::Refused;
    if (event.kind == Kind::Done)
      outcome.latency =
          std::max(outcome.latency, event.at - start({event.frame, event.source}) - kFrame);
  }
  return outcomes;
}

TEST(Sources, TheEarlierDeadlineGoesFirst) {
  GraphBuilder patient, urgent;
  patient.add({.chunks = 3, .deadline = 9000});
  urgent.add({.chunks = 3, .deadline = 5000});
  const Graph first = std::move(*patient.build().graph), second = std::move(*urgent.build().graph);
  for (const std::string_view name : policy_names()) {
    const auto policy = make_policy(name, std::array{cores(0, 1)});
    Simulation simulation({{first, 4, {1}, {{0, 100}}}, {second, 4, {1}, {{0, 100}}}}, *policy, 1);
    simulation.begin(0, {0, 0}, 0);
    simulation.begin(50, {7, 1}, 50);
    simulation.run();
    std::vector<std::uint16_t> order;
    for (const Execution& e : simulation.executions()) {
      order.push_back(e.what.source);
      EXPECT_EQ(e.what.frame, e.what.source == 0 ? 0U : 7U);
    }
    const std::vector<std::uint16_t> expected =
        name == "static" ? std::vector<std::uint16_t>{0, 1}  // a claim is all three chunks
                         : std::vector<std::uint16_t>{0, 1, 1, 1, 0, 0};
    EXPECT_EQ(order, expected);
  }
}

// Its second frame has an instruction that is due before the first frame's, and still waits.
TEST(Sources, WithinACellFramesGoOneAfterTheOther) {
  GraphBuilder builder;
  builder.add({.chunks = 2, .deadline = 300});
  builder.add({.chunks = 4, .deadline = 2000});
  const Graph graph = std::move(*builder.build().graph);
  const auto policy = make_policy("earliest-frame");
  Simulation simulation({{graph, 4, {1}, {{0, 100}}}, {graph, 4, {1}, {{0, 100}}}}, *policy, 1);
  simulation.begin(0, {0, 0}, 0);
  simulation.begin(250, {1, 0}, 250);
  simulation.run();
  std::vector<std::uint64_t> frames;
  for (const Execution& e : simulation.executions()) frames.push_back(e.what.frame);
  EXPECT_EQ(frames, (std::vector<std::uint64_t>{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}));
}

// Beside a source of which nothing comes, everything is as without it.
TEST(Sources, OneAloneHasItAllAsIfThereWereNoOther) {
  for (const std::string_view name : policy_names()) {
    const auto policy = make_policy(name, std::array{cores(0, 1), cores(1, 2)});
    for (const double load : {0.5, 2.9, 4.0}) {
      const Graph graph = cell_graph(kFrame);
      const Offered alone{graph, load}, silent{graph, load, 0, 0};
      const auto one = run({&alone, 1}, *policy, 3).front();
      const auto two = run(std::array{alone, silent}, *policy, 3).front();
      EXPECT_EQ(one.done, two.done);
      EXPECT_EQ(one.refused, two.refused);
      EXPECT_EQ(one.dropped, two.dropped);
    }
  }
}

// The point of it all. A asks for a quarter of two cores, B for twice both; wherever A's frames
// begin relative to B's, none of them is late or refused, and none takes longer than alone by more
// than what cannot be interrupted: a claim of B's before each of the last symbol's two stages.
TEST(Sources, AnOverloadedCellMakesNoOtherLate) {
  const Graph light = cell_graph(kFrame / 2), heavy = cell_graph(4 * kFrame);
  for (const std::string_view name : policy_names()) {
    const auto policy = make_policy(name, std::array{cores(0, 1), cores(1, 1)});
    const Tick chunk = costs_for(4.0).front().chunk, claim = name == "static" ? 4 * chunk : chunk;
    for (Tick start = 0; start < kFrame; start += 287 * kMicrosecond) {
      const Offered a{light, 0.5, start}, b{heavy, 4.0};
      const auto alone = run({&a, 1}, *policy, 2, 10).front();
      const auto both = run(std::array{a, b}, *policy, 2, 10);
      EXPECT_EQ(both[0].done, 390U);
      EXPECT_EQ(both[0].refused + both[0].dropped, 0U);
      EXPECT_LE(both[0].latency, alone.latency + 2 * claim);
      EXPECT_GE(both[1].refused, 390U / 2);
      EXPECT_LE(both[1].dropped, 390U / 10);
      EXPECT_GE(both[1].done, 390U * 3 / 8 * 9 / 10);  // what A leaves over: 1.5 of its 4
    }
  }
}

// In frames of 1.5 and 3 times what a device does in their time, which are done whole or not at
// all.
TEST(Sources, OverloadedCellsShareAllThatIsLeftAndNoneStarves) {
  const Graph graph = cell_graph(4 * kFrame);
  const auto policy = make_policy("earliest-frame");
  const auto found = run(std::array{Offered{graph, 0.4}, Offered{graph, 1.5, kFrame / 3},
                                    Offered{graph, 3.0, kFrame / 2}},
                         *policy, 2, 10);
  EXPECT_EQ(found[0].done, 390U);
  const double second = found[1].done * 1.5 / 390, third = found[2].done * 3.0 / 390;
  EXPECT_NEAR(second, 0.8, 0.25);
  EXPECT_NEAR(third, 0.8, 0.25);
  EXPECT_GE(second + third, 0.95 * 1.6);
}

TEST(Sources, NobodyIsRefusedWhereThereIsRoomForAll) {
  const Graph graph = cell_graph(kFrame);
  const auto policy = make_policy("earliest-frame");
  const std::array sources = {Offered{graph, 0.2}, Offered{graph, 1.2, kFrame / 3},
                              Offered{graph, 0.4, kFrame / 2}};
  for (const Outcome& outcome : run(sources, *policy, 2)) {
    EXPECT_EQ(outcome.done, 400U);
    EXPECT_LE(outcome.latency, kFrame);
  }
}

// Asks another policy, and holds the sources' sums of what is left against their instructions.
class Recounting final : public Policy {
 public:
  explicit Recounting(std::string_view name, std::span<const DeviceMask> groups)
      : policy_(make_policy(name, groups)) {}
  Admission admit(const View& view, FrameRef frame) override {
    recount(view);
    return policy_->admit(view, frame);
  }
  std::size_t decide(const View& view, std::span<Issue> out) override {
    recount(view);
    return policy_->decide(view, out);
  }
  std::uint64_t looks = 0;

 private:
  void recount(const View& view) {
    for (const SourceBoard& source : view.board.sources())
      for (std::uint16_t slot = 0; slot < source.ring(); ++slot) {
        if (source.frame(slot).state != FrameStatus::State::Live) continue;
        std::vector<std::uint32_t> left(source.graph().lots().size());
        for (std::uint16_t i = 0; i < source.graph().size(); ++i) {
          const InstructionStatus& status = source.status(slot, i);
          left[source.graph().lot(i)] += status.uncommitted - status.done;
        }
        EXPECT_TRUE(std::ranges::equal(left, source.left(slot)));
        ++looks;
      }
  }
  std::unique_ptr<Policy> policy_;
};

TEST(Sources, WhatIsLeftOfAFrameIsWhatItsInstructionsHaveLeft) {
  std::mt19937 random(5);
  for (const std::string_view name : policy_names()) {
    const Graph lossy = random_graph(random, {.close = 9000, .deadline = 12000}),
                brief = random_graph(random, {.arrivals = 0, .drop_alone = 0.4, .deadline = 7000});
    for (std::uint16_t i = 0; i < lossy.size(); ++i)
      EXPECT_TRUE(lossy.lots()[lossy.lot(i)] == (Lot{lossy[i].deadline, lossy[i].opcode}));
    Recounting policy(name, std::array{cores(0, 2), cores(1, 2), cores(0, 1), cores(2, 1)});
    const std::vector<Cost> costs = {{20, 100}, {10, 70}, {0, 310}, {5, 45}};
    Simulation simulation({{lossy, 4, {}, costs}, {brief, 3, {}, costs}}, policy, 3);
    for (std::uint64_t n = 0; n < 40; ++n) {
      const auto at = static_cast<Tick>(4000 * n);
      simulation.begin(at, {n, 0}, at);
      simulation.begin(at + 700, {n, 1}, at + 700);
      if (n % 7 == 3) simulation.abandon(at + 2000, {n, 0});
      for (std::uint16_t i = 0; i < lossy.size(); ++i)
        for (std::uint32_t item = 0; lossy[i].feed == Feed::Arrivals && item < lossy[i].chunks;
             ++item)
          if (random() % 4 != 0) simulation.arrive(at + 10 * item, {n, 0}, i, item);
    }
    simulation.run();
    EXPECT_GE(policy.looks, 50U);
  }
}

// A source of many instructions may not fill the executor so that another's find no place in it.
TEST(Sources, WhatYieldsLeavesPlacesFree) {
  GraphBuilder many, few;
  for (std::uint16_t i = 0; i < 100; ++i) many.add({.step = i, .deadline = 10 * kFrame});
  few.add({.deadline = 100 * kMicrosecond});
  const Graph wide = std::move(*many.build().graph), narrow = std::move(*few.build().graph);
  const auto policy = make_policy("earliest-frame");
  Simulation simulation(
      {{narrow, 4, {1}, {{0, 10 * kMicrosecond}}}, {wide, 20, {1}, {{0, 40 * kMicrosecond}}}},
      *policy, 1);
  for (std::uint64_t n = 0; n < 200; ++n) {
    const auto at = static_cast<Tick>(n) * kFrame;
    simulation.begin(at, {n, 1}, at);
    simulation.begin(at + 500 * kMicrosecond, {n, 0}, at + 500 * kMicrosecond);
  }
  simulation.run();
  std::uint64_t done = 0;
  for (const FrameEvent& event : simulation.events())
    done += event.source == 0 && event.kind == Kind::Done;
  EXPECT_EQ(done, 200U);
}

TEST(Sources, TheSameInputsGiveTheSameSchedule) {
  std::mt19937 random(11);
  const Graph first = random_graph(random, {.arrivals = 0, .deadline = 8000}),
              second = random_graph(random, {.arrivals = 0, .deadline = 5000});
  const auto policy = make_policy("earliest-frame");
  const auto executions = [&] {
    const std::vector<Cost> costs = {{20, 100}, {10, 70}, {0, 310}, {5, 45}};
    Simulation simulation({{first, 4, {}, costs}, {second, 3, {}, costs}}, *policy, 3);
    for (std::uint64_t n = 0; n < 20; ++n) {
      const auto at = static_cast<Tick>(3000 * n);
      simulation.begin(at, {n, 0}, at);
      simulation.begin(at + 700, {n, 1}, at + 700);
    }
    simulation.run();
    return std::vector(simulation.executions().begin(), simulation.executions().end());
  };
  const auto one = executions(), two = executions();
  ASSERT_EQ(one.size(), two.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_TRUE(one[i].what == two[i].what);
    EXPECT_EQ(one[i].start, two[i].start);
    EXPECT_EQ(one[i].device, two[i].device);
  }
}

}  // namespace
}  // namespace carillon::runtime
