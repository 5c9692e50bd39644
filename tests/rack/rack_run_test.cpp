// Several servers behind a switch, in virtual time.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "rack/pool_case.hpp"
#include "rack/pool_run.hpp"
#include "runtime/policies/pool/pool_policies.hpp"
#include "support/test.hpp"
#include "support/watched.hpp"

using namespace carillon;
using namespace carillon::frame;
using namespace carillon::rack;
using namespace carillon::runtime;

namespace {

constexpr Switch kWide{1e18, 0};

RackModel servers(std::size_t count, std::uint32_t devices, Switch fronthaul = kWide,
                  double variation = 0) {
  RackModel rack;
  rack.servers.assign(count, a100s(devices, variation));
  rack.fronthaul = fronthaul;
  return rack;
}

std::uint64_t number(const PoolFrame& frame, const Frame& cell) {
  return static_cast<std::uint64_t>(frame.began / cell.duration());
}

std::size_t count(const PoolRun& run, Cause cause, std::uint16_t cell) {
  return static_cast<std::size_t>(std::count_if(
      run.frames.begin(), run.frames.end(),
      [&](const PoolFrame& f) { return !f.done && f.lost == cause && f.cell == cell; }));
}

std::vector<std::tuple<std::uint16_t, Tick, Tick, bool, std::uint16_t>> all(const PoolRun& run) {
  std::vector<std::tuple<std::uint16_t, Tick, Tick, bool, std::uint16_t>> found;
  for (const PoolFrame& f : run.frames)
    found.emplace_back(f.cell, f.began, f.latency, f.done, f.server);
  return found;
}

// For runs of seconds. Sanitizers watch the policies in shorter ones.
std::span<const std::string_view> some_policies() {
  static constexpr std::string_view kSome[] = {"adaptive", "scoreboard", "frame-level"};
  return {kSome, test::kWatched ? 1U : 3U};
}

}  // namespace

TEST(RackRun, OneServerBehindAnEndlesslyFastSwitchIsThePool) {
  const Frame frame(pool_cell(64, 32, 'U'));
  for (const std::string_view policy : pool_policy_names()) {
    PoolRunOptions options = pool_options(policy, 40);
    options.late = 30 * kMicrosecond;
    const PoolRun pool = run_on_pool({&frame, &frame}, a100s(2, 0.2), options);
    const PoolRun rack = run_on_rack({&frame, &frame}, servers(1, 2, kWide, 0.2), options);
    EXPECT_TRUE(all(pool) == all(rack)) << policy;
    EXPECT_TRUE(pool.busy == rack.busy) << policy;
  }
}

// Servers have nothing in common but the switch, so each is as if it were alone.
TEST(RackRun, ServersDoNotDisturbEachOther) {
  const Frame small(pool_cell(32, 16, 'U')), large(pool_cell(64, 32, 'U'));
  const PoolRunOptions options = pool_options("scoreboard", 30);
  RackModel rack = servers(2, 1);
  rack.homes = {0, 1};
  const PoolRun both = run_on_rack({&small, &large}, rack, options);
  const PoolRun alone = run_on_rack({&small}, servers(1, 1), options);
  std::vector<Tick> together, by_itself;
  for (const PoolFrame& f : both.frames)
    if (f.cell == 0) together.push_back(f.latency);
  for (const PoolFrame& f : alone.frames) by_itself.push_back(f.latency);
  EXPECT_TRUE(together == by_itself);
  EXPECT_EQ(done(both), 60U);
}

