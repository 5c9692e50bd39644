#include "runtime/backoff.hpp"

#include "runtime/graph.hpp"
#include "support/test.hpp"

namespace carillon::runtime {
namespace {

// The clock of these tests: it stands still but for what a test or a sleep adds to it.
Tick instant = 0;
Tick oversleep = 0;

Backoff::Options options(Tick wakeup_p99, double asleep_share = 0, Tick too_long = 0) {
  instant = 1000 * kSecond;
  oversleep = too_long;
  return {.wakeup_p99 = wakeup_p99,
          .asleep_share = asleep_share,
          .now = []() noexcept { return instant; },
          .sleep_until = [](Tick until) noexcept { instant = until + oversleep; }};
}

TEST(Backoff, SleepsWhenTheNextThingIsFarAndNeverOtherwise) {
  Backoff backoff(options(50 * kMicrosecond, 0, 7));
  EXPECT_EQ(backoff.idle(kAlways), 0);
  EXPECT_EQ(backoff.idle(instant + 50 * kMicrosecond), 0);
  const Tick before = instant;
  EXPECT_EQ(backoff.idle(before + 5 * kMillisecond), 4950 * kMicrosecond + 7);
  EXPECT_EQ(instant, before + 4950 * kMicrosecond + 7);
  EXPECT_EQ(backoff.due(), before + 4950 * kMicrosecond);
  EXPECT_EQ(backoff.slept(), 4950 * kMicrosecond + 7);
}

TEST(Backoff, LooksUpNowAndThenEvenWhenNothingIsExpected) {
  Backoff backoff(options(50 * kMicrosecond));
  EXPECT_EQ(backoff.idle(kNever), 9950 * kMicrosecond);
}

TEST(Backoff, SleepsItsShareHoweverBusy) {
  for (const Tick too_long : {Tick{0}, 30 * kMicrosecond}) {
    Backoff backoff(options(kMillisecond, 0.2, too_long));
    const Tick start = instant;
    while (instant - start < 3 * kSecond) {
      instant += 20 * kMicrosecond;
      if (backoff.pay(instant) != 0) continue;
      // At most a tenth of a window's share is owed.
      EXPECT_LE((instant - start) / 5 - backoff.slept(), 10 * kMillisecond);
    }
    EXPECT_LE(backoff.slept(), (instant - start) / 5);
  }
}

TEST(Backoff, PaysSmallDebtsOnlyWhenIdle) {
  Backoff backoff(options(kMillisecond, 0.05));
  instant += 4 * kMillisecond;  // 200 us are owed
  EXPECT_EQ(backoff.pay(instant), 0);
  EXPECT_EQ(backoff.idle(kAlways), 50 * kMicrosecond);
  EXPECT_EQ(backoff.idle(kAlways), 50 * kMicrosecond);
}

TEST(Backoff, WhatItSleptTooMuchDoesNotExcuseTheNextHalfSecond) {
  Backoff backoff(options(kMillisecond, 0.05));
  while (instant < 1000 * kSecond + 500 * kMillisecond) backoff.idle(kNever);
  instant += kMillisecond;
  EXPECT_EQ(backoff.pay(instant), 0);  // a new half second begins
  instant += 100 * kMillisecond;
  EXPECT_EQ(backoff.pay(instant), 50 * kMicrosecond);
}

}  // namespace
}  // namespace carillon::runtime
