// What is said of a goal. All figures are made up here.
#include "cuda/goals.hpp"

#include <algorithm>
#include <sstream>

#include "support/test.hpp"

namespace carillon::bench {
namespace {

Goal at_most(double limit, std::optional<double> value, double error = 0) {
  Goal goal = {.what = "delay", .unit = "ms", .value = value, .error = error};
  goal.limit = limit;
  return goal;
}

/// So many frames of 1 ms of a cell, latencies rising from 0.1 ms by 1 ns.
Served frames(std::uint64_t count) {
  Served served;
  served.in_time = count;
  served.seconds = static_cast<double>(count) * 1e-3;
  for (std::uint64_t i = 0; i < count; ++i)
    served.latency.push_back(0.1 + 1e-6 * static_cast<double>(i));
  return served;
}

TEST(Goals, AGoalIsMetOrMissedOnlyBeyondTheError) {
  EXPECT_EQ(verdict(at_most(2, 1.5, 0.5)), "met");
  EXPECT_EQ(verdict(at_most(2, 1.6, 0.5)), "too close to tell");
  EXPECT_EQ(verdict(at_most(2, 2.5, 0.5)), "too close to tell");
  EXPECT_EQ(verdict(at_most(2, 2.6, 0.5)), "missed");
  EXPECT_EQ(verdict(at_most(2, 2)), "met");
  EXPECT_EQ(verdict(at_most(2, std::nullopt)), "not measured");
  EXPECT_EQ(verdict(at_most(0, 7)), "");
}

TEST(Goals, WhatIsToBeAtLeastAsMuchIsMissedBelow) {
  Goal goal = at_most(90, 93, 1);
  goal.at_least = true;
  EXPECT_EQ(verdict(goal), "met");
  goal.value = 89.5;
  EXPECT_EQ(verdict(goal), "too close to tell");
  goal.value = 60;
  EXPECT_EQ(verdict(goal), "missed");
}

TEST(Goals, ALineSaysValueLimitVerdictAndNote) {
  Goal goal = at_most(0.3, 0.2125, 0.01);
  EXPECT_EQ(text(goal), "delay: 0.2125 ms, ± 0.01; goal at most 0.3 ms: met");
  goal.note = "as noted";
  goal.value.reset();
  goal.error = 0;
  EXPECT_EQ(text(goal), "delay: unknown; goal at most 0.3 ms: not measured; as noted");
  EXPECT_EQ(text(at_most(0, 5)), "delay: 5 ms; a figure, no goal");
}

TEST(Goals, AreWrittenWithTheirVerdicts) {
  Goal unknown = at_most(2, std::nullopt);
  unknown.note = "it said \"no\\way\"\n";
  std::ostringstream out;
  write_goals(out, {at_most(2, 1.5), unknown});
  EXPECT_EQ(out.str(),
            "\"goals\": [\n"
            "  {\"what\": \"delay\", \"value\": 1.5, \"unit\": \"ms\", \"error\": 0, \"goal\": 2, "
            "\"at_least\": false, \"verdict\": \"met\", \"note\": \"\"},\n"
            "  {\"what\": \"delay\", \"value\": null, \"unit\": \"ms\", \"error\": 0, \"goal\": 2, "
            "\"at_least\": false, \"verdict\": \"not measured\", \"note\": \"it said noway\"}]");
}

TEST(Goals, OfCompletionTheWaysOfAnExecutorCount) {
  Completion completion;
  completion.rows = {latency(kEndSeen, "by cudaEventQuery", {1}, 0, kCompletionGoal),
                     latency(kEndSeen, kByStream, {1.5, 2.5}, 0.7, kCompletionGoal),
                     latency(kIssue, kAllCalls, {}, 0, kCompletionGoal)};
  const std::vector<Goal> goals = completion_goals(completion);
  ASSERT_EQ(goals.size(), 2U);
  EXPECT_EQ(goals[0].what, "end of a kernel seen, by a word that the stream writes, p90");
  EXPECT_EQ(goals[0].value, 2.5);
  EXPECT_EQ(verdict(goals[0]), verdict(completion.rows[1]));
  EXPECT_EQ(verdict(goals[0]), "too close to tell");
  EXPECT_EQ(verdict(goals[1]), "not measured");
  EXPECT_EQ(verdict(completion_goals({})[0]), "not measured");
}

TEST(Goals, LatencyIsThatOfAllButTwoOf20000Frames) {
  const Goal goal = latency_goal("cell", frames(20'000), 0.12);
  EXPECT_EQ(goal.what, "latency of cell, p99.99");
  EXPECT_NEAR(goal.value.value_or(0), 0.1 + 19'998e-6, 1e-9);
  EXPECT_EQ(verdict(goal), "met");
  EXPECT_EQ(goal.note, "of 20000 frames, 20000 of them in time; p50 0.11, p99 0.1198");
  EXPECT_FALSE(goal.failed);
  const Goal missed = latency_goal("cell", frames(20'000), 0.1199);
  EXPECT_EQ(verdict(missed), "missed");
  EXPECT_FALSE(missed.failed);  // it is a result
}

TEST(Goals, ThatTheHostsThreadHadNoCoreIsTold) {
  Served served = frames(20'000);
  served.waited = 1.25;
  EXPECT_TRUE(latency_goal("cell", served, 1)
                  .note.ends_with("; the host's thread waited 1.25 ms for a core"));
}

TEST(Goals, TooFewFramesTellALowerPercentile) {
  const Goal goal = latency_goal("cell", frames(5'000), 1);
  EXPECT_EQ(verdict(goal), "not measured");
  EXPECT_EQ(goal.note, "5000 frames are too few; p99.96 is 0.105 ms");
  EXPECT_EQ(verdict(latency_goal("cell", {}, 1)), "not measured");
}

TEST(Goals, OneWrongBlockIsNoLatency) {
  Served served = frames(20'000);
  served.wrong_blocks = 1;
  const Goal goal = latency_goal("cell", served, 1);
  EXPECT_TRUE(goal.failed);
  EXPECT_EQ(verdict(goal), "not measured");
  EXPECT_EQ(goal.note, "1 block not as sent");
}

TEST(Goals, OneFrameIn10000MayBeLate) {
  Served served = frames(20'000);
  served.in_time = 19'998;
  EXPECT_TRUE(sustained(served));
  served.in_time = 19'997;
  EXPECT_FALSE(sustained(served));
  served = frames(20'000);
  served.wrong_blocks = 1;
  EXPECT_FALSE(sustained(served));
  EXPECT_FALSE(sustained({}));
}

/// Of each number of cells 4000 frames, of which those of two are in time.
SustainedCells two_of(std::uint32_t most) {
  return {.name = "cell",
          .most = most,
          .deadline = 4 * kMillisecond,
          .needs = 15.7,
          .bus = 50,
          .serve = [](std::uint32_t cells) {
            Served served = frames(4'000 * std::uint64_t{cells});
            served.seconds = 4;
            served.in_time = std::min(served.in_time, std::uint64_t{8'000});
            return served;
          }};
}

TEST(Goals, FramesInTimeAreAFigureBesideWhatTheBusCarries) {
  const std::vector<Goal> figures = sustained_figures(two_of(3));
  ASSERT_EQ(figures.size(), 4U);  // three cells, one, two
  EXPECT_EQ(text(figures[0]),
            "frames in time, 3 × cell: 2000 frames/s; a figure, no goal; 8000 of 12000; their "
            "samples are 47.1 GB/s, the bus carries 50.0");
  EXPECT_EQ(figures[1].what, "frames in time, 1 × cell");
  EXPECT_EQ(figures[2].value, 2000);
  EXPECT_EQ(text(figures[3]),
            "cells of cell sustained: 2 cells; a figure, no goal; of 3 at most; 99.99 % of frames "
            "within 4 ms of their start on air");
}

TEST(Goals, CellsThatCouldNotBeServedAreNoFigure) {
  SustainedCells cells = two_of(2);
  cells.serve = [](std::uint32_t) { return Served{.why = "no memory"}; };
  for (const Goal& figure : sustained_figures(cells)) EXPECT_FALSE(figure.value.has_value());
  const Goal figure = sustained_figures(cells)[0];
  EXPECT_TRUE(figure.failed);
  EXPECT_EQ(figure.note, "no memory");
  EXPECT_EQ(latency_goal("cell", Served{.why = "no memory"}, 1).note, "no memory");
}

TEST(Goals, TheMostCellsAreFoundInFourRunsOfEight) {
  for (std::uint32_t truth = 0; truth <= 8; ++truth) {
    std::vector<std::uint32_t> tried;
    EXPECT_EQ(largest(8,
                      [&](std::uint32_t cells) {
                        tried.push_back(cells);
                        return cells <= truth;
                      }),
              truth);
    EXPECT_EQ(tried.front(), 8U);
    EXPECT_LE(tried.size(), 4U);
  }
  EXPECT_EQ(largest(0, [](std::uint32_t) { return false; }), 0U);
}

TEST(Goals, IngestIsAShareOfTheBusAndOfItsLink) {
  const Goal goal = bus_goal("copies", {.moved = 45'000, .bus = 50'000, .link = 54'000});
  EXPECT_EQ(verdict(goal), "met");
  EXPECT_EQ(goal.note, "45.00 GB/s, 90 % of the bus, 83.3 % of what its link is reckoned to carry");
  EXPECT_EQ(verdict(bus_goal("copies", {.moved = 40'000, .bus = 50'000})), "missed");
  EXPECT_EQ(verdict(bus_goal("copies", {.moved = 0, .bus = 50'000})), "not measured");
  EXPECT_EQ(verdict(bus_goal("copies", {.moved = 45'000})), "not measured");
}

TEST(Goals, APathThatTheSourceLimitsIsNotMeasured) {
  const Rates slow = {.moved = 9'500, .bus = 50'000, .source = 10'000};
  EXPECT_EQ(verdict(bus_goal("path", slow)), "not measured");
  EXPECT_TRUE(
      bus_goal("path", slow)
          .note.ends_with("; the radio's stand-in limits it, which brings 10.00 GB/s to the host"));
  EXPECT_EQ(verdict(bus_goal("path", {.moved = 5'000, .bus = 50'000, .source = 10'000})), "missed");
  EXPECT_EQ(verdict(bus_goal("path", {.moved = 47'000, .bus = 50'000, .source = 48'000})), "met");
}

}  // namespace
}  // namespace carillon::bench