// A port that carries half of what comes is never idle from the first symbol's end on, so that a
// frame's last sample is there two frames' lengths after that of the one before.
TEST(RackRun, APortAtTwiceItsBandwidthFallsBehindByAFrameEachFrame) {
  const Frame frame(pool_cell(32, 16, 'U'));
  const PoolGraph graph = build_pool_graph(frame, {}, *find_pool_profile("megastation"));
  std::uint64_t bytes = 0;
  for (std::uint16_t i = 0; i < graph.graph.size(); ++i)
    if (graph.graph[i].feed == Feed::Arrivals) bytes += graph.work[i].moved;
  const double rate = static_cast<double>(bytes) / static_cast<double>(frame.duration());  // B/ns
  PoolRunOptions options = pool_options("frame-level", 6);
  options.graph.deadline = 50 * kMillisecond;
  RackModel rack = servers(1, 1, {rate * 1e9 / 2, kMicrosecond});
  const PoolRun run = run_on_rack({&frame}, rack, options);
  EXPECT_EQ(done(run), 6U);
  const auto after_its_samples = [&](Tick n) {
    const Tick carried = frame.symbol(0).end + 2 * (n + 1) * frame.duration() + kMicrosecond;
    const PoolFrame& f = run.frames[static_cast<std::size_t>(n)];
    return static_cast<double>(f.began + f.latency - carried);
  };
  for (Tick n = 0; n < 6; ++n) {
    EXPECT_GT(after_its_samples(n), 0);
    EXPECT_LT(after_its_samples(n), 100e3);  // the last symbol's kernels
  }
  for (Tick n = 3; n < 6; ++n) EXPECT_NEAR(after_its_samples(n), after_its_samples(2), 10.0);
  // 12 ms of samples from the end of the first symbol on, and then the last one's kernels.
  EXPECT_GT(run.ports[0], 12.0 / 12.3);
  // Two units with a port of that unit's rate are the same; with a port each there is room.
  rack.servers.push_back(rack.servers[0]);
  rack.fronthaul->bytes_per_s *= 2;
  rack.homes = {0, 0};
  const PoolRun shared = run_on_rack({&frame, &frame}, rack, options);
  rack.homes = {0, 1};
  const PoolRun apart = run_on_rack({&frame, &frame}, rack, options);
  const auto latest = [](const PoolRun& one) {
    Tick latest = 0;
    for (const PoolFrame& f : one.frames) latest = std::max(latest, f.latency);
    return latest;
  };
  EXPECT_GT(latest(shared), 6 * frame.duration());
  EXPECT_LT(latest(apart), 2 * frame.duration());
}

// Lost at 20.3 ms, noticed 1 ms later, moved 2 ms after that: frame 20 dies with the server, frame
// 21 goes to a dead one, frames 22 and 23 go nowhere, frame 24 is served elsewhere.
TEST(RackRun, ALostServerCostsTheFramesUntilItsUnitsHaveMoved) {
  const Frame frame(pool_cell(32, 16, 'U'));
  for (const std::string_view policy : pool_policy_names()) {
    RackModel rack = servers(2, 2);
    rack.homes = {0, 1};
    rack.moving.move = 2 * kMillisecond;
    constexpr Tick kDies = 20 * kMillisecond + 300 * kMicrosecond;
    rack.faults = {{kDies, 0, false, kMillisecond}, {40 * kMillisecond, 0, true, 0}};
    const PoolRun run = run_on_rack({&frame, &frame}, rack, pool_options(policy, 60));
    EXPECT_EQ(run.frames.size(), 120U) << policy;
    EXPECT_EQ(done(run), 116U) << policy;
    EXPECT_EQ(count(run, Cause::HostLost, 0), 2U) << policy;
    EXPECT_EQ(count(run, Cause::Moving, 0), 2U) << policy;
    EXPECT_EQ(run.moves.size(), 1U) << policy;
    EXPECT_EQ(run.moves[0].decided, kDies + kMillisecond);
    EXPECT_EQ(run.moves[0].served, kDies + 3 * kMillisecond);
    for (const PoolFrame& f : run.frames)
      EXPECT_TRUE(f.cell == 1 || !f.done || f.server == (number(f, frame) < 20 ? 0 : 1)) << policy;
  }
}

// Back before its loss is noticed, and lost again before it would have been: nobody knows of the
// second loss until its own notice comes.
TEST(RackRun, TheNoticeOfALossCountsForThatLossAlone) {
  const Frame frame(pool_cell(32, 16, 'U'));
  RackModel rack = servers(2, 1);
  rack.homes = {0};
  constexpr Tick kFirst = 20 * kMillisecond + 300 * kMicrosecond, kNoticed = 30 * kMillisecond;
  constexpr Tick kSecond = kFirst + 20 * kMillisecond;
  rack.faults = {{kFirst, 0, false, kNoticed},
                 {kFirst + 10 * kMillisecond, 0, true, 0},
                 {kSecond, 0, false, kNoticed}};
  const PoolRun run = run_on_rack({&frame}, rack, pool_options("scoreboard", 90));
  EXPECT_EQ(run.moves.size(), 1U);
  EXPECT_EQ(run.moves[0].decided, kSecond + kNoticed);
}

