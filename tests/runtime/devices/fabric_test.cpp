#include "runtime/devices/fabric.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "runtime/graph.hpp"
#include "support/test.hpp"

namespace carillon::runtime {
namespace {

// host ── switch ─┬─ near ─┬─ a
//                 │        └─ b
//                 └─ far ──── c
enum : std::uint16_t { kHost, kSwitch, kNear, kFar, kA, kB, kC };

constexpr double kGigabyte = 1e9;
constexpr std::uint64_t kMessage = 1'000'000;

std::vector<FabricNode> pool() {
  return {{.name = "host"},
          {.name = "switch", .parent = kHost, .bytes_per_s = 25 * kGigabyte, .latency = 100},
          {.name = "near", .parent = kSwitch, .bytes_per_s = 20 * kGigabyte, .latency = 200},
          {.name = "far", .parent = kSwitch, .bytes_per_s = 10 * kGigabyte, .latency = 400},
          {.name = "a", .parent = kNear, .bytes_per_s = 25 * kGigabyte, .latency = 50},
          {.name = "b", .parent = kNear, .bytes_per_s = 25 * kGigabyte, .latency = 50},
          {.name = "c", .parent = kFar, .bytes_per_s = 25 * kGigabyte, .latency = 50}};
}

Fabric fabric(const std::vector<FabricNode>& nodes) { return *Fabric::build(nodes).fabric; }

/// One device on a link of 10 GB/s: 0.1 ns per byte.
Fabric one_link(Tick latency) {
  return fabric({{.name = "host"}, {.name = "device", .bytes_per_s = 1e10, .latency = latency}});
}

void expect_within_percent(double value, double expected) {
  EXPECT_NEAR(value / expected, 1.0, 0.01) << value << " for " << expected;
}
void expect_within_percent(Tick value, Tick expected) {
  expect_within_percent(static_cast<double>(value), static_cast<double>(expected));
}

TEST(Fabric, OneTransferTakesItsWaysLatenciesAndTheSlowestLinksTime) {
  EXPECT_EQ(fabric(pool()).transfer(kHost, kA, kMessage, 0), 100 + 200 + 50 + 50'000);
  EXPECT_EQ(fabric(pool()).transfer(kA, kHost, kMessage, 7'000), 7'000 + 350 + 50'000);
  EXPECT_EQ(fabric(pool()).transfer(kHost, kC, kMessage, 0), 100 + 400 + 50 + 100'000);
  EXPECT_EQ(fabric(pool()).transfer(kC, kB, kMessage, 0), 50 + 400 + 200 + 50 + 100'000);
  EXPECT_EQ(fabric(pool()).transfer(kHost, kNear, 0, 0), 300);
  EXPECT_EQ(fabric(pool()).transfer(kA, kA, kMessage, 42), 42);
  EXPECT_EQ(fabric(pool()).transfer(kHost, kSwitch, kMessage, -5'000), -5'000 + 100 + 40'000);
}

TEST(Fabric, BackToBackTransfersFollowEachOtherWithoutAGap) {
  Fabric link = one_link(500);
  for (Tick i = 1; i <= 100; ++i) {
    EXPECT_EQ(link.transfer(kHost, 1, kMessage, 0), 500 + i * 100'000);
  }
  // Once idle again, nothing is left of it.
  EXPECT_EQ(link.transfer(kHost, 1, kMessage, 20'000'000), 20'000'000 + 500 + 100'000);
}

TEST(Fabric, AnArrivalIsRoundedToTheNearestTick) {
  EXPECT_EQ(one_link(0).transfer(kHost, 1, 4, 0), 0);
  EXPECT_EQ(one_link(0).transfer(kHost, 1, 7, 0), 1);
}

TEST(Fabric, AMillionShortMessagesTakeAsLongAsOneLongOne) {
  Fabric link = fabric({{.name = "host"}, {.name = "device", .bytes_per_s = 64e9}});
  Tick last = 0;
  for (int i = 0; i < 1'000'000; ++i) last = link.transfer(kHost, 1, 100, 0);
  EXPECT_EQ(last, 1'562'500);
  EXPECT_EQ(link.use(1, LinkDirection::Down).busy, 1'562'500);
}

TEST(Fabric, ASaturatedLinkCarriesItsBandwidthAndTheBacklogGrows) {
  // Twice what the link can carry, for 10 ms.
  Fabric link = one_link(500);
  Tick last = 0;
  for (Tick sent = 0; sent < 10 * kMillisecond; sent += 50'000) {
    last = link.transfer(kHost, 1, kMessage, sent);
  }
  expect_within_percent(last, 20 * kMillisecond);
  const LinkUse use = link.use(1, LinkDirection::Down);
  EXPECT_EQ(use.bytes, 200 * kMessage);
  EXPECT_EQ(use.busy, 20 * kMillisecond);
  // Half of it is carried without waiting.
  Fabric idle = one_link(500);
  for (Tick sent = 0; sent < 10 * kMillisecond; sent += 200'000) {
    EXPECT_EQ(idle.transfer(kHost, 1, kMessage, sent), sent + 100'500);
  }
}

// Poisson arrivals of equal messages at one server: the mean wait is rho/(2(1 - rho)) services
// (Pollaczek and Khinchine, for constant service).
TEST(Fabric, RandomArrivalsWaitAsQueueingTheorySays) {
  for (const double load : {0.3, 0.6}) {
    Fabric link = one_link(0);
    Random random(5);
    constexpr int kMessages = 1'000'000;
    double now = 0, waited = 0;
    for (int i = 0; i < kMessages; ++i) {
      now -= 1000 / load * std::log(1 - random.uniform());
      const auto sent = static_cast<Tick>(now);
      waited += static_cast<double>(link.transfer(kHost, 1, 10'000, sent) - sent - 1000);
    }
    expect_within_percent(waited / kMessages, 1000 * load / (2 * (1 - load)));
  }
}

TEST(Fabric, TwoDevicesThatShareAnUplinkEachGetHalfOfIt) {
  // Each sends its next message when the last has arrived; the shared link (20 GB/s) is slower
  // than their own.
  Fabric shared = fabric(pool());
  std::array<Tick, 2> free = {0, 0};
  std::array<std::uint64_t, 2> sent = {0, 0};
  while (std::min(free[0], free[1]) < 100 * kMillisecond) {
    const std::size_t next = free[1] < free[0];
    free[next] = shared.transfer(next == 0 ? kA : kB, kHost, kMessage, free[next]);
    sent[next] += kMessage;
  }
  expect_within_percent(static_cast<double>(sent[0]), 0.1 * 10 * kGigabyte);
  expect_within_percent(static_cast<double>(sent[1]), 0.1 * 10 * kGigabyte);
  expect_within_percent(shared.use(kNear, LinkDirection::Up).busy, 100 * kMillisecond);
  // A quarter faster is a fifth idle.
  expect_within_percent(shared.use(kSwitch, LinkDirection::Up).busy, 80 * kMillisecond);
}

TEST(Fabric, DevicesOfOneChassisDoNotTouchTheLinksAboveIt) {
  Fabric nodes = fabric(pool());
  for (int i = 0; i < 100; ++i) nodes.transfer(kHost, kNear, kMessage, 0);  // 5 ms of backlog
  EXPECT_EQ(nodes.transfer(kA, kB, kMessage, 0), 50 + 50 + 40'000);
  EXPECT_EQ(nodes.use(kNear, LinkDirection::Up).bytes, 0U);
  EXPECT_EQ(nodes.use(kSwitch, LinkDirection::Up).bytes, 0U);
}

TEST(Fabric, DevicesOfTwoChassisMeetAtTheSwitch) {
  Fabric nodes = fabric(pool());
  EXPECT_EQ(nodes.transfer(kA, kC, kMessage, 0), 50 + 200 + 400 + 50 + 100'000);
  EXPECT_EQ(nodes.use(kNear, LinkDirection::Up).bytes, kMessage);
  EXPECT_EQ(nodes.use(kFar, LinkDirection::Down).bytes, kMessage);
  EXPECT_EQ(nodes.use(kNear, LinkDirection::Down).bytes, 0U);
  EXPECT_EQ(nodes.use(kSwitch, LinkDirection::Up).bytes, 0U);
  EXPECT_EQ(nodes.use(kSwitch, LinkDirection::Down).bytes, 0U);
}

TEST(Fabric, BothDirectionsOfALinkCarryAtOnce) {
  Fabric nodes = fabric(pool());
  for (Tick i = 1; i <= 10; ++i) {
    EXPECT_EQ(nodes.transfer(kHost, kA, kMessage, 0), 350 + i * 50'000);
    EXPECT_EQ(nodes.transfer(kA, kHost, kMessage, 0), 350 + i * 50'000);
  }
}

// What holds of any message on any tree: never faster than alone, never at a link more than its
// bandwidth, every byte counted once on each link of the way.
TEST(Fabric, OnRandomTreesNothingIsFasterThanAloneAndNothingIsLost) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const auto below = [&](std::size_t n) { return static_cast<std::uint16_t>(random.next() % n); };
    std::vector<FabricNode> nodes = {{.name = "host"}};
    while (nodes.size() < 12) {
      nodes.push_back({.name = "node",
                       .parent = below(nodes.size()),
                       .bytes_per_s = 1e9 + 1e10 * random.uniform(),
                       .latency = below(1000)});
    }
    Fabric busy = fabric(nodes);
    std::vector<std::uint64_t> expected(nodes.size());
    Tick now = 0, last = 0;
    for (int i = 0; i < 1000; ++i) {
      now += below(20'000);
      const std::uint16_t from = below(nodes.size()), to = below(nodes.size());
      const std::uint64_t bytes = below(60'000);
      const Tick arrival = busy.transfer(from, to, bytes, now);
      EXPECT_GE(arrival, fabric(nodes).transfer(from, to, bytes, now));
      last = std::max(last, arrival);
      // The nodes above exactly one of the two ends have their links on the way.
      std::vector<int> above(nodes.size());
      for (std::uint16_t n = from; n != kHost; n = nodes[n].parent) ++above[n];
      for (std::uint16_t n = to; n != kHost; n = nodes[n].parent) ++above[n];
      for (std::size_t n = 1; n < nodes.size(); ++n) expected[n] += above[n] == 1 ? bytes : 0;
    }
    for (std::uint16_t n = 1; n < nodes.size(); ++n) {
      const LinkUse up = busy.use(n, LinkDirection::Up), down = busy.use(n, LinkDirection::Down);
      EXPECT_EQ(up.bytes + down.bytes, expected[n]);
      EXPECT_LE(std::max(up.busy, down.busy), last);
      EXPECT_NEAR(static_cast<double>(up.busy),
                  static_cast<double>(up.bytes) / nodes[n].bytes_per_s * 1e9, 1);
    }
  }
}

TEST(Fabric, ErrorsNameTheNode) {
  const auto error_after = [](auto change) {
    std::vector<FabricNode> nodes = pool();
    change(nodes);
    FabricResult result = Fabric::build(nodes);
    EXPECT_FALSE(result.fabric.has_value());
    return result.error;
  };
  EXPECT_EQ(error_after([](auto& n) { n.clear(); }), "a fabric needs at least a host");
  EXPECT_EQ(error_after([](auto& n) { n[kA].parent = 7; }),
            "fabric node 4 (a): its parent 7 does not exist; the last node is 6");
  EXPECT_EQ(error_after([](auto& n) { n[kFar].parent = kC; }),
            "fabric node 3 (far): its parents form a cycle without the host");
  EXPECT_EQ(error_after([](auto& n) { n[kB].parent = kB; }),
            "fabric node 5 (b): its parents form a cycle without the host");
  for (const double bandwidth :
       {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(error_after([&](auto& n) { n[kC].bytes_per_s = bandwidth; }),
              "fabric node 6 (c): its bandwidth must be positive");
  }
  EXPECT_EQ(error_after([](auto& n) { n[kSwitch].latency = -1; }),
            "fabric node 1 (switch): its latency must not be negative");
}

// 128 antennas at 30.72 MHz, 2 x 16 bits per sample: 15.7 MB per frame of 1 ms, over 25 GB/s.
TEST(Fabric, TheBoundOnRadioUnitsIsWhereTheBacklogBeginsToGrow) {
  constexpr std::uint64_t kFrame = 128 * 30'720 * 4;
  const double bound = fabric_bound(kFrame, kMillisecond, 25e9);
  EXPECT_NEAR(bound, 1.589, 0.001);
  EXPECT_NEAR(fabric_bound(kFrame, 2 * kMillisecond, 50e9), 4 * bound, 1e-9);

  for (const int units : {1, 2}) {
    Fabric link = fabric({{.name = "host"}, {.name = "switch", .bytes_per_s = 25e9}});
    Tick longest = 0;
    for (Tick air = 0; air < 100 * kMillisecond; air += kMillisecond) {
      for (int unit = 0; unit < units; ++unit) {
        longest = std::max(longest, link.transfer(kHost, 1, kFrame, air) - air);
      }
    }
    EXPECT_EQ(longest < kMillisecond, units < bound);
  }
}

}  // namespace
}  // namespace carillon::runtime
