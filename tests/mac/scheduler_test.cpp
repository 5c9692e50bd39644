#include "mac/scheduler.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "base/random.hpp"
#include "frame/format.hpp"
#include "frame/work.hpp"
#include "support/test.hpp"

using namespace carillon;
using frame::Direction;
using frame::Grant;
using frame::GrantPolicy;
using frame::Verdict;
using mac::Scheduler;

namespace {

constexpr auto kUp = Direction::Uplink;
constexpr auto kDown = Direction::Downlink;

// 25 resource blocks in two slots: of 60 elements in the uplink of both, and in the downlink of 24
// in the first (its first symbol is a reference) and 36 in the second.
frame::FrameFormat format(GrantPolicy policy, std::uint32_t users = 3) {
  frame::FrameFormat f;
  f.antennas = 8;
  f.users = users;
  f.schedule = std::string(users == 3 ? "PPP" : "PPPPPPPP") + "UUUUUGDDDUUUUUGDDD";
  f.symbols_per_slot = static_cast<std::uint32_t>(f.schedule.size()) - 9;
  f.uplink.mcs_table = f.downlink.mcs_table = frame::McsTable::Qam64;
  f.uplink.mcs_index = f.downlink.mcs_index = {28};
  f.deadlines.downlink_lead_ms = 0.2;
  f.grants.kind = frame::GrantKind::Scheduler;
  f.grants.policy = policy;
  return f;
}

std::vector<Grant> grants(Scheduler& scheduler, std::uint32_t number) {
  return frame::read_grants(scheduler.schedule(number));
}

// Enough good blocks of one SNR for the smoothed one to be it.
void measure(Scheduler& scheduler, Direction direction, std::uint32_t user, double snr_db) {
  scheduler.heard(direction, user, Verdict::Good, snr_db);
}

// user, slot, first block, blocks, MCS
using Row = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
std::vector<Row> rows(const std::vector<Grant>& grants, Direction direction) {
  std::vector<Row> found;
  for (const Grant& g : grants)
    if (g.direction == direction)
      found.emplace_back(g.user, g.slot, g.first_block, g.blocks, g.mcs.value_or(99));
  return found;
}

}  // namespace

TEST(Scheduler, FindsTheSlotsOfEachDirection) {
  const frame::Frame frame(format(GrantPolicy::RoundRobin));
  const auto parts = mac::parts_of(frame);
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(parts[0].elements, 60U);
  EXPECT_EQ(parts[1].direction, kDown);
  EXPECT_EQ(parts[1].elements, 24U);
  EXPECT_EQ(parts[2].slot, 1U);
  EXPECT_EQ(parts[3].elements, 36U);
}

TEST(Scheduler, SchedulesNobodyWhoHasNothing) {
  const frame::Frame frame(format(GrantPolicy::ProportionalFair));
  Scheduler scheduler(frame);
  EXPECT_TRUE(scheduler.schedule(1).empty());
  scheduler.report(kUp, 1, 100, 1);
  for (const Grant& g : grants(scheduler, 2)) {
    EXPECT_EQ(g.user, 1U);
    EXPECT_EQ(g.direction, kUp);
  }
}

// Row 0 carries 14 bits in 60 elements. 20 bytes and what is lost by rounding are 168 bits: 12
// blocks. Users 0 and 2 want all. In the first slot a hand of 3 (40 bits) for each leaves 16: 6, 5
// and 5. The next begins after who was dealt the last one.
TEST(Scheduler, RoundRobinByHand) {
  const frame::Frame frame(format(GrantPolicy::RoundRobin));
  Scheduler scheduler(frame);
  scheduler.report(kUp, 0, 5000, 0);
  scheduler.report(kUp, 1, 20, 0);
  scheduler.report(kUp, 2, 5000, 0);
  const auto found = rows(grants(scheduler, 1), kUp);
  // After 9 blocks user 1 has 126 of 168 bits on their way, 15 bytes; 6 are left: 4 blocks.
  const std::vector<Row> expected{{0, 0, 0, 9, 0},  {1, 0, 9, 8, 0},  {2, 0, 17, 8, 0},
                                  {0, 1, 0, 10, 0}, {1, 1, 10, 4, 0}, {2, 1, 14, 11, 0}};
  EXPECT_EQ(found, expected);
}