// The host that starts again knows nothing of its frames; with nowhere else to go, its unit waits.
TEST(RackRun, ALoneServerThatComesBackServesAgain) {
  const Frame frame(pool_cell(32, 16, 'U'));
  for (const std::string_view policy : pool_policy_names()) {
    RackModel rack = servers(1, 2);
    rack.servers[0].faults = {{5 * kMillisecond, 1, Fault::Kind::Lost, 0},
                              {35 * kMillisecond, 1, Fault::Kind::Back, 0}};
    rack.faults = {{20 * kMillisecond + 300 * kMicrosecond, 0, false, kMillisecond},
                   {30 * kMillisecond + 300 * kMicrosecond, 0, true, 0}};
    const PoolRun run = run_on_rack({&frame}, rack, pool_options(policy, 60));
    EXPECT_EQ(run.frames.size(), 60U) << policy;
    EXPECT_EQ(done(run), 49U) << policy;  // 20 to 30 are lost
    EXPECT_EQ(run.end, run.frames.back().began + run.frames.back().latency) << policy;
    EXPECT_TRUE(run.moves.empty()) << policy;
  }
}

// There is nowhere to move to: every frame is lost with the server, and on air for its time.
TEST(RackRun, ALoneServerThatStaysLostLosesEveryFrameUntilTheEnd) {
  const Frame frame(pool_cell(32, 16, 'U'));
  RackModel rack = servers(1, 1);
  const PoolRunOptions options = pool_options("scoreboard", 50);
  const PoolRun whole = run_on_rack({&frame}, rack, options);
  rack.faults = {{10 * kMillisecond + 300 * kMicrosecond, 0, false, kMillisecond}};
  const PoolRun run = run_on_rack({&frame}, rack, options);
  EXPECT_EQ(done(run), 10U);
  EXPECT_EQ(count(run, Cause::HostLost, 0), 40U);
  for (const PoolFrame& f : run.frames) EXPECT_EQ(f.server, 0);
  EXPECT_EQ(run.end, 50 * frame.duration());
  EXPECT_NEAR(run.busy[0], whole.busy[0] / 5, whole.busy[0] / 20);
}

TEST(RackRun, UnitsLeaveAnOverloadedServerUntilAllAreServed) {
  const Frame frame(pool_cell(64, 32, 'U'));
  std::vector<const Frame*> cells(8, &frame);
  for (const std::string_view policy : some_policies()) {
    RackModel rack = servers(2, 2, kWide, 0.05);
    rack.homes.assign(cells.size(), 0);
    const PoolRun stays = run_on_pool(cells, rack.servers[0], pool_options(policy, 300));
    EXPECT_LT(done(stays), stays.frames.size() * 9 / 10) << policy;
    const PoolRun run = run_on_rack(cells, rack, pool_options(policy, 300));
    EXPECT_GE(run.moves.size(), 1U) << policy;
    EXPECT_LE(run.moves.size(), 4U) << policy;
    for (const PoolFrame& f : run.frames)
      EXPECT_TRUE(f.done || f.began < 150 * kMillisecond) << policy;
  }
}

TEST(RackRun, SeveralServersAreNotSaturated) {
  const Frame frame(pool_cell(32, 16, 'U'));
  PoolRunOptions saturated = pool_options("scoreboard", 5);
  saturated.at_once = 2;
  EXPECT_THROW(run_on_rack({&frame}, servers(2, 1), saturated), std::invalid_argument);
}

TEST(RackRun, AServerThatIsLostIsNotSaturated) {
  const Frame frame(pool_cell(32, 16, 'U'));
  PoolRunOptions saturated = pool_options("scoreboard", 5);
  saturated.at_once = 2;
  RackModel rack = servers(1, 1);
  rack.faults = {{kMillisecond, 0, false, 0}};
  EXPECT_THROW(run_on_rack({&frame}, rack, saturated), std::invalid_argument);
}

TEST(RackRun, AServerWithAReserveIsNotSaturated) {
  const Frame frame(pool_cell(32, 16, 'U'));
  PoolRunOptions saturated = pool_options("scoreboard", 5);
  saturated.at_once = 2;
  PoolModel model = a100s(2);
  model.devices[1].reserve = true;
  EXPECT_THROW(run_on_pool({&frame}, model, saturated), std::invalid_argument);
}

