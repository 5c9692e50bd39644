// What somebody else keeps of a device, as the times of our kernels tell.
#include "runtime/scoreboard.hpp"
#include "support/test.hpp"

namespace carillon::runtime {
namespace {

constexpr std::uint32_t kSms = 100;
constexpr double kAlone = 100'000;  // ns
constexpr Tick kUnit = 100 * kMicrosecond;

// Kernels that need all SMs for 100 µs when they have them, one after the other from `begin` on,
// each of which takes `units` times as long. Returns when the last one ends.
Tick run(Pace& pace, Tick begin, int kernels, int units) {
  for (int k = 0; k < kernels; ++k, begin += units * kUnit)
    pace.ended(begin, begin + units * kUnit, 0, kSms, kAlone, kSms);
  return begin;
}

TEST(Pace, ADeviceOfItsOwnIsKeptByNobody) {
  Pace pace;
  run(pace, 0, 200, 1);
  EXPECT_EQ(pace.others(), 0.0);
}

TEST(Pace, KernelsThatTakeFourTimesAsLongHaveAQuarterOfTheDevice) {
  Pace pace;
  run(pace, 0, 50, 4);
  EXPECT_NEAR(pace.others(), 0.75, 0.03);
}

TEST(Pace, WhatOurOwnKernelsWaitForEachOtherIsNobodyElses) {
  Pace pace;
  for (Tick begin = 0; begin < 200 * kUnit; begin += 2 * kUnit) {  // both ready, half each
    pace.ended(begin, begin + kUnit, 0, kSms, kAlone, kSms);
    pace.ended(begin, begin + 2 * kUnit, 1, kSms, kAlone, kSms);
  }
  EXPECT_EQ(pace.others(), 0.0);
}

TEST(Pace, WhatIsBehindAnotherInItsQueueAsksForNothingMeanwhile) {
  Pace pace;
  for (Tick begin = 0; begin < 300 * kUnit; begin += 3 * kUnit)
    for (Tick k = 1; k <= 3; ++k)  // all ready at once; 10 SMs would be free for the others
      pace.ended(begin, begin + k * kUnit, 0, 10, kAlone, kSms);
  EXPECT_EQ(pace.others(), 0.0);
}

TEST(Pace, OneSlowWindowIsChanceUnlessHardlyAnythingWasGot) {
  Pace slow;
  Tick now = run(slow, 0, 100, 1);
  now = run(slow, now, 3, 3);
  now = run(slow, now, 100, 1);
  EXPECT_EQ(slow.others(), 0.0);
  Pace stuck;
  stuck.ended(0, 35 * kUnit, 0, kSms, kAlone, kSms);
  run(stuck, 80 * kUnit, 1, 1);
  EXPECT_GT(stuck.others(), 0.8);
}

TEST(Pace, ItIsForgottenWhenTheDeviceIsOursAgain) {
  Pace pace;
  const Tick now = run(pace, 0, 50, 4);
  EXPECT_GT(pace.others(), 0.5);
  run(pace, now, 100, 1);
  EXPECT_EQ(pace.others(), 0.0);
}

// A device that is asked for little, long after it was slow: what was then is counted once, and
// does not come again however the pause falls into the ring of what is remembered.
TEST(Pace, WhatWasKeptOfADeviceIsForgottenWhenItIsLost) {
  ScoreboardWriter board({}, 2);
  for (std::uint32_t d = 0; d < 2; ++d) board.device(d).others = 0.9;
  board.changed(0, false);
  EXPECT_FALSE(board.devices()[0].up);
  EXPECT_EQ(board.devices()[0].others, 0.0);
  EXPECT_TRUE(board.devices()[1].up);
  EXPECT_EQ(board.devices()[1].others, 0.9);
}

TEST(Pace, APauseLeavesNothingBehind) {
  for (Tick pause = 5; pause < 40; ++pause) {
    Pace slow_before, never_slow;
    Tick now = run(slow_before, 0, 1, 35) + pause * kMillisecond;
    run(never_slow, now, 60, 1);
    now = run(slow_before, now, 60, 1);
    EXPECT_EQ(slow_before.others(), 0.0);
    for (int kernel = 0; kernel < 60; ++kernel, now += 2 * kUnit) {  // on a tenth of the device
      for (Pace* pace : {&slow_before, &never_slow})
        pace->ended(now, now + 2 * kUnit, 0, 10, 2 * kAlone, kSms);
      EXPECT_EQ(slow_before.others(), 0.0) << pause << " ms, kernel " << kernel;
      EXPECT_EQ(never_slow.others(), 0.0);
    }
  }
}

}  // namespace
}  // namespace carillon::runtime