// Rows of 26 and 12 dB: 28 and 20 (link adaptation's own test); both begin without an average, so
// that the first has the first slot and the second, who had none, the second.
TEST(Scheduler, ProportionalFairByHand) {
  const frame::Frame frame(format(GrantPolicy::ProportionalFair));
  Scheduler scheduler(frame);
  measure(scheduler, kUp, 0, 26);
  measure(scheduler, kUp, 2, 12);
  scheduler.report(kUp, 0, 50'000, 0);
  scheduler.report(kUp, 2, 50'000, 0);
  const std::vector<Row> expected{{0, 0, 0, 25, 28}, {2, 1, 0, 25, 20}};
  EXPECT_EQ(rows(grants(scheduler, 1), kUp), expected);
  // Averages now: 25 · 333.3 bits, a hundredth, less one more; and 25 · 199.3: who has less for
  // what he could have is who was served last.
  const auto next = rows(grants(scheduler, 2), kUp);
  EXPECT_EQ(next[0], (Row{0, 0, 0, 25, 28}));
}

TEST(Scheduler, WhatLaterFramesWereGrantedIsNotWanted) {
  const frame::Frame frame(format(GrantPolicy::ProportionalFair));
  Scheduler scheduler(frame);
  measure(scheduler, kUp, 0, 26);
  scheduler.report(kUp, 0, 300, 0);
  EXPECT_EQ(rows(grants(scheduler, 5), kUp).size(), 1U);
  scheduler.report(kUp, 0, 300, 4);
  EXPECT_TRUE(grants(scheduler, 6).empty()) << "frame 5 carries it";
  scheduler.report(kUp, 0, 300, 5);
  EXPECT_EQ(rows(grants(scheduler, 7), kUp).size(), 1U) << "it had not: the frame was too late";
  scheduler.report(kUp, 0, 0, 7);
  EXPECT_TRUE(grants(scheduler, 8).empty());
}

TEST(Scheduler, AFrameThatIsWithdrawnWasNotGranted) {
  const frame::Frame frame(format(GrantPolicy::RoundRobin));
  Scheduler scheduler(frame);
  scheduler.report(kDown, 0, 100, 0);
  EXPECT_FALSE(scheduler.schedule(1).empty());
  EXPECT_GT(scheduler.counters(kDown, 0).resource_blocks, 0U);
  scheduler.withdraw();
  EXPECT_EQ(scheduler.counters(kDown, 0).blocks, 0U);
  EXPECT_EQ(scheduler.counters(kDown, 0).resource_blocks, 0U);
  EXPECT_FALSE(scheduler.schedule(2).empty()) << "it still waits";
}

TEST(Scheduler, CountsBlocksByWhatBecameOfThem) {
  const frame::Frame frame(format(GrantPolicy::RoundRobin));
  Scheduler scheduler(frame);
  scheduler.heard(kDown, 1, Verdict::Good, 10);
  scheduler.heard(kDown, 1, Verdict::Failed, std::nullopt);
  scheduler.heard(kDown, 1, Verdict::Late, std::nullopt);
  const auto& counters = scheduler.counters(kDown, 1);
  EXPECT_EQ(counters.good, 1U);
  EXPECT_EQ(counters.failed, 1U);
  EXPECT_EQ(counters.late, 1U);
  EXPECT_NEAR(scheduler.link(kDown, 1).offset_db(), 0.5 / 9 - 0.5, 1e-12) << "late says nothing";
}

TEST(Scheduler, WithoutATableItNamesModulationAndRate) {
  frame::FrameFormat f = format(GrantPolicy::RoundRobin);
  f.uplink.mcs_table = frame::McsTable::None;
  f.uplink.mcs_index = {0};
  f.uplink.modulation = frame::ModulationChoice::Qam64;
  f.uplink.rate = 0.9;
  const frame::Frame frame(f);
  Scheduler scheduler(frame);
  measure(scheduler, kUp, 0, 12);
  scheduler.report(kUp, 0, 50, 0);
  const auto found = grants(scheduler, 1);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].mcs.has_value());
  EXPECT_TRUE(found[0].modulation == frame::ModulationChoice::Qam64);
  EXPECT_NEAR(found[0].rate, 567.0 / 1024, 1e-4);
}