TEST(RackRun, AReserveThatNobodyAsksForChangesNothing) {
  const Frame frame(pool_cell(64, 32, 'U'));
  for (const std::string_view policy : pool_policy_names()) {
    PoolModel model = a100s(3, 0.05);
    model.devices[2].reserve = true;
    const PoolRun run = run_on_pool({&frame, &frame}, model, pool_options(policy, 40));
    const PoolRun without = run_on_pool({&frame, &frame}, a100s(2, 0.05), pool_options(policy, 40));
    EXPECT_TRUE(all(run) == all(without)) << policy;
    EXPECT_TRUE(run.joins.empty()) << policy;
    EXPECT_EQ(run.busy[2], 0.0) << policy;
  }
}

// Eight units are too many for two devices, and for three: the third joins, then units move.
TEST(RackRun, TheReserveJoinsFirstThenUnitsMove) {
  const Frame frame(pool_cell(64, 32, 'U'));
  const std::vector<const Frame*> cells(8, &frame);
  for (const std::string_view policy : some_policies()) {
    RackModel rack = servers(2, 2, kWide, 0.05);
    rack.servers[1] = a100s(3, 0.05);
    rack.servers[1].devices[1].reserve = true;
    rack.servers[1].devices[0].reserved_sms = rack.servers[1].devices[2].reserved_sms = 30;
    rack.homes.assign(cells.size(), 1);
    PoolRunOptions options = pool_options(policy, 300);
    options.keep = true;
    const PoolRun run = run_on_rack(cells, rack, options);
    EXPECT_EQ(run.joins.size(), 1U) << policy;
    EXPECT_EQ(run.joins[0].server, 1) << policy;
    EXPECT_EQ(run.joins[0].device, 3) << policy;  // over all servers
    EXPECT_GE(run.moves.size(), 1U) << policy;
    EXPECT_GE(run.moves[0].decided, run.joins[0].at + rack.moving.hold) << policy;
    Tick first = kNever;
    for (const Execution& each : run.executions)
      if (each.device == 3) first = std::min(first, each.start);
    EXPECT_GE(first, run.joins[0].at) << policy;
    EXPECT_LT(first, run.joins[0].at + 5 * kMillisecond) << policy;
    EXPECT_EQ(run.frames.size(), 8 * 300U) << policy;
    for (const PoolFrame& f : run.frames) {
      EXPECT_TRUE(f.done == (f.why == Reason::None && f.lost == Cause::None)) << policy;
      EXPECT_TRUE(f.done || f.began < 200 * kMillisecond) << policy;
    }
  }
}

// With nowhere to move to, a lone server's reserve is all that there is, and enough.
TEST(RackRun, ALoneServersReserveEndsItsOverload) {
  const Frame frame(pool_cell(64, 32, 'U'));
  const std::vector<const Frame*> cells(8, &frame);
  for (const std::string_view policy : some_policies()) {
    PoolModel model = a100s(6, 0.05);
    for (std::size_t d = 2; d < 6; ++d) model.devices[d].reserve = true;
    const PoolRun run = run_on_pool(cells, model, pool_options(policy, 300));
    EXPECT_GE(run.joins.size(), 1U) << policy;
    EXPECT_LE(run.joins.size(), 3U) << policy;
    for (std::size_t i = 0; i < run.joins.size(); ++i) {
      EXPECT_EQ(run.joins[i].device, 2 + i) << policy;
      EXPECT_TRUE(i == 0 || run.joins[i].at >= run.joins[i - 1].at + RackOptions{}.hold) << policy;
    }
    for (const PoolFrame& f : run.frames)
      EXPECT_TRUE(f.done || f.began < 150 * kMillisecond) << policy;
    EXPECT_GT(run.busy[2], 0.0) << policy;
    EXPECT_EQ(run.busy[5], 0.0) << policy;
  }
}

