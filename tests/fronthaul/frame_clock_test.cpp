#include "fronthaul/frame_clock.hpp"

#include <cstdlib>
#include <random>

#include "support/test.hpp"

namespace carillon::fronthaul {
namespace {

constexpr Tick kDuration = kMillisecond;

TEST(FrameClock, IsLockedByTheFirstPacket) {
  FrameClock clock(kDuration);
  EXPECT_FALSE(clock.locked());
  clock.begin(clock.epoch_of(5, 300, 5 * kDuration + 300 + 42));
  EXPECT_TRUE(clock.locked());
  EXPECT_EQ(clock.air_start(5), 5 * kDuration + 42);
  clock.begin(0);  // only the first counts
  EXPECT_EQ(clock.air_start(0), 42);
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
