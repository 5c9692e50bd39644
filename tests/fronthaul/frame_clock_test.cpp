#include "fronthaul/frame_clock.hpp"

#include <cstdlib>
#include <random>

#include "support/test.hpp"

namespace carillon::fronthaul {
namespace {

constexpr Tick kDuration = kMillisecond;

TEST(FrameClock, IsLockedByTheFirstPacketAndTakesAnEarlierOneUntilAFrameIsLearnt) {
  FrameClock clock(kDuration);
  EXPECT_FALSE(clock.locked());
  clock.begin(clock.epoch_of(5, 300, 5 * kDuration + 300 + 42));
  EXPECT_TRUE(clock.locked());
  EXPECT_EQ(clock.air_start(5), 5 * kDuration + 42);
  clock.begin(50);
  EXPECT_EQ(clock.air_start(0), 42);
  clock.begin(30);  // less delayed than the first one
  EXPECT_EQ(clock.air_start(0), 30);
  clock.learn(5, 35);
  EXPECT_EQ(clock.air_start(0), 35);
  clock.begin(-1000);
  EXPECT_EQ(clock.air_start(0), 35);
}

TEST(FrameClock, LearnsNothingWhereItHasBeenSet) {
  FrameClock clock(kDuration);
  clock.set(100);
  EXPECT_TRUE(clock.locked());
  for (std::uint64_t frame = 0; frame < 40; ++frame) clock.learn(frame, 90'000);
  EXPECT_EQ(clock.air_start(3), 100 + 3 * kDuration);
}

TEST(FrameClock, NamesTheFrameOnAir) {
  FrameClock clock(kDuration);
  clock.begin(100);
  EXPECT_EQ(clock.frame_at(0), 0U);
  EXPECT_EQ(clock.frame_at(100), 0U);
  EXPECT_EQ(clock.frame_at(100 + kDuration - 1), 0U);
  EXPECT_EQ(clock.frame_at(100 + 7 * kDuration), 7U);
}

TEST(FrameClock, FindsTheLeastDelayUnderJitter) {
  FrameClock clock(kDuration);
  std::mt19937 random(1);
  std::exponential_distribution<double> delay(1.0 / 5000);
  clock.begin(40'000);  // the first packet was late
  for (std::uint64_t frame = 0; frame < 100; ++frame) {
    double least = 1e9;
    for (int i = 0; i < 50; ++i) least = std::min(least, delay(random));
    clock.learn(frame, static_cast<Tick>(least));
  }
  EXPECT_LT(clock.air_start(0), 300);
  EXPECT_GE(clock.air_start(0), 0);
}

TEST(FrameClock, IsNotMovedByAForgedEarlyPacketNorByAStall) {
  FrameClock clock(kDuration);
  clock.begin(1000);
  for (std::uint64_t frame = 0; frame < 20; ++frame) clock.learn(frame, 1000);
  clock.learn(20, -500'000);
  EXPECT_EQ(clock.air_start(0), 1000);
  for (std::uint64_t frame = 21; frame < 30; ++frame) clock.learn(frame, 3'000'000);
  EXPECT_EQ(clock.air_start(0), 1000);
}

TEST(FrameClock, SlewsOnceItIsSetWhateverFramesSay) {
  FrameClock clock(kDuration);
  for (std::uint64_t frame = 0; frame < 16; ++frame) clock.learn(frame, 1000);
  Tick before = clock.air_start(0);
  EXPECT_EQ(before, 1000);
  for (std::uint64_t frame = 16; frame < 400; ++frame) {
    clock.learn(frame, frame % 3 == 0 ? -500'000 : 1000);  // one frame in three is forged
    EXPECT_LE(before - clock.air_start(0), clock.most_slew());
    before = clock.air_start(0);
  }
  for (std::uint64_t frame = 400; frame < 800; ++frame) {
    clock.learn(frame, 2'000'000);
    EXPECT_LE(clock.air_start(0) - before, clock.most_slew());
    before = clock.air_start(0);
  }
  EXPECT_EQ(clock.air_start(0), 2'000'000);  // what lasts is believed in the end
}

TEST(FrameClock, OneSymbolTellsNothingOfAFrameThatHasSeveral) {
  Tick forged[] = {40, -500'000, 30, 90};
  EXPECT_EQ(agreed_epoch(forged), 30);
  Tick two[] = {70, 60};
  EXPECT_EQ(agreed_epoch(two), 70);
  Tick one[] = {70};
  EXPECT_EQ(agreed_epoch(one), 70);
  EXPECT_EQ(agreed_epoch({}), FrameClock::kNothing);
}

TEST(FrameClock, FollowsADriftOfFiftyMillionthsWithinAMicrosecond) {
  for (const int drift : {50, -50}) {  // ns per frame of a millisecond
    FrameClock clock(kDuration);
    clock.begin(0);
    for (std::uint64_t frame = 0; frame < 1000; ++frame) {
      const Tick truth = drift * static_cast<Tick>(frame);
      clock.learn(frame, truth);
      EXPECT_LE(std::abs(clock.air_start(0) - truth), 1000);
    }
  }
}

TEST(FrameClock, ForgetsFramesFromBeforeARestart) {
  FrameClock clock(kDuration);
  clock.begin(0);
  for (std::uint64_t frame = 0; frame < 20; ++frame) clock.learn(frame, 0);
  clock.restart(100, 5'000'000);
  EXPECT_EQ(clock.air_start(0), 5'000'000);
  clock.learn(21, 0);
  EXPECT_EQ(clock.air_start(0), 5'000'000);
  clock.learn(100, 5'000'100);
  EXPECT_EQ(clock.air_start(0), 5'000'100);
}

}  // namespace
}  // namespace carillon::fronthaul