// Device 1 is lost while it is in reserve, device 2 is lost and back, device 3 hangs.
TEST(RackRun, WhatAFaultHasTakenFromTheReserveDoesNotJoin) {
  const Frame frame(pool_cell(64, 32, 'U'));
  PoolModel model = a100s(4, 0.05);
  for (std::size_t d = 1; d < 4; ++d) model.devices[d].reserve = true;
  model.faults = {{0, 1, Fault::Kind::Lost, 0},
                  {0, 2, Fault::Kind::Lost, 0},
                  {kMillisecond, 2, Fault::Kind::Back, 0},
                  {0, 3, Fault::Kind::Hung, 0}};
  const PoolRun run =
      run_on_pool(std::vector<const Frame*>(12, &frame), model, pool_options("scoreboard", 100));
  EXPECT_EQ(run.joins.size(), 1U);
  EXPECT_EQ(run.joins[0].device, 2);
  EXPECT_EQ(run.busy[1] + run.busy[3], 0.0);
  EXPECT_GT(run.busy[2], 0.0);
}

// The host that starts again has its reserve as it was at first; NACKs from before still count.
TEST(RackRun, AReserveThatHadJoinedIsOneAgainAfterALoss) {
  const Frame frame(pool_cell(64, 32, 'U'));
  RackModel rack = servers(1, 2, kWide, 0.05);
  rack.servers[0].devices[1].reserve = true;
  rack.faults = {{100 * kMillisecond, 0, false, kMillisecond}, {110 * kMillisecond, 0, true, 0}};
  const PoolRun run =
      run_on_rack(std::vector<const Frame*>(6, &frame), rack, pool_options("scoreboard", 300));
  EXPECT_EQ(run.joins.size(), 2U);
  EXPECT_LT(run.joins[0].at, 100 * kMillisecond);
  EXPECT_GE(run.joins[1].at, 110 * kMillisecond);
  for (const Join& join : run.joins) EXPECT_EQ(join.device, 1);
}

// Whatever dies and returns, hosts and devices: every frame ends once, and where the moves say that
// its unit was when it started; the same seed gives the same again.
TEST(RackRun, EveryFrameEndsOnceOnTheOneServerOfItsUnit) {
  const Frame frame(pool_cell(32, 16, 'U'));
  constexpr std::uint64_t kFrames = 60;
  std::mt19937 random(3);
  for (const std::string_view policy : pool_policy_names())
    for (int trial = 0; trial < 6; ++trial) {
      const auto below = [&](std::uint32_t most) { return static_cast<Tick>(random() % most); };
      RackModel rack =
          servers(2 + random() % 2, 2, {2e9 + static_cast<double>(below(20)) * 1e9, 0});
      std::vector<const Frame*> cells(1 + random() % 6, &frame);
      rack.homes.assign(cells.size(), 0);
      rack.moving = {.nacks = 1 + static_cast<std::uint32_t>(below(3)),
                     .window = 20,
                     .hold = below(20'000) * kMicrosecond,
                     .move = below(3000) * kMicrosecond};
      for (std::uint16_t s = 0; s < rack.servers.size(); ++s) {
        rack.servers[s].devices[1].reserve = random() % 4 != 0;
        rack.servers[s].faults = {{below(60'000) * kMicrosecond, 0, Fault::Kind::Lost, 0},
                                  {below(60'000) * kMicrosecond, 0, Fault::Kind::Back, 0}};
        rack.faults.push_back({below(60'000) * kMicrosecond, s, false, below(2000) * kMicrosecond});
        rack.faults.push_back({below(60'000) * kMicrosecond, s, true, 0});
      }
      PoolRunOptions options = pool_options(policy, kFrames);
      options.apart = below(200) * kMicrosecond;
      const PoolRun run = run_on_rack(cells, rack, options);
      std::set<std::pair<std::uint16_t, Tick>> ended;
      for (const PoolFrame& f : run.frames) {
        EXPECT_TRUE(ended.emplace(f.cell, f.began).second) << policy;
        std::uint16_t server = 0;
        bool between = false;
        for (const Move& move : run.moves)
          if (move.cell == f.cell && move.decided <= f.began) {
            server = move.to;
            between = f.began < move.served;
          }
        EXPECT_TRUE(f.server == Rack::kNone || (f.server == server && !between)) << policy;
      }
      EXPECT_EQ(run.frames.size(), cells.size() * kFrames) << policy;
      EXPECT_TRUE(all(run_on_rack(cells, rack, options)) == all(run)) << policy;
    }
}
