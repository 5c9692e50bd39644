// The scheduler and the policy in virtual time: what must hold for every graph and every course of
// events, checked from the log of executions alone.
#include "runtime/simulation.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "runtime/policies/earliest_frame.hpp"
#include "runtime/random_graph.hpp"
#include "support/test.hpp"

namespace carillon::runtime {
namespace {

using Kind = FrameEvent::Kind;

std::size_t count(const Simulation& simulation, Kind kind) {
  const auto events = simulation.events();
  return static_cast<std::size_t>(std::count_if(
      events.begin(), events.end(), [&](const FrameEvent& e) { return e.kind == kind; }));
}

struct Span {
  Tick start = kNever, end = kAlways;
  std::vector<int> times;  // each chunk was executed
};

// Per frame and instruction, what the log says.
std::map<std::uint64_t, std::vector<Span>> by_instruction(const Graph& graph,
                                                          std::span<const Execution> log) {
  std::map<std::uint64_t, std::vector<Span>> spans;
  for (const Execution& execution : log) {
    auto& frame = spans[execution.what.frame];
    frame.resize(graph.size());
    Span& span = frame[execution.what.instruction];
    span.times.resize(graph[execution.what.instruction].chunks);
    span.start = std::min(span.start, execution.start);
    span.end = std::max(span.end, execution.end);
    for (std::uint32_t i = 0; i < execution.count; ++i) ++span.times[execution.first + i];
  }
  return spans;
}

// Frames of a random graph, begun faster than the devices can work, all items arriving.
std::unique_ptr<Simulation> busy_run(const Graph& graph, Policy& policy, std::mt19937& random,
                                     std::uint32_t frames, std::uint32_t devices, Tick interval) {
  auto simulation = std::make_unique<Simulation>(
      graph, policy,
      Simulation::Options{.devices = devices,
                          .ring = frames,
                          .grain = {1, 2, 3, 4},
                          .costs = {{0, 100}, {0, 70}, {0, 310}, {0, 45}}});
  for (std::uint32_t frame = 0; frame < frames; ++frame) {
    const Tick start = frame * interval;
    simulation->begin(start, frame, start);
    for (std::uint16_t i = 0; i < graph.size(); ++i) {
      if (graph[i].feed != Feed::Arrivals) continue;
      for (std::uint32_t item = 0; item < graph[i].chunks; ++item) {
        simulation->arrive(start + static_cast<Tick>(random() % 2000), frame, i, item);
      }
    }
  }
  simulation->run();
  return simulation;
}

TEST(EarliestFrame, NoDeviceWorksOnALaterFrameWhileAnEarlierOneHasReadyWork) {
  const auto policy = make_policy("earliest-frame");
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const Graph graph = random_graph(random, {.instructions = 20, .arrivals = 0});
    const auto run = busy_run(graph, *policy, random, 4, 3, 500);
    const Simulation& simulation = *run;
    const auto predecessors = predecessors_of(graph);
    const auto spans = by_instruction(graph, simulation.executions());
    for (const Execution& later : simulation.executions()) {
      for (const Execution& earlier : simulation.executions()) {
        if (earlier.what.frame >= later.what.frame || earlier.start <= later.start) continue;
        Tick ready = static_cast<Tick>(earlier.what.frame) * 500;
        for (const std::uint16_t p : predecessors[earlier.what.instruction]) {
          ready = std::max(ready, spans.at(earlier.what.frame)[p].end);
        }
        EXPECT_GT(ready, later.start);
      }
    }
  }
}

TEST(EarliestFrame, WithinAFrameTheMostUrgentReadyWorkGoesFirst) {
  GraphBuilder builder;
  builder.add({.step = 5, .chunks = 2, .deadline = 9000});
  builder.add({.step = 7, .chunks = 2, .deadline = 5000});
  builder.add({.step = 3, .chunks = 2, .deadline = 9000});
  const Graph graph = std::move(*builder.build().graph);
  EarliestFrame policy;
  Simulation simulation(graph, policy, {.costs = {{0, 100}}});
  simulation.begin(0, 0, 0);
  simulation.run();
  const auto log = simulation.executions();
  ASSERT_EQ(log.size(), 6U);
  EXPECT_EQ(log[0].what.instruction, 1);
  EXPECT_EQ(log[2].what.instruction, 2);
  EXPECT_EQ(log[4].what.instruction, 0);
}

TEST(EarliestFrame, KeepsAllDevicesBusyWhenThereIsWorkForThem) {
  GraphBuilder builder;
  builder.add({.chunks = 40});
  const Graph graph = std::move(*builder.build().graph);
  EarliestFrame policy;
  Simulation simulation(graph, policy, {.devices = 8, .grain = {100}, .costs = {{0, 10}}});
  simulation.begin(0, 0, 0);
  simulation.run();
  EXPECT_EQ(simulation.now(), 50);  // 40 chunks of 10 on 8 devices, however large the grain
}

TEST(EarliestFrame, ClaimsAsManyChunksAsTakeAClaimsTime) {
  GraphBuilder builder;
  builder.add({.chunks = 2000});
  const Graph graph = std::move(*builder.build().graph);
  EarliestFrame policy;
  for (const auto& [chunk, claimed] :
       {std::pair{1, 256U}, {100, 100U}, {2'500, 4U}, {60'000, 1U}}) {
    Simulation simulation(graph, policy, {.ring = 1, .costs = {{0, chunk}}});
    for (std::uint32_t frame = 0; frame < 2; ++frame) {
      simulation.begin(simulation.now(), frame, simulation.now());
      simulation.run();
    }
    EXPECT_EQ(simulation.executions().front().count, 1U);  // nothing is known yet
    EXPECT_EQ(simulation.executions()[2000].count, claimed);
  }
}

TEST(EarliestFrame, RefusesAFrameThatIsAlreadyTooLate) {
  GraphBuilder builder;
  builder.add({.deadline = 100});
  const Graph graph = std::move(*builder.build().graph);
  EarliestFrame policy;
  Simulation simulation(graph, policy, {.costs = {{0, 10}}});
  simulation.begin(1000, 0, 900);
  simulation.begin(1000, 1, 950);
  simulation.run();
  EXPECT_EQ(count(simulation, Kind::Refused), 1U);
  EXPECT_EQ(count(simulation, Kind::Done), 1U);
}

// One frame asks for 1000 ns of a device and comes every 700 ns, with 1200 ns to its deadline.
TEST(EarliestFrame, UnderOverloadFinishesWhatItLetsIn) {
  GraphBuilder builder;
  builder.add({.chunks = 10, .deadline = 1200});
  const Graph graph = std::move(*builder.build().graph);
  const auto policy = make_policy("earliest-frame");
  Simulation simulation(graph, *policy, {.devices = 1, .ring = 8, .costs = {{0, 100}}});
  constexpr std::uint32_t kFrames = 2000;
  for (std::uint32_t frame = 0; frame < kFrames; ++frame)
    simulation.begin(frame * 700, frame, frame * 700);
  simulation.run();
  const std::size_t done = count(simulation, Kind::Done);
  const std::size_t dropped = count(simulation, Kind::Dropped);
  EXPECT_EQ(done + dropped + count(simulation, Kind::Refused), std::size_t{kFrames});
  // Every other frame is what fits; letting all in would finish almost none.
  EXPECT_GE(done, kFrames * 45 / 100);
  EXPECT_LE(dropped, kFrames * 8 / 100);  // before the first 1024 chunks have been timed
}

// Half of a frame's work is missed alone, the rest of it waits while the next frame comes.
TEST(EarliestFrame, DoesNotCountWorkThatWasMissed) {
  GraphBuilder builder;
  builder.add({.drop_alone = true, .chunks = 100, .deadline = 5000});
  builder.add({.opcode = 1, .release = 13'500, .deadline = 20'000});
  const Graph graph = std::move(*builder.build().graph);
  EarliestFrame policy;
  Simulation simulation(graph, policy, {.grain = {1}, .costs = {{0, 100}, {0, 100}}});
  for (std::uint32_t frame = 0; frame < 100; ++frame)
    simulation.begin(frame * 8000, frame, frame * 8000);
  simulation.run();
  EXPECT_EQ(count(simulation, Kind::Done), 100U);
  EXPECT_EQ(simulation.board().opcodes()[0].chunks, 100U * 50);
  EXPECT_NEAR(simulation.board().opcodes()[0].mean, 100.0, 1e-9);
}

// Two instructions of 100 each, one after the other: the second is done at 200, 50 early.
TEST(EarliestFrame, GivesUpWhatHasALeadSoMuchEarlier) {
  GraphBuilder builder;
  builder.add({.chunks = 1, .deadline = 5000});
  builder.add({.opcode = 1, .notify = true, .drop_alone = true, .deadline = 250});
  builder.depend(0, 1);
  const Graph graph = std::move(*builder.build().graph);
  EarliestFrame policy;
  for (const Tick lead : {0, 49, 51, 149, 151}) {
    Simulation simulation(graph, policy, {.costs = {{0, 100}, {0, 100}}});
    simulation.begin(0, 0, 0, {}, lead);
    simulation.run();
    EXPECT_EQ(count(simulation, Kind::Missed), lead > 50 ? 1U : 0U) << lead;
    EXPECT_EQ(count(simulation, Kind::Done), 1U) << lead;
    for (const FrameEvent& event : simulation.events())
      if (event.kind == Kind::Missed) {
        EXPECT_EQ(event.at, 250 - lead) << lead;
      }
  }
}

TEST(Simulation, TheSameInputsGiveTheSameSchedule) {
  EarliestFrame policy;
  std::mt19937 random(5);
  const Graph graph = random_graph(random, {});
  std::mt19937 one(9), two(9);
  const auto first = busy_run(graph, policy, one, 5, 3, 700);
  const auto second = busy_run(graph, policy, two, 5, 3, 700);
  const Simulation &a = *first, &b = *second;
  ASSERT_EQ(a.executions().size(), b.executions().size());
  for (std::size_t i = 0; i < a.executions().size(); ++i) {
    EXPECT_TRUE(a.executions()[i].what == b.executions()[i].what);
    EXPECT_EQ(a.executions()[i].start, b.executions()[i].start);
    EXPECT_EQ(a.executions()[i].device, b.executions()[i].device);
  }
}

TEST(Simulation, ADroppedFrameGivesNothingMoreAndItsSlotComesBack) {
  EarliestFrame policy;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const Graph graph = random_graph(random, {.arrivals = 0, .deadline = 8000});
    Simulation simulation(
        graph, policy, {.devices = 2, .ring = 3, .costs = {{0, 100}, {0, 70}, {0, 310}, {0, 45}}});
    constexpr std::uint32_t kFrames = 20;
    for (std::uint32_t frame = 0; frame < kFrames; ++frame) {
      simulation.begin(frame * 4000, frame, frame * 4000);
    }
    simulation.run();
    EXPECT_LT(0U, count(simulation, Kind::Dropped));
    EXPECT_EQ(count(simulation, Kind::Done) + count(simulation, Kind::Dropped) +
                  count(simulation, Kind::Refused),
              kFrames);
    for (const FrameEvent& event : simulation.events()) {
      if (event.kind != Kind::Dropped) continue;
      EXPECT_TRUE(event.why == Reason::Deadline);
      for (const Execution& execution : simulation.executions()) {
        if (execution.what.frame != event.frame) continue;
        EXPECT_LT(execution.start, static_cast<Tick>(event.frame) * 4000 + 8000);
        EXPECT_LE(execution.end, event.at);
      }
    }
  }
}

