#include "rack/pool_run.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "rack/pool_case.hpp"
#include "runtime/policies/pool/pool_policies.hpp"
#include "support/test.hpp"
#include "support/watched.hpp"

using namespace carillon;
using namespace carillon::frame;
using namespace carillon::rack;
using namespace carillon::runtime;

TEST(PoolRun, EveryPolicyCompletesWhatThePoolCanCarry) {
  for (const char data : {'U', 'D'}) {
    const Frame frame(pool_cell(64, 32, data));
    for (const std::string_view policy : pool_policy_names()) {
      const PoolRun run = run_on_pool({&frame}, a100s(3, 0.05), pool_options(policy, 50));
      EXPECT_EQ(run.frames.size(), 50U);
      EXPECT_EQ(done(run), 50U) << policy << ' ' << data;
    }
  }
}

// The last symbol's samples are there when the frame ends; then its transfer, its kernels and the
// gaps between them, and what the host adds, and nothing else when the device is idle.
TEST(PoolRun, AnIdleDeviceTakesTheTimeOfTheLastSymbol) {
  const Frame frame(pool_cell(64, 16, 'U'));
  const PoolModel model = a100s(1);
  const PoolGraph graph = build_pool_graph(frame, {}, *find_pool_profile("megastation"));
  Fabric fabric = model.fabric;
  const HostCosts& host = model.host;
  Tick expected = frame.duration() + host.launch;
  Tick kernels = 0;
  for (std::uint16_t i = 0; i < graph.graph.size(); ++i)
    if (graph.graph[i].step == 13) {
      const Work& work = graph.work[i];
      if (work.footprint.ctas != 0)
        kernels += alone(*model.devices[0].type, work) + host.gap;
      else if (work.output != 0)
        expected += fabric.transfer(0, 2, work.moved, 0);
      else
        expected += fabric.transfer(2, 0, work.moved, 0) + host.notify;
    }
  const PoolRun run = run_on_pool({&frame}, model, pool_options("frame-level", 5));
  // A kernel that waits at the head of its queue starts without a gap.
  EXPECT_NEAR(static_cast<double>(run.frames.back().latency),
              static_cast<double>(expected + kernels - host.gap),
              static_cast<double>(2 * host.gap));
}

TEST(PoolRun, TheSameSeedGivesTheSameFrames) {
  const Frame frame(pool_cell(128, 32, 'U'));
  for (const std::string_view policy : pool_policy_names()) {
    const auto latencies = [&](std::uint64_t seed) {
      PoolModel model = a100s(2, 0.2);
      model.seed = seed;
      std::vector<Tick> found;
      for (const PoolFrame& f :
           run_on_pool({&frame, &frame}, model, pool_options(policy, 30)).frames)
        found.push_back(f.latency);
      return found;
    };
    EXPECT_TRUE(latencies(7) == latencies(7)) << policy;
    EXPECT_FALSE(latencies(7) == latencies(8)) << policy;
  }
}

TEST(PoolRun, FramesSurviveADeviceThatDies) {
  const Frame frame(pool_cell(64, 32, 'U'));
  for (const std::string_view policy : pool_policy_names()) {
    PoolModel model = a100s(3, 0.05);
    constexpr Tick kDies = 20 * kMillisecond + 600 * kMicrosecond;  // amid frames
    for (std::uint16_t device = 0; device < 2; ++device) {
      model.faults.push_back({kDies, device, Fault::Kind::Lost, 100 * kMicrosecond});
      model.faults.push_back({2 * kDies, device, Fault::Kind::Back, 0});
    }
    const PoolRun run = run_on_pool({&frame, &frame}, model, pool_options(policy, 60));
    EXPECT_EQ(done(run), 120U) << policy;
    EXPECT_GT(run.again, 0U) << policy;
  }
}

