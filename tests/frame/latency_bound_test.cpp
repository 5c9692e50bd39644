#include "frame/latency_bound.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "frame/opcodes.hpp"
#include "frame/random_format.hpp"
#include "frame/virtual_run.hpp"

namespace carillon::frame {
namespace {

// Costs of all opcodes, drawn; chunks of a claim between 1 and 8.
struct Drawn {
  WorstCosts worst;
  std::vector<runtime::Cost> costs;

  Drawn(std::uint64_t seed, double scale) {
    std::mt19937_64 random(seed);
    const auto ns = [&](double most) {
      return std::floor(scale * most * static_cast<double>(random() % 1000) / 1000);
    };
    for (std::size_t op = 0; op < kOps; ++op) {
      worst.claim_ns.push_back(ns(2000));
      worst.chunk_ns.push_back(ns(1000));
      worst.grain.push_back(1 + static_cast<std::uint32_t>(random() % 8));
    }
    worst.commit_ns = ns(200);
    worst.packet_ns = ns(100);
    for (std::size_t op = 0; op < kOps; ++op)
      costs.push_back({static_cast<Tick>(worst.claim_ns[op]),
                       static_cast<Tick>(worst.chunk_ns[op]),
                       static_cast<Tick>(worst.commit_ns),
                       {{0, 0.2}, {1, 1.0}}});
  }
};

struct Seen {
  Tick uplink = 0, downlink = 0, slack = runtime::kNever;
};

Seen simulated(const Frame& frame, const char* policy, std::uint32_t cores, const Drawn& drawn,
               bool varying, std::uint64_t seed) {
  const auto made = runtime::make_policy(policy, {});
  VirtualRunOptions options{.cores = cores,
                            .frames = 12,
                            .costs = drawn.costs,
                            .grain = drawn.worst.grain,
                            .packet = static_cast<Tick>(drawn.worst.packet_ns),
                            .seed = seed};
  if (!varying)
    for (runtime::Cost& cost : options.costs) cost.spread.clear();
  const VirtualRun run = run_in_virtual_time(frame, *made, options);
  Seen seen;
  for (const Milestones& one : run.frames) {
    if (one.uplink_done != runtime::kNever) seen.uplink = std::max(seen.uplink, one.uplink_done);
    if (one.downlink_first != runtime::kNever)
      seen.downlink = std::max(seen.downlink, one.downlink_first);
    seen.slack = std::min(seen.slack, one.slack);
  }
  return seen;
}

// Any order of ready work keeps it, with all claims at their worst and with claims that vary.
TEST(LatencyBound, IsNeverExceededInVirtualTime) {
  int bounded = 0;
  double tightest = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const FrameFormat format = test::FormatMaker(seed)();
    const Frame frame(format);
    const auto cores = static_cast<std::uint32_t>(1 + seed % 4);
    const Drawn drawn(seed, seed % 3 == 0 ? 0.2 : 1.0);
    const LatencyBound bound = latency_bound(frame, cores, drawn.worst);
    if (bound.uplink == runtime::kNever || bound.slack < 0) continue;
    ++bounded;
    for (const bool varying : {false, true}) {
      const Seen seen = simulated(frame, "earliest-frame", cores, drawn, varying, seed);
      EXPECT_LE(seen.uplink, bound.uplink) << seed;
      EXPECT_LE(seen.downlink, bound.downlink) << seed;
      EXPECT_GE(seen.slack, bound.slack) << seed;
      if (bound.uplink > 0)
        tightest = std::max(tightest,
                            static_cast<double>(seen.uplink) / static_cast<double>(bound.uplink));
    }
  }
  EXPECT_GT(bounded, 290);
  EXPECT_GT(tightest, 0.95);
}

// One pilot and one uplink symbol of one antenna and user on one core, by hand: what must run
// after the last packet is the path itself.
TEST(LatencyBound, OfAPathByHand) {
  FrameFormat format;
  format.antennas = 1;
  format.users = 1;
  format.numerology.fft_size = 128;
  format.numerology.subcarriers = 64;
  format.pilots = {PilotKind::Time, 1, 1};
  format.schedule = "PU";
  format.symbols_per_slot = 2;
  const Frame frame(format);
  WorstCosts costs{std::vector<double>(kOps, 100), std::vector<double>(kOps, 10), 1,
                   std::vector<std::uint32_t>(kOps, 1000), 0};
  const LatencyBound bound = latency_bound(frame, 1, costs);
  // UplinkFft, EqualizeDemodulate of 4 tiles, Decode of one pack, each 100 + chunks·10 + 1; the
  // pilots' work has ended.
  const Tick decode = 100 + 10 + 1;
  EXPECT_EQ(bound.uplink, frame.symbol(1).end + (100 + 10 + 1) + (100 + 4 * 10 + 1) + decode);
}

TEST(LatencyBound, ThereIsNoneWhereTheCoresDoNotSuffice) {
  const Frame frame(test::FormatMaker(1)());
  const WorstCosts costs{std::vector<double>(kOps, 1e9), std::vector<double>(kOps, 1e9), 0, {}, 0};
  const LatencyBound bound = latency_bound(frame, 2, costs);
  EXPECT_GT(bound.utilization, 2);
  EXPECT_LT(bound.slack, 0);
}

}  // namespace
}  // namespace carillon::frame