TEST(Simulation, AFrameThatFindsTheRingFullIsRefused) {
  GraphBuilder builder;
  builder.add({.chunks = 10});
  const Graph graph = std::move(*builder.build().graph);
  EarliestFrame policy;
  Simulation simulation(graph, policy, {.ring = 2, .costs = {{0, 100}}});
  for (std::uint32_t frame = 0; frame < 3; ++frame) simulation.begin(frame, frame, frame);
  simulation.run();
  EXPECT_EQ(count(simulation, Kind::Done), 2U);
  ASSERT_EQ(count(simulation, Kind::Refused), 1U);
  EXPECT_EQ(simulation.events()[0].frame, 2U);
}

TEST(Simulation, LostItemsAreFedAsMissingWhenTheInstructionCloses) {
  GraphBuilder builder;
  const auto in = builder.add({.feed = Feed::Arrivals, .chunks = 4, .close = 1000});
  const auto silent = builder.add({.feed = Feed::Arrivals, .chunks = 4, .close = 2000});
  const auto out = builder.add({.chunks = 1});
  builder.depend(in, out);
  builder.depend(silent, out);
  const Graph graph = std::move(*builder.build().graph);
  EarliestFrame policy;
  Simulation simulation(graph, policy, {.costs = {{0, 10}}});
  simulation.begin(0, 0, 0);
  simulation.arrive(100, 0, in, 2);
  simulation.arrive(150, 0, in, 2);
  simulation.arrive(200, 0, in, 0);
  simulation.arrive(1500, 0, in, 3);
  simulation.run();
  EXPECT_EQ(count(simulation, Kind::Done), 1U);
  EXPECT_EQ(simulation.now(), 2000 + 4 * 10 + 10);
  EXPECT_EQ(simulation.board().status(0, in).missing, 2);
  EXPECT_EQ(simulation.board().status(0, silent).missing, 4);
  EXPECT_EQ(simulation.arrivals(Arrival::Accepted), 2U);
  EXPECT_EQ(simulation.arrivals(Arrival::Duplicate), 1U);
  EXPECT_EQ(simulation.arrivals(Arrival::Late), 1U);
}

