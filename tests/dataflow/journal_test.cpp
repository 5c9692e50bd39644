// What late samples are put down to.
#include "dataflow/journal.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "base/random.hpp"
#include "base/thread.hpp"

namespace carillon::dataflow {
namespace {

constexpr auto kGap = Happening::Gap, kOverrun = Happening::Overrun, kLate = Happening::Late;

constexpr Tick kBound = 100;

TEST(Lateness, NeedsEventsThatCanHaveMadeIt) {
  const auto check = [](const std::vector<EventRecord>& events, std::uint64_t standstill,
                        std::uint64_t overrun, std::uint64_t unexplained) {
    const Lateness found = explain(events, kBound);
    EXPECT_EQ(found.standstill, standstill);
    EXPECT_EQ(found.overrun, overrun);
    EXPECT_EQ(found.unexplained, unexplained);
    EXPECT_EQ(found.late, standstill + overrun + unexplained);
  };
  const EventRecord late{kLate, 0, 1000, 1140};  // by 40
  check({}, 0, 0, 0);
  check({late}, 0, 0, 1);
  check({late, {kGap, kNone, 1050, 1070}}, 1, 0, 0);
  check({late, {kGap, kNone, 1050, 1069}}, 0, 0, 1);  // less than half of it
  check({late, {kGap, kNone, 900, 1000}}, 0, 0, 1);   // before it
  check({late, {kGap, kNone, 900, 1020}}, 1, 0, 0);
  check({late, {kGap, kNone, 1140, 1240}}, 0, 0, 1);  // after it
  check({late, {kOverrun, 3, 1050, 1080}}, 0, 1, 0);
  check({late, {kOverrun, 3, 1050, 1060}, {kGap, 3, 1100, 1111}}, 1, 0, 0);  // together
  check({late, {kOverrun, 3, 1050, 1062}, {kGap, 3, 1100, 1111}}, 0, 1, 0);
  // The backlog of the first is what makes the second late, and not the third, long after.
  check({{kGap, kNone, 1000, 1100},
         {kLate, 0, 1000, 1150},
         {kLate, 0, 1140, 1260},
         {kLate, 0, 1300, 1440}},
        2, 0, 1);
}

// One short standstill excuses no batches that all take too long.
TEST(Lateness, OfAnOverloadIsNoStandstill) {
  std::vector<EventRecord> events{{kGap, kNone, 0, 61}};
  for (Tick job = 0; job < 300; ++job) {
    const Tick start = 100 * job, end = start + 150 + 25 * job;
    events.push_back({kOverrun, 0, end - 25, end});
    events.push_back({kLate, 0, start, end});
  }
  const Lateness found = explain(events, kBound);
  EXPECT_LE(found.standstill, 4U);
  EXPECT_EQ(found.overrun + found.standstill, 300U);
}

// What made no more than it can have made is worked off.
TEST(Lateness, ThatStaysTheSameIsNotPutDownToWhatIsLongAgo) {
  std::vector<EventRecord> events{{kGap, kNone, 0, 61}};
  for (Tick job = 0; job < 1000; ++job) events.push_back({kLate, 0, 50 * job, 50 * job + 110});
  const Lateness found = explain(events, kBound);
  EXPECT_LE(found.standstill, 15U);
  EXPECT_EQ(found.unexplained + found.standstill, 1000U);
  // The backlog of one sink is not another's.
  EXPECT_EQ(
      explain(
          std::vector<EventRecord>{{kGap, kNone, 0, 61}, {kLate, 0, 0, 161}, {kLate, 1, 150, 270}},
          kBound)
          .unexplained,
      1U);
}

TEST(Lateness, IsTheSameByLookingAtEachInstant) {
  Random random(5, 0);
  for (int round = 0; round < 300; ++round) {
    std::vector<EventRecord> events;
    for (std::uint64_t i = random.next() % 20; i > 0; --i) {
      const auto start = static_cast<Tick>(random.next() % 1000);
      events.push_back({random.next() % 2 ? kGap : kOverrun, 0, start,
                        start + static_cast<Tick>(random.next() % 50)});
    }
    const auto start = static_cast<Tick>(random.next() % 1000);
    const EventRecord late{kLate, 0, start, start + 101 + static_cast<Tick>(random.next() % 200)};
    const auto all = [&](Happening what) {
      Tick sum = 0;
      for (Tick at = late.start; at < late.end; ++at)
        sum += std::ranges::any_of(events, [&](const EventRecord& event) {
          return event.what == what && event.start <= at && event.end > at;
        });
      return sum;
    };
    const Tick gap = all(kGap), overrun = all(kOverrun), by = late.end - late.start - kBound;
    const bool explained = gap + overrun > 0 && gap + overrun >= by / 2;
    events.push_back(late);
    const Lateness found = explain(events, kBound);
    EXPECT_EQ(found.unexplained, explained ? 0U : 1U);
    EXPECT_EQ(found.standstill, explained && gap >= overrun ? 1U : 0U);
  }
}

// However many others there are.
TEST(Journal, KeepsWhatALateJobHasMet) {
  std::vector<std::unique_ptr<Journal>> journals;
  for (int i = 0; i < 2; ++i) journals.push_back(std::make_unique<Journal>(1 << 20));
  for (const auto& each : journals) each->join(journals);
  const auto gap_at = [](Tick at) { return EventRecord{kGap, kNone, at, at + 2}; };
  const auto fill = [&](Tick from) {
    for (Tick i = 0; i < 1000; ++i) journals[1]->event(gap_at(from + 10 * i));
  };
  fill(0);
  journals[1]->event(gap_at(10'000));
  journals[0]->event({kLate, 0, 9'000, 10'001});
  fill(20'000);
  const std::vector<EventRecord> found = journals[1]->events();
  EXPECT_EQ(std::ranges::count(found, 10'000, &EventRecord::start), 1);
  EXPECT_EQ(std::ranges::count(found, 5'000, &EventRecord::start), 0);
  EXPECT_EQ(journals[1]->complete_until(), std::numeric_limits<Tick>::max());
  EXPECT_EQ(journals[1]->standstills(), 2001U);
  EXPECT_EQ(journals[1]->longest_standstill(), 2);
  EXPECT_EQ(journals[0]->events().size(), 1U);
  // More than there is room for: from when on is known.
  journals[0]->event({kLate, 0, 30'000, 60'000});
  fill(30'000);
  const Tick until = journals[1]->complete_until();
  EXPECT_GE(until, 30'000);
  EXPECT_LT(until, 40'000);
}

TEST(Journal, AWorkerThatWakesLateStoodStillIfItThenHasAJob) {
  Journal journal;
  journal.begin(0);
  journal.woke(kMillisecond, 2 * kMillisecond);
  journal.woke(3 * kMillisecond, 3 * kMillisecond);  // there was nothing to do
  journal.starts(3 * kMillisecond);
  EXPECT_EQ(journal.standstills(), 0U);
  journal.woke(4 * kMillisecond, 6 * kMillisecond);
  journal.starts(6 * kMillisecond);
  journal.starts(7 * kMillisecond);
  EXPECT_EQ(journal.standstills(), 1U);
  EXPECT_EQ(journal.longest_standstill(), 2 * kMillisecond);
}

// Another thread on the same core makes it wait; its own sleep does not.
TEST(Journal, AJobIsKeptWaitingForItsCore) {
  const RunDelay delay;
  if (delay.read() < 0) GTEST_SKIP() << "the kernel keeps no account";
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  Journal journal;
  journal.begin(now());
  Tick start = now(), waited = delay.read();
  sleep_until(start + 5 * kMillisecond);
  const bool by_sleep = journal.was_kept_waiting(start, now(), 5 * kMillisecond);
  EXPECT_LE(by_sleep, delay.read() - waited >= 2'500'000);
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) spin_pause();
  });
  start = now();
  journal.woke(start, start);
  waited = delay.read();
  while (delay.read() - waited < 3 * kMillisecond) spin_pause();
  EXPECT_TRUE(journal.was_kept_waiting(start, now(), 5 * kMillisecond));
  // All of it was before this job.
  waited = delay.read();
  while (delay.read() - waited < 3 * kMillisecond) spin_pause();
  waited = delay.read();
  start = now();
  const bool by_others = journal.was_kept_waiting(start, now(), kMillisecond);
  EXPECT_LE(by_others, delay.read() - waited >= kMillisecond / 2);
  done = true;
  other.join();
  sched_setaffinity(0, sizeof before, &before);
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
