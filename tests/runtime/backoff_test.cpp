#include "runtime/backoff.hpp"

#include "runtime/graph.hpp"
#include "support/test.hpp"

namespace carillon::runtime {
namespace {

TEST(Backoff, SleepsWhenTheNextThingIsFarAndNeverOtherwise) {
  Backoff backoff({.wakeup_p99 = 50 * kMicrosecond});
  EXPECT_EQ(backoff.idle(kAlways), 0);
  EXPECT_EQ(backoff.idle(now() + 40 * kMicrosecond), 0);
  const Tick before = now();
  EXPECT_LT(0, backoff.idle(before + 5 * kMillisecond));
  EXPECT_LT(4 * kMillisecond, now() - before);
  EXPECT_LT(0, backoff.slept());
}

TEST(Backoff, LooksUpNowAndThenEvenWhenNothingIsExpected) {
  Backoff backoff({.wakeup_p99 = 50 * kMicrosecond});
  EXPECT_LT(0, backoff.idle(kNever));  // comes back
}

TEST(Backoff, SleepsItsShareHoweverBusy) {
  Backoff backoff({.wakeup_p99 = kMillisecond, .asleep_share = 0.2});
  const Tick start = now();
  Tick last = start;
  while (backoff.pay(last) != 0 || last - start < 300 * kMillisecond) last = now();
  // Whenever it does not sleep, at most a tenth of a window's share is owed: 10 ms here.
  EXPECT_LE((last - start) / 5 - 10 * kMillisecond, backoff.slept());
}

TEST(Backoff, PaysSmallDebtsOnlyWhenIdle) {
  Backoff backoff({.wakeup_p99 = kMillisecond, .asleep_share = 0.05});
  const Tick start = now();
  while (now() - start < 4 * kMillisecond) {
  }
  EXPECT_EQ(backoff.pay(start + 4 * kMillisecond), 0);
  EXPECT_LT(0, backoff.idle(kAlways));
}

}  // namespace
}  // namespace carillon::runtime
