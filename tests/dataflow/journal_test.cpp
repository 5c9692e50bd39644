// What late samples are put down to.
#include "dataflow/journal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.hpp"

namespace carillon::dataflow {
namespace {

constexpr auto kGap = Happening::Gap, kOverrun = Happening::Overrun, kLate = Happening::Late;

TEST(Lateness, NeedsAnEventThatOverlaps) {
  const auto check = [](const std::vector<EventRecord>& events, std::uint64_t standstill,
                        std::uint64_t overrun, std::uint64_t unexplained) {
    const Lateness found = explain(events);
    EXPECT_EQ(found.standstill, standstill);
    EXPECT_EQ(found.overrun, overrun);
    EXPECT_EQ(found.unexplained, unexplained);
    EXPECT_EQ(found.late, standstill + overrun + unexplained);
  };
  check({}, 0, 0, 0);
  check({{kLate, 0, 100, 200}}, 0, 0, 1);
  check({{kLate, 0, 100, 200}, {kGap, kNone, 50, 101}}, 1, 0, 0);
  check({{kLate, 0, 100, 200}, {kGap, kNone, 50, 100}}, 0, 0, 1);
  check({{kLate, 0, 100, 200}, {kGap, kNone, 200, 300}}, 0, 0, 1);
  check({{kLate, 0, 100, 200}, {kOverrun, 3, 150, 160}}, 0, 1, 0);
  check({{kLate, 0, 100, 200}, {kOverrun, 3, 150, 160}, {kGap, 3, 10, 500}}, 1, 0, 0);
  // The backlog of the first is what makes the second late, and not the third, long after.
  check({{kGap, kNone, 90, 110}, {kLate, 0, 100, 200}, {kLate, 0, 150, 260}, {kLate, 0, 300, 400}},
        2, 0, 1);
}

TEST(Lateness, IsTheSameByLookingAtEachEvent) {
  Random random(5, 0);
  for (int round = 0; round < 200; ++round) {
    std::vector<EventRecord> events;
    for (std::uint64_t i = random.next() % 20; i > 0; --i) {
      const auto start = static_cast<Tick>(random.next() % 1000);
      events.push_back({random.next() % 2 ? kGap : kOverrun, 0, start,
                        start + static_cast<Tick>(random.next() % 50)});
    }
    const auto start = static_cast<Tick>(random.next() % 1000);
    const EventRecord late{kLate, 0, start, start + 1 + static_cast<Tick>(random.next() % 200)};
    const auto any = [&](Happening what) {
      return std::ranges::any_of(events, [&](const EventRecord& event) {
        return event.what == what && event.start < late.end && event.end > late.start;
      });
    };
    const bool gap = any(kGap), overrun = any(kOverrun);
    events.push_back(late);
    const Lateness found = explain(events);
    EXPECT_EQ(found.standstill, gap ? 1U : 0U);
    EXPECT_EQ(found.overrun, !gap && overrun ? 1U : 0U);
  }
}

TEST(Histogram, QuantilesAreWithinThreePerCent) {
  Random random(6, 0);
  for (const Tick most : {20, 1000, 3'000'000}) {
    Histogram histogram;
    std::vector<Tick> all;
    for (int i = 0; i < 1000; ++i) {
      all.push_back(static_cast<Tick>(random.next() % static_cast<std::uint64_t>(most)));
      histogram.add(all.back());
    }
    std::ranges::sort(all);
    EXPECT_EQ(histogram.count(), 1000U);
    for (const double q : {0.5, 0.99, 0.999, 1.0}) {
      const auto exact = static_cast<double>(all[static_cast<std::size_t>(q * 1000) - 1]);
      EXPECT_GE(static_cast<double>(histogram.quantile(q)), exact);
      EXPECT_LE(static_cast<double>(histogram.quantile(q)), exact * 1.032 + 1);
    }
  }
  EXPECT_EQ(Histogram().quantile(0.5), 0);
}

}  // namespace
}  // namespace carillon::dataflow
