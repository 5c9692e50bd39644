// TTIs in virtual time: what is late, why, and where the core's time went, worked out by hand.
#include "power/virtual_ttis.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace carillon::power {
namespace {

constexpr Tick kUs = kMicrosecond;

VirtualTtis at(std::vector<double> clocks) {
  return {.clocks = std::move(clocks), .length = 1000 * kUs, .response = 4000 * kUs};
}

Delays constant(Tick work, Tick system = 0, Tick fronthaul = 0) {
  return {{{work}}, {system}, {fronthaul}};
}

TEST(VirtualTtis, WorkTakesLongerByAsMuchAsTheClockIsLower) {
  VirtualCore core(constant(300 * kUs), at({500, 1000}));
  const auto slow = core.run({{100, 0}}, 0).front();
  EXPECT_EQ(slow.ttis, 100U);
  EXPECT_EQ(slow.late, 0U);
  EXPECT_EQ(slow.busy_at[0], 100 * 600 * kUs);
  EXPECT_EQ(slow.at_clock, (std::vector<Tick>{100 * 1000 * kUs, 0}));
  const auto fast = core.run({{100, 0}}, 1).front();
  EXPECT_EQ(fast.busy_at[1], 100 * 300 * kUs);
  EXPECT_EQ(slow.changes, 1U);  // from the highest
  EXPECT_EQ(fast.changes, 0U);
}

TEST(VirtualTtis, AnOverloadedCoreFallsBehindUntilTtisAreLate) {
  // 1.5 ms of work each millisecond: TTI n ends 1.5·(n + 1) ms after the first ended on air, n ms
  // of which are its own, so n > 5 is late; it is given up at its deadline, n + 4.
  VirtualCore core(constant(1500 * kUs), at({1000}));
  const auto first = core.run({{6, 0}}, 0).front();
  EXPECT_EQ(first.late, 0U);
  const auto next = core.run({{1, 0}}, 0).front();  // n = 6: 10.5 ms, due at 10
  EXPECT_EQ(next.late, 1U);
  EXPECT_EQ(next.by_system + next.by_fronthaul, 0U);
  EXPECT_EQ(next.busy_at[0], 1000 * kUs);  // from 9 to 10 ms
}

TEST(VirtualTtis, SaysWhichDelayMadeThemLate) {
  // 3.5 of 4 ms: in time; a standstill of 1 ms, or a network's, makes it late.
  EXPECT_EQ(VirtualCore(constant(500 * kUs, 3000 * kUs), at({1000})).run({{1, 0}}, 0)[0].late, 0U);
  const auto system = VirtualCore(constant(500 * kUs, 4000 * kUs), at({1000})).run({{1, 0}}, 0)[0];
  EXPECT_EQ(system.late, 1U);
  EXPECT_EQ(system.by_system, 1U);
  const auto network =
      VirtualCore(constant(500 * kUs, 0, 4000 * kUs), at({1000})).run({{1, 0}}, 0)[0];
  EXPECT_EQ(network.late, 1U);
  EXPECT_EQ(network.by_fronthaul, 1U);
  // Of both causes the first; with neither it would be late as well.
  const auto work = VirtualCore(constant(5000 * kUs, 1 * kUs), at({1000})).run({{1, 0}}, 0)[0];
  EXPECT_EQ(work.late, 1U);
  EXPECT_EQ(work.by_system + work.by_fronthaul, 0U);
}

TEST(VirtualTtis, AStandstillOutlastsTtis) {
  // Of 50 ms once: TTIs are late that were to be done within it, until 4 ms before its end, and
  // those that queue behind them.
  std::vector<Tick> system(1000, 0);
  system[0] = 50'000 * kUs;
  VirtualCore core({{{100 * kUs}}, system, {0}}, at({1000}));
  const auto outcome = core.run({{100'000, 0}}, 0).front();
  const double each = static_cast<double>(outcome.late) / 100;  // one in 1000 TTIs begins one
  EXPECT_EQ(outcome.late, outcome.by_system);
  EXPECT_NEAR(each, 46, 12);
}

TEST(VirtualTtis, ACoreThatGathersTtisWakesForSeveralAtOnce) {
  VirtualTtis options = at({1000});
  options.wake = 100'000;
  options.gather = 3;
  VirtualCore core(constant(300 * kUs), options);
  const auto outcome = core.run({{300, 0}}, 0).front();
  EXPECT_EQ(outcome.late, 0U);
  EXPECT_NEAR(static_cast<double>(outcome.wakes), 100, 1);
  // The first of three waits for 2 ms, and is done last but two of 1.7 ms each: late.
  EXPECT_GT(VirtualCore(constant(1700 * kUs), options).run({{30, 0}}, 0)[0].late, 0U);
}

// A prediction that all clocks do, where several cells overload the core at the lower one.
TEST(VirtualTtis, TheGovernorKeepsItsTargetThoughLateTtisComeAtOnce) {
  for (const std::uint32_t cells : {5U, 10U, 20U})
    for (const double load : {1.02, 1.1}) {
      VirtualTtis options = at({1000, 2000});
      options.cells = cells;
      const auto work = static_cast<Tick>(load * 500'000 / cells);
      VirtualCore core({{{work}}, {0}, {0}}, options);
      Governor governor(Predicted{{0, 0}}, {});
      const auto outcome = core.run({{500'000, 0}}, governor, 4).front();
      EXPECT_LT(static_cast<double>(outcome.late) / static_cast<double>(outcome.ttis), 1e-3);
    }
}

TEST(VirtualTtis, TheGovernorSeesWhatAStandstillMakesLateOnlyAtTheLowerClock) {
  // Every tenth TTI 3.5 ms: work of 0.3 ms is done in time behind it, of 0.6 ms not.
  std::vector<Tick> system(10, 0);
  system[0] = 3500 * kUs;
  VirtualCore core({{{300 * kUs}}, system, {0}}, at({1000, 2000}));
  Governor governor(Predicted{{0, 0}}, {});
  const auto outcome = core.run({{300'000, 0}}, governor, 4).front();
  EXPECT_GT(outcome.at_clock[1], 9 * outcome.at_clock[0]);
}

TEST(VirtualTtis, CellsShareTheCore) {
  VirtualTtis options = at({1000});
  options.cells = 3;
  VirtualCore core(constant(300 * kUs), options);
  const auto all = core.run({{10, 0}}, 0).front();
  EXPECT_EQ(all.ttis, 30U);
  EXPECT_EQ(all.late, 0U);
  EXPECT_EQ(all.busy_at[0], 30 * 300 * kUs);
  EXPECT_EQ(all.wakes, 10U);  // the first of three finds it idle
}

TEST(VirtualTtis, ASleepingCoreTakesTimeToWake) {
  VirtualTtis options = at({1000});
  options.wake = 100'000;
  EXPECT_EQ(VirtualCore(constant(3800 * kUs), options).run({{1, 0}}, 0)[0].late, 0U);
  EXPECT_EQ(VirtualCore(constant(3950 * kUs), options).run({{1, 0}}, 0)[0].late, 1U);
}

TEST(VirtualTtis, TheGovernorSeesLoadsAheadAndLateTtisAtTheirDeadline) {
  // Load 0 needs the lower clock, load 1 the higher one.
  Delays delays{{{100 * kUs}, {900 * kUs}}, {0}, {0}};
  const Predicted late{{0, 0}, {1, 0}};
  VirtualCore core(delays, at({500, 1000}));
  Governor governor(late, {.hold = 5, .settle = 1});
  const auto outcomes = core.run({{50, 0}, {50, 1}, {50, 0}}, governor, 4);
  ASSERT_EQ(outcomes.size(), 3U);
  EXPECT_EQ(outcomes[0].late + outcomes[1].late + outcomes[2].late, 0U);
  EXPECT_EQ(outcomes[0].at_clock[1], 4 * 1000 * kUs);  // the last four, which look ahead
  EXPECT_EQ(outcomes[1].at_clock[0], 0);               // no lighter one lets it down early
  EXPECT_EQ(outcomes[2].at_clock[1], 0);
}

TEST(VirtualTtis, EveryTtiIsCountedOnceAndTheSameSeedGivesTheSame) {
  Delays delays{{{700 * kUs, 800 * kUs, 2500 * kUs}}, {0, 0, 0, 3000 * kUs}, {1 * kUs, 50 * kUs}};
  VirtualTtis options = at({800, 1000});
  const auto one = VirtualCore(delays, options).run({{5000, 0}, {5000, 0}}, 0);
  const auto two = VirtualCore(delays, options).run({{5000, 0}, {5000, 0}}, 0);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(one[i].ttis, 5000U);
    EXPECT_GT(one[i].late, 0U);
    EXPECT_LE(one[i].by_system + one[i].by_fronthaul, one[i].late);
    EXPECT_EQ(one[i].late, two[i].late);
    EXPECT_LE(one[i].busy_at[0], one[i].at_clock[0] + 4000 * kUs);
  }
  options.seed = 2;
  EXPECT_NE(VirtualCore(delays, options).run({{5000, 0}}, 0)[0].late, one[0].late);
}

}  // namespace
}  // namespace carillon::power
