// How soon a host sees what a device did. Both clocks, and all latencies, are made up here.
#include "cuda/latency.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <sstream>

#include "support/test.hpp"

namespace carillon::bench {
namespace {

/// A device's clock that began at another time, runs at another rate and jumps.
struct DeviceClock {
  Tick ahead = 0;
  double drift = 0;  // ns for each ns
  Tick step = 1;

  Tick at(Tick host) const {
    const Tick now =
        host + ahead + static_cast<Tick>(std::llround(drift * static_cast<double>(host)));
    return now - now % step;
  }
};

/// Round trips one after the other, each way of at least 400 ns and mostly of more.
std::vector<Reading> trips(const DeviceClock& clock, Tick begin, std::size_t count,
                           std::mt19937& random) {
  std::exponential_distribution<double> more(1.0 / 500);
  const auto way = [&] { return 400 + static_cast<Tick>(more(random)); };
  std::vector<Reading> found;
  for (std::size_t i = 0; i < count; ++i) {
    const Tick there = begin + way(), back = there + way();
    found.push_back({begin, clock.at(there), back});
    begin = back + 100;
  }
  return found;
}

TEST(Latency, AnOffsetIsWhatTheQuickestTripsLeave) {
  // The first says 900 to 1100, the second 950 to 1300.
  const std::vector<Reading> readings = {{0, 1100, 200}, {1000, 2300, 1350}};
  const std::optional<Offset> found = compare(readings, 0);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->ahead, 1025);
  EXPECT_EQ(found->error, 75);
  EXPECT_EQ(found->host, 675);
  EXPECT_EQ(found->took, 1350);
}

TEST(Latency, AStepOfTheClockLeavesMoreOpen) {
  const std::vector<Reading> readings = {{0, 1100, 200}};
  EXPECT_EQ(compare(readings, 0)->error, 100);
  EXPECT_EQ(compare(readings, 1000)->error, 600);
  EXPECT_EQ(compare(readings, 1000)->ahead, 1500);
}

TEST(Latency, ReadingsThatContradictEachOtherGiveNoOffset) {
  EXPECT_FALSE(compare({}, 0).has_value());
  const std::vector<Reading> readings = {{0, 1100, 200}, {1000, 5000, 1100}};
  EXPECT_FALSE(compare(readings, 0).has_value());
  EXPECT_TRUE(compare(readings, 2900).has_value());  // unless a step is as large
}

TEST(Latency, WhatADeviceShowsIsFoundOnTheHostWithinTheError) {
  constexpr Tick kSince1970 = 1'790'000'000'000'000'000;  // ns, more than a double tells apart
  std::mt19937 random(1);
  for (const double drift : {0.0, 50e-6, -50e-6})
    for (const Tick step : {Tick{1}, Tick{32}, Tick{1024}})
      for (const Tick ahead : {Tick{-5'000'000}, kSince1970}) {
        const DeviceClock clock = {ahead, drift, step};
        const Tick begin = 10 * kSecond, end = begin + 100 * kMillisecond;
        const std::optional<Offset> first = compare(trips(clock, begin, 500, random), step);
        const std::optional<Offset> second = compare(trips(clock, end, 500, random), step);
        ASSERT_TRUE(first && second);
        const Clocks clocks(*first, *second, step);
        EXPECT_LT(clocks.error(), 700 + 2 * step);
        EXPECT_NEAR(clocks.drift(), drift * 1e6, 20.0);
        for (Tick host = begin; host < end; host += 12'345)
          ASSERT_LE(std::abs(clocks.on_host(clock.at(host)) - host), clocks.error())
              << "drift " << drift << ", step " << step << ", at " << host;
      }
}

TEST(Latency, WaysThatDifferAreWithinTheError) {
  // 400 ns there and 600 back, the clock 1000 ahead: nobody can tell that from 500 and 500.
  const std::vector<Reading> readings(10, Reading{0, 1400, 1000});
  const Offset found = *compare(readings, 0);
  EXPECT_EQ(found.error, 500);
  EXPECT_EQ(found.ahead, 900);
}

TEST(Latency, DriftWhileReadingsAreTakenIsPartOfTheError) {
  // 10 ms at 100 ppm are 1000 ns, which hide most of ways of 1000 ns there and 200 back.
  const DeviceClock clock = {kSecond, 100e-6, 1};
  const auto readings = [&](Tick begin) {
    std::vector<Reading> found;
    for (Tick at = begin; at <= begin + 10 * kMillisecond; at += 100 * kMicrosecond)
      found.push_back({at, clock.at(at + 1000), at + 1200});
    return *compare(found, 1);
  };
  const Clocks clocks(readings(0), readings(kSecond), 1);
  const Tick host = kSecond / 2, off = std::abs(clocks.on_host(clock.at(host)) - host);
  EXPECT_GT(off, readings(0).error);
  EXPECT_LE(off, clocks.error());
}

TEST(Latency, OnlyRoundsForWhichTheHostWasReadyCount) {
  const Offset exact = {.host = 0, .ahead = 1000, .error = 100, .took = 0};
  const Offset later = {.host = kSecond, .ahead = 1000, .error = 100, .took = 0};
  const std::vector<Round> rounds = {{50'000, 62'500, 61'000}, {59'950, 63'000, 61'000}};
  EXPECT_EQ(seen_after(rounds, Clocks(exact, later, 0)), std::vector<double>{2.5});
}

TEST(Latency, PercentilesAreOfSortedSamples) {
  std::vector<double> samples;
  for (int i = 100; i > 0; --i) samples.push_back(i);
  const Latency row = latency("seen", "polled", samples, 0.25, 2);
  EXPECT_EQ(row.samples, 100U);
  EXPECT_EQ(row.p50, 51);
  EXPECT_EQ(row.p90, 91);
  EXPECT_EQ(row.p99, 100);
  EXPECT_EQ(share({7}, 0.99), 7);
}

TEST(Latency, AGoalIsMetOrMissedOnlyBeyondTheError) {
  const auto said = [](double p90, double error) {
    return verdict(latency("seen", "polled", {p90}, error, 2));
  };
  EXPECT_EQ(said(1.5, 0.5), "met");
  EXPECT_EQ(said(1.6, 0.5), "too close to tell");
  EXPECT_EQ(said(2.5, 0.5), "too close to tell");
  EXPECT_EQ(said(2.6, 0.5), "missed");
  EXPECT_EQ(said(2, 0), "met");
  EXPECT_EQ(verdict(latency("seen", "polled", {}, 0, 2)), "missed");  // nothing was seen
  EXPECT_EQ(verdict(latency("seen", "polled", {1}, 0, 0)), "");
}

TEST(Latency, LaunchesDominateWhereTheHostIsSlowerThanTheKernels) {
  EXPECT_EQ(launches(24, 24, 16), "1.50 × a graph of the frame; launches dominate");
  EXPECT_EQ(launches(24, 66, 60), "1.10 × a graph of the frame");
}

TEST(Latency, ALineSaysPercentilesErrorAndVerdict) {
  const Latency row = latency("seen", "polled", std::vector<double>(50, 1.25), 0.5, 2);
  EXPECT_EQ(text(row),
            "seen, polled: p50 1.25, p90 1.25, p99 1.25 µs of 50, ± 0.50; goal 2 µs for p90: met");
  Latency plain = latency("a call", "launch", {3}, 0, 0);
  plain.note = "as noted";
  EXPECT_EQ(text(plain), "a call, launch: p50 3.00, p90 3.00, p99 3.00 µs of 1; as noted");
}

TEST(Latency, RowsAreWrittenWithTheClocksErrorAndTheVerdict) {
  std::ostringstream out;
  write_completion(out, {{32, 750, 12.5}, {latency("seen", "polled", {1.25}, 0.5, 2)}});
  EXPECT_EQ(out.str(),
            "\"completion\": {\"timer_step_us\": 0.032, \"clock_error_us\": 0.75, "
            "\"drift_ns_per_ms\": 12.5, \"rows\": [\n"
            "  {\"what\": \"seen\", \"how\": \"polled\", \"samples\": 1, \"p50_us\": 1.25, "
            "\"p90_us\": 1.25, \"p99_us\": 1.25, \"error_us\": 0.5, \"goal_us\": 2, "
            "\"verdict\": \"met\", \"note\": \"\"}]}");
}

}  // namespace
}  // namespace carillon::bench
