// MegaStation's decisions on pools made by hand: each line of algorithm 1 (structural analysis) and
// of algorithm 2 (LROC) is reached, and what it chose is told by the reasons in the log.
#include <algorithm>
#include <initializer_list>
#include <vector>

#include "runtime/pool_scenario.hpp"
#include "support/test.hpp"

namespace carillon::runtime {
namespace {

// So many SMs of an A100, 100 µs for each unit.
Work kernel(std::uint32_t sms, std::uint32_t units, std::uint64_t output = 1000) {
  Work work = full_kernel(units);
  work.footprint.ctas = work.footprint.ctas / find_device_type("a100")->sms * sms;
  work.output = output;
  return work;
}

// A frame: a transfer from the host, then kernels that wait for those named.
struct Task {
  Work work;
  std::vector<std::uint16_t> waits_for = {0};
  Tick release = kAlways;
  std::uint16_t step = 0;
};

CellPlan cell_of(const std::vector<Task>& tasks, Tick deadline = kLong) {
  GraphBuilder builder;
  CellPlan source;
  builder.add({.opcode = 0, .deadline = deadline});
  source.work.push_back({.output = 1});
  for (std::uint16_t i = 0; i < tasks.size(); ++i) {
    builder.add({.opcode = static_cast<std::uint16_t>(i + 1),
                 .step = tasks[i].step,
                 .release = tasks[i].release,
                 .deadline = deadline});
    for (const std::uint16_t needed : tasks[i].waits_for) builder.depend(needed, i + 1U);
    source.work.push_back(tasks[i].work);
  }
  source.graph = std::move(*builder.build().graph);
  return source;
}

struct Frame {
  std::vector<Task> tasks;
};

// Sources' first frames, and when they begin.
Scenario scenario_of(std::initializer_list<Frame> frames, const std::vector<Tick>& begins,
                     std::uint32_t devices) {
  Scenario scenario;
  scenario.model = bare_pool(devices);
  for (const Frame& frame : frames) {
    const auto source = static_cast<std::uint16_t>(scenario.sources.size());
    scenario.sources.push_back(cell_of(frame.tasks));
    scenario.frames.push_back({begins.at(source), {0, source}});
  }
  return scenario;
}

const Execution& executed(const Course& course, std::uint16_t source, std::uint16_t instruction) {
  const auto log = course.log();
  return *std::find_if(log.begin(), log.end(), [&](const Execution& each) {
    return each.what.source == source && each.what.instruction == instruction;
  });
}

struct Placed {
  std::uint32_t device;
  Reason why;
  bool operator==(const Placed&) const = default;
};
Placed placed(const Course& course, std::uint16_t source, std::uint16_t instruction) {
  const Execution& each = executed(course, source, instruction);
  return {each.device, each.placed};
}

TEST(StructuralAnalysis, ANewFrameBeginsWhereMostSmsAreFree) {  // lines 9, 14 and 15
  const Scenario scenario =
      scenario_of({Frame{{{kernel(108, 5)}}}, Frame{{{kernel(108, 5)}}}}, {0, 0}, 2);
  const Course course(scenario, "scoreboard");
  EXPECT_EQ(placed(course, 0, 0), (Placed{0, Reason::Idlest}));
  EXPECT_EQ(placed(course, 1, 0), (Placed{1, Reason::Idlest}));
}

TEST(StructuralAnalysis, AnInstructionStaysWhereItsPredecessorRanWhileThereIsRoom) {  // 6 to 8
  // The second needs all SMs, of which the first leaves 48: more than a fifth.
  const Scenario scenario = scenario_of({Frame{{{kernel(60, 5)}, {kernel(108, 5)}}}}, {0}, 2);
  const Course course(scenario, "scoreboard");
  EXPECT_EQ(placed(course, 0, 1), (Placed{0, Reason::Full}));
  EXPECT_EQ(placed(course, 0, 2), (Placed{0, Reason::Full}));
}

// A device is full for 400 µs, from a combiner's beginning on. The next symbol's first kernel reads
// next to nothing, the others what is said: where is the first placed?
Placed first_of_symbol(std::uint64_t combiner,
                       const std::vector<std::vector<std::uint16_t>>& read) {
  std::vector<Task> tasks{
      {kernel(108, 1, combiner)}, {kernel(108, 3), {1}}, {.work = kernel(10, 1), .step = 1}};
  for (const auto& waits_for : read)
    tasks.push_back({.work = kernel(10, 1), .waits_for = waits_for, .step = 1});
  const Scenario scenario = scenario_of({Frame{tasks}}, {0}, 2);
  return placed(Course(scenario, "scoreboard"), 0, 3);
}

// A copy of the combiner takes 250 µs, and keeps others from the link as long.
TEST(StructuralAnalysis, AnInstructionCountsWhatTheRestOfItsSymbolReads) {  // line 12
  EXPECT_EQ(first_of_symbol(2'500'000, {{3}}), (Placed{1, Reason::Fragmented}));
  EXPECT_EQ(first_of_symbol(2'500'000, {{1, 3}}), (Placed{0, Reason::Waits}));
}

// 150 µs and as long again; with a copy for each reader it would be 450.
TEST(StructuralAnalysis, WhatASymbolReadsTwiceIsCopiedOnce) {  // line 12
  EXPECT_EQ(first_of_symbol(1'500'000, {{1, 3}, {1, 3}}), (Placed{1, Reason::Fragmented}));
}

// A combiner, and two that read it and need all SMs for 100 µs each.
Scenario two_readers(std::uint64_t combiner) {
  return scenario_of(
      {Frame{{{kernel(108, 1, combiner)}, {kernel(108, 1), {1}}, {kernel(108, 1), {1}}}}}, {0}, 2);
}

TEST(StructuralAnalysis, WaitingIsChosenWhereACopyTakesLonger) {  // lines 12 and 13
  const Scenario scenario = two_readers(5'000'000);               // 500 µs on the link
  const Course course(scenario, "scoreboard");
  EXPECT_EQ(placed(course, 0, 2), (Placed{0, Reason::Full}));
  EXPECT_EQ(placed(course, 0, 3), (Placed{0, Reason::Waits}));
}

TEST(StructuralAnalysis, ACopyIsChosenWhereWaitingTakesLonger) {  // lines 14 and 15
  const Scenario scenario = two_readers(100'000);                 // 10 µs
  const Course course(scenario, "scoreboard");
  EXPECT_EQ(placed(course, 0, 2), (Placed{0, Reason::Full}));
  EXPECT_EQ(placed(course, 0, 3), (Placed{1, Reason::Fragmented}));
}

// Five readers, each 100 µs, of a combiner that takes 130 µs to copy: two wait, for up to 200 µs.
// The next one would for 300 µs, longer than the copy takes and keeps others from the link. On 32
// idle devices, too, no more than one copy goes at a time over the combiner's link.
TEST(StructuralAnalysis, CopiesWaitForTheLinkThatTheyShare) {
  std::vector<Task> tasks{{kernel(108, 1, 1'300'000)}};
  for (int reader = 0; reader < 5; ++reader) tasks.push_back({kernel(108, 1), {1}});
  for (const std::uint32_t devices : {2U, 32U}) {
    const Scenario scenario = scenario_of({Frame{tasks}}, {0}, devices);
    const Course course(scenario, "scoreboard");
    Tick end = 0;
    for (const Execution& each : course.log()) end = std::max(end, each.end);
    EXPECT_EQ(placed(course, 0, 2), (Placed{0, Reason::Full}));
    EXPECT_EQ(placed(course, 0, 3), (Placed{0, Reason::Waits}));
    EXPECT_EQ(placed(course, 0, 4), (Placed{0, Reason::Waits}));
    EXPECT_EQ(placed(course, 0, 5).why, Reason::Fragmented);
    EXPECT_LE(end, 5 * kUnit + kUnit / 2);  // all on one: six units
  }
}

TEST(StructuralAnalysis, AFrameWithoutRoomIsDelayedAndTheNextOneIsNotForItsSake) {  // 10 and 11
  // Both devices are full for 1 and 3 ms. The delayed frame needs ten SMs for 6 ms.
  const Scenario scenario = scenario_of({Frame{{{kernel(108, 10)}}}, Frame{{{kernel(108, 30)}}},
                                         Frame{{{kernel(10, 60)}}}, Frame{{{kernel(108, 1)}}}},
                                        {0, 0, 10 * kMicrosecond, 3500 * kMicrosecond}, 2);
  const Course course(scenario, "scoreboard");
  EXPECT_EQ(placed(course, 2, 0).why, Reason::Delayed);
  EXPECT_EQ(placed(course, 2, 1), (Placed{placed(course, 2, 0).device, Reason::Delayed}));
  EXPECT_EQ(placed(course, 3, 0).why, Reason::Idlest);
  EXPECT_GT(executed(course, 2, 1).end, executed(course, 3, 1).end);  // it is still under way
}

TEST(StructuralAnalysis, WhatIsLeftOfAFrameThatFindsNoRoomStaysTogether) {
  const Scenario scenario =
      scenario_of({Frame{{{kernel(108, 30)}}},
                   Frame{{{kernel(10, 1)}, {kernel(10, 1), {1}}, {kernel(10, 1), {2}}}}},
                  {0, 10 * kMicrosecond}, 1);
  const Course course(scenario, "scoreboard");
  for (std::uint16_t i = 0; i < 4; ++i)
    EXPECT_EQ(placed(course, 1, i), (Placed{0, Reason::Delayed}));
}

// Its payload comes 5 ms later: more than twice the 1 ms that a frame is thought to take.
TEST(StructuralAnalysis, WhatBeginsBeyondTwoFramesIsPlannedLater) {  // line 5
  const Scenario scenario =
      scenario_of({Frame{{{kernel(108, 1)}, {{.output = 1}, {}, 5 * kMillisecond}}}}, {0}, 1);
  const auto load = [&](Tick until) {
    const Course course(scenario, "scoreboard", {}, until);
    return dynamic_cast<const Placement&>(course.policy()).load(0);
  };
  EXPECT_GE(load(1 * kMicrosecond), kUnit);  // the kernel
  EXPECT_EQ(load(2900 * kMicrosecond), 0);   // it has ended
  EXPECT_EQ(load(3100 * kMicrosecond), 1);   // the payload, a nanosecond
}

TEST(Lroc, WhatHasNoSlackLeftIsIssuedAtOnceTheLeastFirst) {  // lines 2 to 5
  // The device is full until the others are there.
  Scenario scenario = scenario_of({Frame{{{kernel(108, 1)}}}}, {0}, 1);
  for (const Tick deadline : {40 * kUnit, 20 * kUnit}) {
    const auto source = static_cast<std::uint16_t>(scenario.sources.size());
    scenario.sources.push_back(cell_of({{kernel(108, 1)}}, deadline));
    scenario.frames.push_back({10 * kMicrosecond, {0, source}});
  }
  const Course course(scenario, "scoreboard", {.urgent = kLong});
  EXPECT_EQ(executed(course, 1, 1).why, Reason::Urgent);
  EXPECT_EQ(executed(course, 2, 1).why, Reason::Urgent);
  EXPECT_LT(executed(course, 2, 1).start, executed(course, 1, 1).start);
}

TEST(Lroc, OfWhatIsReadyTheSmallestGoesFirst) {  // lines 6 to 9
  Scenario scenario = scenario_of({Frame{{{kernel(60, 5)}, {kernel(20, 5)}}}}, {0}, 1);
  scenario.model.host.launch = 10 * kMicrosecond;
  const Course course(scenario, "scoreboard");
  EXPECT_EQ(executed(course, 0, 1).why, Reason::Reordered);
  EXPECT_EQ(executed(course, 0, 2).why, Reason::Reordered);
  EXPECT_LT(executed(course, 0, 2).start, executed(course, 0, 1).start);
}

TEST(Lroc, ADelayedFrameIsOvercommittedOneTaskAtATime) {  // lines 7, 10 to 13
  // 8 SMs are left, so that nothing is reordered; either task of the delayed frame needs more.
  const Scenario scenario =
      scenario_of({Frame{{{kernel(100, 30)}}}, Frame{{{kernel(20, 1)}, {kernel(20, 1)}}}},
                  {0, 10 * kMicrosecond}, 1);
  const Course course(scenario, "scoreboard");
  const Execution &one = executed(course, 1, 1), &two = executed(course, 1, 2);
  EXPECT_EQ(one.placed, Reason::Delayed);
  EXPECT_EQ(one.why, Reason::Overcommitted);
  EXPECT_EQ(two.why, Reason::Overcommitted);
  EXPECT_LT(one.start, executed(course, 0, 1).end);  // on what is left
  EXPECT_GE(two.start, one.end);
}

TEST(Lroc, WhatNeedsNoMoreThanItsPredecessorFollowsItUnasked) {  // lines 14 to 16
  Scenario scenario =
      scenario_of({Frame{{{kernel(60, 1)}, {kernel(50, 1), {1}}, {kernel(108, 1), {2}}}}}, {0}, 1);
  scenario.model.host.notify = 50 * kMicrosecond;
  const Course course(scenario, "scoreboard");
  EXPECT_EQ(executed(course, 0, 2).why, Reason::Coalesced);
  EXPECT_EQ(executed(course, 0, 2).start, executed(course, 0, 1).end);
  EXPECT_NE(executed(course, 0, 3).why, Reason::Coalesced);
  EXPECT_GE(executed(course, 0, 3).start, executed(course, 0, 2).end + 50 * kMicrosecond);
}

}  // namespace
}  // namespace carillon::runtime