// When most are there the others are lost; when few are, all are late.
TEST(Simulation, AnInstructionClosesEarlyOnlyWhenMostOfItsItemsAreThere) {
  GraphBuilder builder;
  const Instruction early{
      .feed = Feed::Arrivals, .chunks = 4, .close = 2000, .early_close = 1000, .quorum = 3};
  const auto most = builder.add(early), few = builder.add(early);
  const Graph graph = std::move(*builder.build().graph);
  EarliestFrame policy;
  Simulation simulation(graph, policy, {.costs = {{0, 10}}});
  simulation.begin(0, 0, 0);
  for (std::uint32_t item = 0; item < 3; ++item) simulation.arrive(100, 0, most, item);
  for (std::uint32_t item = 0; item < 2; ++item) simulation.arrive(100, 0, few, item);
  for (const auto in : {most, few}) simulation.arrive(1500, 0, in, 3);
  simulation.run();
  EXPECT_EQ(simulation.board().status(0, most).missing, 1);
  EXPECT_EQ(simulation.board().status(0, few).missing, 1);
  EXPECT_EQ(simulation.arrivals(Arrival::Late), 1U);
  EXPECT_EQ(simulation.arrivals(Arrival::Accepted), 6U);
}

TEST(Simulation, ItemsAreWorkedOnAsTheyArrive) {
  GraphBuilder builder;
  builder.add({.feed = Feed::Arrivals, .chunks = 3});
  const Graph graph = std::move(*builder.build().graph);
  EarliestFrame policy;
  Simulation simulation(graph, policy, {.costs = {{0, 10}}});
  simulation.begin(0, 0, 0);
  for (std::uint32_t i = 0; i < 3; ++i) simulation.arrive(100 * i, 0, 0, 2 - i);
  simulation.run();
  const auto log = simulation.executions();
  ASSERT_EQ(log.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(log[i].start, static_cast<Tick>(100 * i));
}

TEST(Simulation, NothingStartsBeforeItsRelease) {
  GraphBuilder builder;
  builder.add({.release = 500});
  builder.depend(0, builder.add({.release = 100}));
  const Graph graph = std::move(*builder.build().graph);
  EarliestFrame policy;
  Simulation simulation(graph, policy, {.costs = {{0, 10}}});
  simulation.begin(0, 0, 1000);
  simulation.run();
  ASSERT_EQ(simulation.executions().size(), 2U);
  EXPECT_EQ(simulation.executions()[0].start, 1500);
  EXPECT_EQ(simulation.executions()[1].start, 1510);
}

TEST(Simulation, SkippedInstructionsLetTheirSuccessorsPass) {
  GraphBuilder builder;
  for (int i = 0; i < 4; ++i) builder.add({.notify = true, .chunks = 2});
  for (std::uint16_t i = 0; i < 3; ++i) builder.depend(i, static_cast<std::uint16_t>(i + 1));
  const Graph graph = std::move(*builder.build().graph);
  EarliestFrame policy;
  Simulation simulation(graph, policy, {.grain = {1}, .costs = {{0, 10}}});
  const std::uint32_t some[] = {1, 0, 0, 2}, none[] = {0, 0, 0, 0};
  simulation.begin(0, 0, 0, some);
  simulation.begin(500, 1, 500, none);
  simulation.run();
  EXPECT_EQ(simulation.executions().size(), 3U);
  EXPECT_EQ(count(simulation, Kind::Committed), 2U);
  EXPECT_EQ(count(simulation, Kind::Done), 2U);
}

TEST(Simulation, AMissedInstructionCostsOnlyItselfAndWhatNeedsIt) {
  GraphBuilder builder;
  const auto slow =
      builder.add({.notify = true, .drop_alone = true, .chunks = 100, .deadline = 250});
  const auto after = builder.add({.notify = true, .chunks = 1});
  const auto other = builder.add({.step = 1, .notify = true, .chunks = 1});
  builder.depend(slow, after);
  const Graph graph = std::move(*builder.build().graph);
  EarliestFrame policy;
  Simulation simulation(graph, policy, {.costs = {{0, 100}}});
  simulation.begin(0, 0, 0);
  simulation.run();
  EXPECT_EQ(simulation.executions().size(), 3U + 1U);  // the chunk running at 250 still ends
  EXPECT_EQ(count(simulation, Kind::Missed), 2U);
  EXPECT_EQ(count(simulation, Kind::Done), 1U);
  EXPECT_TRUE(simulation.board().status(0, after).why == Reason::Predecessor);
  EXPECT_TRUE(simulation.board().status(0, other).state == InstructionStatus::State::Committed);
}

TEST(Simulation, AnAbandonedFrameIsDroppedAtOnce) {
  GraphBuilder builder;
  builder.add({.chunks = 100});
  const Graph graph = std::move(*builder.build().graph);
  EarliestFrame policy;
  Simulation simulation(graph, policy, {.costs = {{0, 10}}});
  simulation.begin(0, 0, 0);
  simulation.abandon(55, 0);
  simulation.run();
  ASSERT_EQ(count(simulation, Kind::Dropped), 1U);
  EXPECT_TRUE(simulation.events()[0].why == Reason::Abandoned);
  EXPECT_EQ(simulation.events()[0].at, 60);
  EXPECT_EQ(simulation.executions().size(), 6U);
}

TEST(Simulation, WhatTakesNoTimeIsDoneAtOnce) {
  GraphBuilder builder;
  builder.add({.opcode = 0, .chunks = 50});
  const Graph graph = std::move(*builder.build().graph);
  EarliestFrame policy;
  Simulation simulation(graph, policy, {.grain = {1}, .costs = {{0, 0}}});
  simulation.begin(10, 0, 10);
  simulation.abandon(1000, 0);  // later events must not be needed
  simulation.run();
  EXPECT_EQ(simulation.executions().size(), 50U);
  EXPECT_EQ(simulation.events().front().kind, Kind::Done);
  EXPECT_EQ(simulation.events().front().at, 10);
}

TEST(Simulation, AClaimCostsItselfAndItsChunks) {
  GraphBuilder builder;
  builder.add({.opcode = 0, .chunks = 5});
  const Graph graph = std::move(*builder.build().graph);
  EarliestFrame policy;
  Simulation simulation(graph, policy, {.grain = {2}, .costs = {{7, 100}}});
  simulation.begin(0, 0, 0);
  simulation.run();
  EXPECT_EQ(simulation.executions().size(), 3U);
  EXPECT_EQ(simulation.events().back().at, 3 * 7 + 5 * 100);
}

TEST(Simulation, TheOpcodeTableLearnsMeanExecutionTimes) {
  GraphBuilder builder;
  builder.add({.opcode = 0, .chunks = 2000});
  builder.add({.opcode = 1, .chunks = 10});
  const Graph graph = std::move(*builder.build().graph);
  EarliestFrame policy;
  Simulation simulation(graph, policy, {.costs = {{0, 30}, {0, 50}}});
  simulation.begin(0, 0, 0);
  simulation.run();
  EXPECT_NEAR(simulation.board().opcodes()[0].mean, 30.0, 1e-9);
  EXPECT_EQ(simulation.board().opcodes()[1].chunks, 10U);
  EXPECT_EQ(simulation.board().opcodes()[1].busy, 500);
}

TEST(Simulation, WhatIsCancelledBeforeItBeginsTellsNothingOfItsCost) {
  GraphBuilder builder;
  builder.add({.opcode = 0, .deadline = 150});
  builder.add({.opcode = 1, .deadline = 200});
  const Graph graph = std::move(*builder.build().graph);
  EarliestFrame policy;
  Simulation simulation(graph, policy, {.costs = {{0, 1000}, {0, 1000}}});
  simulation.begin(0, 0, 0);
  simulation.run();
  ASSERT_EQ(simulation.executions().size(), 1U);
  EXPECT_EQ(simulation.board().opcodes()[0].mean, 1000);
  EXPECT_EQ(simulation.board().opcodes()[1].mean, 0);
  EXPECT_EQ(simulation.board().grain(1), 1U);
}

// One instruction of so many chunks, frame after frame on one device.
std::vector<Tick> durations(std::uint32_t chunks, std::uint32_t grain, const Cost& cost,
                            std::uint32_t frames, std::uint64_t seed = 1) {
  GraphBuilder builder;
  builder.add({.chunks = chunks});
  const Graph graph = std::move(*builder.build().graph);
  EarliestFrame policy;
  Simulation simulation(graph, policy,
                        {.devices = 1, .ring = 4, .grain = {grain}, .costs = {cost}, .seed = seed});
  for (std::uint32_t frame = 0; frame < frames; ++frame)
    simulation.begin(frame * kSecond, frame, frame * kSecond);
  simulation.run();
  std::vector<Tick> times;
  for (const Execution& e : simulation.executions()) times.push_back(e.end - e.start);
  return times;
}

TEST(Simulation, TheLastClaimOfAnInstructionTakesItsCommitToo) {
  EXPECT_EQ(durations(7, 3, {.claim = 100, .chunk = 10, .commit = 1000}, 1),
            (std::vector<Tick>{130, 130, 1110}));
}

TEST(Simulation, ClaimsTakeAsLongAndAsOftenAsTheirSpreadSays) {
  const Cost cost{.chunk = 1000, .spread = {{0, 0.5}, {0.5, 1}, {0.9, 2}, {1, 10}}};
  auto times = durations(1, 1, cost, 4000);
  EXPECT_EQ(times, durations(1, 1, cost, 4000));
  EXPECT_NE(times, durations(1, 1, cost, 4000, 2));
  std::sort(times.begin(), times.end());
  EXPECT_GE(times.front(), 500);
  EXPECT_LE(times.back(), 10'000);
  EXPECT_NEAR(static_cast<double>(times[2000]), 1000, 30);
  EXPECT_NEAR(static_cast<double>(times[3600]), 2000, 200);
  EXPECT_GT(times[3900], 4000);
}

}  // namespace
}  // namespace carillon::runtime