TEST(PoolRun, WithoutADeviceFramesAreRefusedUntilOneIsBack) {
  const Frame frame(pool_cell(32, 16, 'U'));
  for (const std::string_view policy : pool_policy_names()) {
    PoolModel model = a100s(1);
    model.faults = {{20 * kMillisecond, 0, Fault::Kind::Lost, 0},
                    {40 * kMillisecond, 0, Fault::Kind::Back, 0}};
    const PoolRun run = run_on_pool({&frame}, model, pool_options(policy, 60));
    EXPECT_EQ(run.frames.size(), 60U) << policy;
    EXPECT_GE(done(run), 38U) << policy;
    EXPECT_LE(done(run), 41U) << policy;
    for (const PoolFrame& f : run.frames) EXPECT_TRUE(f.done || f.began < 41 * kMillisecond);
  }
}

TEST(PoolRun, SaturatedFramesFollowEachOther) {
  const Frame frame(pool_cell(64, 32, 'U'));
  PoolRunOptions two = pool_options("adaptive", 200);
  two.at_once = 4;
  const PoolRun one = run_on_pool({&frame}, a100s(1), two),
                both = run_on_pool({&frame}, a100s(2), two);
  EXPECT_EQ(done(one), 200U);
  EXPECT_EQ(done(both), 200U);
  EXPECT_GT(one.end, both.end + both.end / 2);
}

// A frame on a slow device is overtaken, and the place that it has in the ring kept: the frame that
// would need it waits, and none is refused or counted from another's beginning.
TEST(PoolRun, SaturatedFramesWaitForTheirPlace) {
  const Frame frame(pool_cell(128, 32, 'U'));
  for (const std::string_view policy : pool_policy_names()) {
    PoolModel model = a100s(2);
    model.devices[1].reserved_sms = 100;
    PoolRunOptions options = pool_options(policy, 200);
    options.graph.deadline = kSecond;
    for (const std::uint32_t ring : {4U, 32U}) {
      options.ring = ring;
      options.at_once = 4;
      const PoolRun run = run_on_pool({&frame}, model, options);
      EXPECT_EQ(done(run), 200U) << policy;
      for (const PoolFrame& f : run.frames) EXPECT_GT(f.latency, 500 * kMicrosecond) << policy;
    }
  }
}

namespace {

// Executions of an opcode, on each device.
std::vector<std::size_t> on_devices(const PoolRun& run, const Frame& frame, Op op,
                                    std::size_t devices) {
  const PoolGraph graph = build_pool_graph(frame, {}, *find_pool_profile("megastation"));
  std::vector<std::size_t> count(devices);
  for (const Execution& each : run.executions)
    if (graph.graph[each.what.instruction].opcode == static_cast<std::uint16_t>(op))
      ++count[each.device];
  return count;
}

}  // namespace

TEST(PoolRun, SymbolsAreDealtByWhatDevicesCan) {
  const Frame frame(pool_cell(128, 32, 'U'));
  PoolRunOptions options = pool_options("symbol-level", 1);
  options.keep = true;
  PoolModel model = a100s(2);
  auto dealt = on_devices(run_on_pool({&frame}, model, options), frame, Op::Decode, 2);
  EXPECT_EQ(dealt[0], 6U);
  EXPECT_EQ(dealt[1], 6U);
  model.devices[1].reserved_sms = 90;
  dealt = on_devices(run_on_pool({&frame}, model, options), frame, Op::Decode, 2);
  EXPECT_GE(dealt[0], 2 * dealt[1]);
  EXPECT_GT(dealt[1], 0U);
}

// A combiner that takes longer to copy than others' work is to wait for keeps tasks where it is.
TEST(PoolRun, TasksGoWhereTheyEndFirst) {
  const Frame frame(pool_cell(128, 32, 'D'));
  const auto copies = [&](double bytes_per_s) {
    PoolModel model = a100s(2);
    const std::vector<FabricNode> nodes{{"host", 0, 0, 0},
                                        {"chassis", 0, 64e9, 500},
                                        {"gpu", 1, bytes_per_s, 500},
                                        {"gpu", 1, bytes_per_s, 500}};
    model.fabric = *Fabric::build(nodes).fabric;
    return run_on_pool({&frame}, model, pool_options("task-level", 20)).copies;
  };
  EXPECT_GT(copies(64e9), 3 * copies(2e9));
}