// Over random demands and channels: no resource block twice, nobody without data, all of it if it
// fits, the numbers add up, and each grant can be done.
TEST(Scheduler, NeverGrantsABlockTwiceOrAnythingThatCannotBeDone) {
  for (const GrantPolicy policy : {GrantPolicy::RoundRobin, GrantPolicy::ProportionalFair}) {
    const frame::Frame frame(format(policy, 8));
    frame::WorkCompiler compiler(frame);
    Scheduler scheduler(frame);
    Random random(11);
    std::map<std::pair<Direction, std::uint32_t>, std::uint64_t> blocks;
    for (std::uint32_t number = 1; number < 400; ++number) {
      std::set<std::pair<Direction, std::uint32_t>> wanting;
      for (const Direction d : {kUp, kDown})
        for (std::uint32_t u = 0; u < 8; ++u) {
          const std::uint64_t bytes = random.next() % 2 == 0 ? 0 : random.next() % 2000;
          scheduler.report(d, u, bytes, number - 1);
          if (bytes > 0) wanting.emplace(d, u);
          if (random.next() % 3 == 0)
            scheduler.heard(d, u, random.next() % 8 == 0 ? Verdict::Failed : Verdict::Good,
                            static_cast<double>(random.next() % 40) - 8);
        }
      const auto list = scheduler.schedule(number);
      std::set<std::tuple<Direction, std::uint32_t, std::uint32_t>> used;
      for (const Grant& g : frame::read_grants(list)) {
        EXPECT_TRUE(wanting.contains({g.direction, g.user}));
        for (std::uint32_t b = g.first_block; b < g.first_block + g.blocks; ++b) {
          EXPECT_LT(b, 25U);
          EXPECT_TRUE(used.emplace(g.direction, g.slot, b).second);
        }
        blocks[{g.direction, g.user}] += g.blocks;
      }
      std::vector<Problem> problems;
      (void)compiler.compile(list, problems);
      for (const Problem& problem : problems)
        EXPECT_TRUE(false) << problem.key << " " << problem.message;
    }
    for (const auto& [flow, count] : blocks)
      EXPECT_EQ(scheduler.counters(flow.first, flow.second).resource_blocks, count);
  }
}

TEST(Scheduler, ServesAllThatFits) {
  constexpr std::uint32_t kOverhead = 8;
  const frame::Frame frame(format(GrantPolicy::ProportionalFair));
  frame::WorkCompiler compiler(frame);
  Scheduler scheduler(frame, kOverhead);
  for (std::uint32_t u = 0; u < 3; ++u) measure(scheduler, kUp, u, 20);
  for (std::uint32_t bytes = 1; bytes < 600; bytes += 7) {
    for (std::uint32_t u = 0; u < 3; ++u) scheduler.report(kUp, u, bytes, bytes - 1);
    std::vector<Problem> problems;
    const frame::FrameProgram program = compiler.compile(scheduler.schedule(bytes), problems);
    EXPECT_TRUE(problems.empty());
    std::map<std::uint32_t, std::uint32_t> bits;
    for (const auto& block : program.transport_blocks(kUp))
      bits[block.user] += program.plan(block).A() - 8 * kOverhead;
    for (std::uint32_t u = 0; u < 3; ++u) EXPECT_GE(bits[u], 8 * bytes);
  }
}
