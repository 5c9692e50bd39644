#include "rack/rack.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/test.hpp"

using namespace carillon;
using namespace carillon::rack;

namespace {

constexpr std::optional<std::uint16_t> kAnywhere;

Rack units_on(std::uint16_t servers, std::vector<std::optional<std::uint16_t>> homes,
              const RackOptions& options = {}, Rack::Share share = {}) {
  if (!share) share = [](std::uint16_t, std::uint16_t) { return 0.25; };
  return {servers, static_cast<std::uint16_t>(homes.size()), homes, options, std::move(share)};
}

std::vector<std::uint16_t> where(Rack& rack, std::uint16_t cells, Tick now) {
  std::vector<std::uint16_t> servers;
  for (std::uint16_t c = 0; c < cells; ++c) servers.push_back(rack.route(c, now));
  return servers;
}

}  // namespace

TEST(Rack, UnitsWithoutAHomeGoWhereTheMostRoomIs) {
  // Server 1 is twice server 0.
  Rack uneven = units_on(2, std::vector(6, kAnywhere), {}, [](std::uint16_t server, std::uint16_t) {
    return server == 1 ? 0.1 : 0.2;
  });
  const auto found = where(uneven, 6, 0);
  EXPECT_EQ(std::count(found.begin(), found.end(), 1), 4);
  Rack given = units_on(2, {0, 0, 0, kAnywhere});
  EXPECT_TRUE(where(given, 4, 0) == std::vector<std::uint16_t>({0, 0, 0, 1}));
}

TEST(Rack, NacksAmongItsLastFramesMoveAUnit) {
  constexpr Tick kMove = 2 * kMillisecond;
  Rack two = units_on(2, {0, 0, 0}, {.nacks = 3, .window = 5, .hold = 0, .move = kMove});
  for (const bool done : {false, false, true, true, true, false}) {
    two.ended(1, 0, kMillisecond, done);
    EXPECT_EQ(two.route(1, kMillisecond), 0);
  }
  two.ended(1, 0, kMillisecond, false);
  EXPECT_EQ(two.route(1, kMillisecond), 0);  // the first two are long ago
  two.ended(1, 0, kMillisecond, false);
  EXPECT_EQ(two.route(1, kMillisecond), Rack::kNone);
  EXPECT_EQ(two.route(1, kMillisecond + kMove - 1), Rack::kNone);
  EXPECT_EQ(two.route(1, kMillisecond + kMove), 1);
  EXPECT_EQ(two.moves().size(), 1U);
  EXPECT_EQ(two.moves()[0].served, kMillisecond + kMove);
  EXPECT_TRUE(two.moves()[0].why == Cause::Overload);
  // What it left behind on server 0 says nothing of server 1.
  for (int i = 0; i < 5; ++i) two.ended(1, 0, kMillisecond, false);
  EXPECT_EQ(two.route(1, 20 * kMillisecond), 1);
}

TEST(Rack, NoUnitMovesWhereItIsNotBetter) {
  Rack full = units_on(2, {0, 0, 1, 1});
  for (Tick now = 0; now < kSecond; now += kMillisecond)
    for (std::uint16_t c = 0; c < 4; ++c) full.ended(c, full.route(c, now), now, false);
  EXPECT_TRUE(full.moves().empty());
}

// Whatever is refused, and however uneven servers and units are: no two states of the rack are the
// same, so that there is an end to it; and a server that a move touched is left alone for a while.
TEST(Rack, OverloadsNeverMakeAUnitGoToAndFro) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 200; ++trial) {
    const auto servers = static_cast<std::uint16_t>(2 + random() % 4);
    const auto cells = static_cast<std::uint16_t>(1 + random() % 12);
    std::vector<double> shares(servers * cells);
    for (double& share : shares) share = 0.01 + static_cast<double>(random() % 100) / 100;
    const RackOptions options{.nacks = 2,
                              .window = 9,
                              .hold = static_cast<Tick>(random() % 9) * kMillisecond,
                              .move = kMillisecond};
    std::vector<std::optional<std::uint16_t>> homes;
    for (std::uint16_t c = 0; c < cells; ++c)
      homes.emplace_back(static_cast<std::uint16_t>(random() % servers));
    Rack any = units_on(servers, homes, options, [&](std::uint16_t server, std::uint16_t cell) {
      return shares[server * cells + cell];
    });
    for (Tick now = 0; now < 500 * kMillisecond; now += kMillisecond)
      for (std::uint16_t c = 0; c < cells; ++c) {
        const std::uint16_t server = any.route(c, now);
        if (server != Rack::kNone) any.ended(c, server, now, random() % 8 == 0);
      }
    std::vector<std::uint16_t> at;
    for (const auto& home : homes) at.push_back(*home);
    std::set states{at};
    std::map<std::uint16_t, Tick> touched;
    for (const Move& move : any.moves()) {
      EXPECT_EQ(at[move.cell], move.from);
      const auto last = touched.find(move.from);
      EXPECT_TRUE(last == touched.end() || move.decided >= last->second + options.hold);
      touched[move.from] = touched[move.to] = move.decided;
      at[move.cell] = move.to;
      EXPECT_TRUE(states.insert(at).second);
    }
  }
}