TEST(PoolRun, ZeroForcingIsSharedMoreWhereDevicesAreIdle) {
  const Frame frame(pool_cell(128, 64, 'D'));
  const auto apart = [&](std::size_t cells) {
    PoolRunOptions options = pool_options("adaptive", 20);
    options.graph.zero_force_parts = 4;
    options.keep = true;
    const PoolRun run =
        run_on_pool(std::vector<const Frame*>(cells, &frame), a100s(4, 0.05), options);
    EXPECT_EQ(done(run), 20 * cells);
    const PoolGraph graph =
        build_pool_graph(frame, options.graph, *find_pool_profile("megastation"));
    std::map<std::pair<std::uint16_t, std::uint64_t>, DeviceMask> where;
    for (const Execution& each : run.executions)
      if (graph.graph[each.what.instruction].opcode == static_cast<std::uint16_t>(Op::ZeroForce))
        where[{each.what.source, each.what.frame}].set(each.device);
    return std::count_if(where.begin(), where.end(),
                         [](const auto& frame) { return frame.second.count() > 1; });
  };
  EXPECT_EQ(apart(1), 20);
  EXPECT_LT(apart(4), 4 * 20 / 2);
}

// Which type is worth waiting for is not a question of who is idle, nor of who is named first.
TEST(PoolRun, FramesBeginOnTheTypeThatIsSooner) {
  const Frame frame(pool_cell(128, 64, 'U'));
  for (const std::uint32_t slow : {0U, 1U}) {
    PoolModel model = a100s(2);
    model.devices[slow].reserved_sms = 80;
    PoolRunOptions options = pool_options("adaptive", 20);
    options.keep = true;
    const auto decoded = on_devices(run_on_pool({&frame}, model, options), frame, Op::Decode, 2);
    EXPECT_LT(decoded[slow], decoded[1 - slow] / 4);
  }
}

// Somebody else's kernels of a nanosecond each, and a link so slow that no frame ends for long.
TEST(PoolRun, ARunInWhichNoFrameEndsIsStopped) {
  const Frame frame(pool_cell(32, 16, 'U'));
  PoolModel model = a100s(1);
  model.fabric =
      *Fabric::build(std::vector<FabricNode>{{"host", 0, 0, 0}, {"gpu", 0, 1e6, 0}}).fabric;
  model.devices[0].node = 1;
  model.host.gap = 0;
  model.background = {{0, 1, {.footprint = {.ctas = 1, .warps = 1}}}};
  PoolRunOptions options = pool_options("scoreboard", 2);
  options.graph.deadline = 20 * kMillisecond;
  int asked = 0;
  options.progress = [&](std::uint64_t) { return ++asked < 3; };
  const PoolRun run = run_on_pool({&frame}, model, options);
  EXPECT_EQ(run.frames.size(), 0U);
  EXPECT_EQ(asked, 3);
  EXPECT_LT(run.end, 3 * kMillisecond);
}

TEST(PoolRun, WhatCannotBeIsAnError) {
  const Frame frame(pool_cell(32, 16, 'U'));
  EXPECT_THROW(run_on_pool({&frame}, a100s(1), pool_options("round-robin", 1)),
               std::invalid_argument);
}

// Four cells' payloads are all there when their frames begin, their pilots are not: no stream may
// wait for one that waits for it.
TEST(PoolRun, DownlinkFramesOfManyCellsDoNotBlockEachOther) {
  const Frame frame(pool_cell(16, 8, 'D'));
  for (const std::string_view policy : pool_policy_names()) {
    const PoolRun run =
        run_on_pool({&frame, &frame, &frame, &frame}, a100s(1), pool_options(policy, 20));
    EXPECT_EQ(done(run), 80U) << policy;
  }
}

// A downlink's first symbol, its users' pilots, receives nothing that could wake its policy, and
// is the first on air. Two frames share the device: what waits on the host comes behind the
// other's.
TEST(PoolRun, ASymbolThatReceivesNothingIsAheadOfThoseAfterIt) {
  const Frame frame(pool_cell(128, 32, 'D'));
  const PoolGraph graph = build_pool_graph(frame, {}, *find_pool_profile("megastation"));
  PoolRunOptions options = pool_options("adaptive", 10);
  options.keep = true;
  const PoolRun run = run_on_pool({&frame, &frame}, a100s(1, 0.05), options);
  const std::uint16_t first = frame.symbols_of(SymbolKind::Downlink).front();
  std::map<std::pair<std::uint64_t, std::uint16_t>, Tick> of_first, of_others;  // [frame, cell]
  for (const Execution& e : run.executions) {
    const Instruction& instruction = graph.graph[e.what.instruction];
    if (instruction.opcode != static_cast<std::uint16_t>(Op::Precode)) continue;
    auto& starts = instruction.step == first ? of_first : of_others;
    const auto [place, is_new] = starts.try_emplace({e.what.frame, e.what.source}, e.start);
    place->second = std::min(place->second, e.start);
  }
  EXPECT_EQ(of_first.size(), 20U);
  for (const auto& [which, start] : of_first) EXPECT_LT(start, of_others[which]);
}

// Three of five devices die when a frame of each cell is all but done. Frames that began since
// then are on the other two already; those that have to be done again are late, and go before
// them.
TEST(PoolRun, WhatIsIssuedAgainGoesBeforeNewerFrames) {
  const Frame frame(pool_cell(128, 32, 'D'));
  constexpr Tick kLost = 20 * kMillisecond;
  for (const std::string_view policy : {"frame-level", "scoreboard", "adaptive"}) {
    PoolModel model = a100s(5);
    for (std::uint16_t device = 0; device < 3; ++device)
      model.faults.push_back({kLost, device, Fault::Kind::Lost, 100 * kMicrosecond});
    const PoolRun run = run_on_pool({&frame, &frame, &frame}, model, pool_options(policy, 30));
    EXPECT_EQ(done(run), 90U) << policy;
    Tick older = 0, newer = 0;
    for (const PoolFrame& f : run.frames) {
      if (f.began == kLost - kMillisecond) older = std::max(older, f.latency);
      if (f.began == kLost) newer = std::max(newer, f.latency);
    }
    EXPECT_GT(older, kMillisecond + 200 * kMicrosecond) << policy;  // it was lost
    EXPECT_LT(older, newer + kMillisecond) << policy;
  }
}

// Five devices, two, five again (MegaStation §5.6; there every 300 ms, as in the study): the
// throughput is back at its level within a frame's time of the last join.
TEST(PoolRun, ThroughputReturnsWithTheDevices) {
  const Frame frame(pool_cell(64, 32, 'U'));
  constexpr Tick kEach = 100 * kMillisecond, kWindow = 20 * kMillisecond;
  unsigned which = 0;
  for (const std::string_view policy : pool_policy_names()) {
    if (test::left_out(which++)) continue;
    PoolModel model = a100s(5);
    for (std::uint16_t device = 2; device < 5; ++device) {
      model.faults.push_back({kEach, device, Fault::Kind::Lost, 100 * kMicrosecond});
      model.faults.push_back({2 * kEach, device, Fault::Kind::Back, 0});
    }
    PoolRunOptions saturated = pool_options(policy, 200);
    saturated.at_once = 4;
    const Tick of_200 = run_on_pool({&frame, &frame}, a100s(5), saturated).end;
    saturated.frames = static_cast<std::uint64_t>(200 * 2 * (kEach + kWindow) / of_200);
    std::vector<Tick> ends;
    for (const PoolFrame& f : run_on_pool({&frame, &frame}, model, saturated).frames)
      if (f.done) ends.push_back(f.began + f.latency);
    const auto rate = [&](Tick from, Tick window) {
      const auto within = [&](Tick end) { return end >= from && end < from + window; };
      return static_cast<double>(std::count_if(ends.begin(), ends.end(), within)) /
             static_cast<double>(window);
    };
    const double before = rate(kEach - 5 * kWindow, 5 * kWindow);
    const double during = rate(2 * kEach - 5 * kWindow, 5 * kWindow);
    EXPECT_GT(ends.back(), 2 * kEach + kWindow + frame.duration()) << policy;
    EXPECT_LT(during, 0.75 * before) << policy;
    EXPECT_GE(rate(2 * kEach + frame.duration(), kWindow), 0.95 * before) << policy;
  }
}