namespace {

// Servers that each have so many devices in reserve.
Rack::Reserve reserve(std::vector<std::uint16_t>& left) {
  return [&](std::uint16_t server, Tick) -> std::optional<std::uint16_t> {
    if (left[server] == 0) return {};
    return --left[server];
  };
}

}  // namespace

// Every frame of every unit is refused: both devices join, as far apart as NACKs and the hold make
// them, and then a unit moves.
TEST(Rack, TheReserveJoinsBeforeAUnitMoves) {
  std::vector<std::uint16_t> left{2, 0};
  const std::vector<std::optional<std::uint16_t>> homes{0, 0, 0};
  const RackOptions options{.nacks = 3, .window = 5, .hold = 10 * kMillisecond, .move = 0};
  Rack two(
      2, 3, homes, options, [](std::uint16_t, std::uint16_t) { return 0.25; }, reserve(left));
  for (Tick now = 0; two.moves().empty(); now += kMillisecond)
    for (std::uint16_t c = 0; c < 3; ++c) two.ended(c, two.route(c, now), now, false);
  EXPECT_EQ(two.joins().size(), 2U);
  EXPECT_EQ(two.joins()[0].at, 3 * kMillisecond);
  EXPECT_EQ(two.joins()[0].device, 1);
  // The first three frames that start with the hold over, and the one that finds them.
  EXPECT_EQ(two.joins()[1].at, (3 + 10 + 3) * kMillisecond);
  EXPECT_EQ(two.joins()[1].device, 0);
  EXPECT_EQ(two.moves()[0].decided, (16 + 10 + 3) * kMillisecond);
  for (const Join& join : two.joins()) {
    EXPECT_EQ(join.server, 0);
    EXPECT_EQ(join.cell, 0);
  }
}

// What was refused while the first device had not helped yet says nothing.
TEST(Rack, AJoinThatHelpsIsTheLast) {
  std::vector<std::uint16_t> left{2};
  const std::vector<std::optional<std::uint16_t>> homes{0, 0};
  Rack one(
      1, 2, homes, {.hold = 10 * kMillisecond}, [](std::uint16_t, std::uint16_t) { return 0.5; },
      reserve(left));
  for (Tick now = 0; now < 200 * kMillisecond; now += kMillisecond)
    for (std::uint16_t c = 0; c < 2; ++c)
      one.ended(c, one.route(c, now), now, now > 12 * kMillisecond);
  EXPECT_EQ(one.joins().size(), 1U);
}

TEST(Rack, AnotherServersReserveDoesNotHelp) {
  std::vector<std::uint16_t> left{0, 2};
  const std::vector<std::optional<std::uint16_t>> homes{0, 0};
  Rack two(
      2, 2, homes, {}, [](std::uint16_t, std::uint16_t) { return 0.25; }, reserve(left));
  for (Tick now = 0; now < 4 * kMillisecond; now += kMillisecond)
    for (std::uint16_t c = 0; c < 2; ++c) {
      const std::uint16_t server = two.route(c, now);
      if (server != Rack::kNone) two.ended(c, server, now, false);
    }
  EXPECT_EQ(two.moves().size(), 1U);
  EXPECT_TRUE(two.joins().empty());
}

TEST(Rack, AllUnitsOfALostServerMoveAtOnceAndStay) {
  Rack three =
      units_on(3, {0, 0, 0, 0, 1, 2}, {.nacks = 3, .window = 3, .hold = 0, .move = kMillisecond});
  three.changed(0, false, 5 * kMillisecond);
  EXPECT_EQ(three.moves().size(), 4U);
  auto at = where(three, 6, 6 * kMillisecond);
  EXPECT_EQ(std::count(at.begin(), at.end(), 1), 3);
  EXPECT_EQ(std::count(at.begin(), at.end(), 2), 3);
  three.changed(0, true, 8 * kMillisecond);
  EXPECT_TRUE(where(three, 6, 9 * kMillisecond) == at);
}

TEST(Rack, UnitsWaitForAnyServerWhenAllAreLost) {
  Rack two = units_on(2, {0, 1}, {.nacks = 3, .window = 3, .hold = 0, .move = kMillisecond});
  two.changed(0, false, 0);
  two.changed(1, false, 2 * kMillisecond);
  EXPECT_TRUE(where(two, 2, 9 * kMillisecond) == std::vector<std::uint16_t>({1, 1}));  // lost
  two.changed(0, true, 10 * kMillisecond);
  EXPECT_TRUE(where(two, 2, 11 * kMillisecond) == std::vector<std::uint16_t>({0, 0}));
}
