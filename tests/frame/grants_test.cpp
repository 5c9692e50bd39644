// Grants: what is wrong with them alone and beside others, and those that a format expands to.
#include <algorithm>
#include <string>
#include <vector>

#include "frame/format_checks.hpp"
#include "frame/grants.hpp"
#include "support/test.hpp"

using namespace carillon;
using namespace carillon::frame;
using test::expect_problem;
using test::expect_valid;
using test::valid;

namespace {

FrameFormat with_list(std::initializer_list<Grant> grants) {
  FrameFormat format = valid();
  format.grants = test::listed(grants);
  return format;
}

// Changes a number of a grant in the list, by its place there.
auto set(std::size_t grant, std::size_t number, std::uint32_t value) {
  return [=](FrameFormat& f) { f.grants.list[grant * kGrantNumbers + number] = value; };
}

}  // namespace

TEST(Validate, NamesTheGrantThatIsWrong) {
  constexpr auto kUp = Direction::Uplink;
  const FrameFormat base = with_list({{0, 0, kUp, 0, 6}, {1, 0, kUp, 0, 6}});
  expect_problem("grants.list.1.user", "is 2 but must be between 0 and 1", set(1, 0, 2), base);
  expect_problem("grants.list.1.slot", "is 1 but must be between 0 and 0", set(1, 1, 1), base);
  expect_problem("grants.list.1.direction", "between 0 and 1", set(1, 2, 2), base);
  expect_problem(
      "grants.list.0.first_block", "between 0 and 5",
      [](FrameFormat& f) { f.grants.list[3] = 6, f.grants.list[4] = 1; }, base);
  expect_problem("grants.list.0.blocks", "is 6 but must be between 1 and 5", set(0, 3, 1), base);
  expect_problem("grants.list.0.blocks", "is 0", set(0, 4, 0), base);
  expect_problem("grants.list.0.blocks", "is 4294967295", set(0, 4, 0xffff'ffff), base);
  expect_problem("grants.list.1.redundancy_version", "between 0 and 3", set(1, 5, 4), base);
  expect_problem("grants.list.1.harq_process", "between 0 and 15", set(1, 6, 16), base);
  expect_problem("grants.list.1.first_symbol", "is 14 but must be between 0 and 13", set(1, 7, 14),
                 base);
  expect_problem("grants.list.1.symbols", "is 15 but must be between 0 and 14", set(1, 8, 15),
                 base);
  expect_problem("grants.list.1.modulation", "is 5 but must be between 0 and 4", set(1, 9, 5),
                 base);
  expect_problem("grants.list.1.mcs", "mcs_table is none", set(1, 10, 1), base);
  expect_problem("grants.list.1.rate", "must be between 0.01 and 0.95", set(1, 11, 9729), base);
  expect_problem("grants.list.1.again", "is 2 but must be between 0 and 1", set(1, 12, 2), base);
  expect_problem("grants.list.1.again", "is for the uplink of cells of grants.kind port",
                 set(1, 12, 1), base);
  expect_problem("grants.list.1", "shares resource elements with grants.list[0]", set(1, 0, 0),
                 base);
  expect_problem(
      "grants.list", "thirteen", [](FrameFormat& f) { f.grants.list.pop_back(); }, base);
  expect_problem(
      "grants.list", "at most 64 grants",
      [](FrameFormat& f) { f.grants.list.resize(kGrantNumbers * 1'000'000); }, base);
  expect_problem(
      "grants.list", "must be empty with grants.kind full",
      [](FrameFormat& f) { f.grants.kind = GrantKind::Full; }, base);
  expect_problem(
      "grants.list", "must be empty with grants.kind round-robin",
      [](FrameFormat& f) { f.grants.kind = GrantKind::RoundRobin; }, base);
  expect_problem(
      "grants.list", "is empty but grants.kind is list",
      [](FrameFormat& f) { f.grants.list.clear(); }, base);
}

TEST(Validate, SaysWhereHarqProcessesCannotBe) {
  FrameFormat base = valid();
  expect_problem(
      "grants.harq_processes", "counts only with grants.kind port",
      [](FrameFormat& f) { f.grants.harq_processes = 8; }, base);
  base.grants.kind = GrantKind::Port;
  expect_valid([](FrameFormat& f) { f.grants.harq_processes = 16; }, base);
  expect_valid([](FrameFormat& f) { f.users = f.antennas = 1; }, base);
  expect_problem(
      "grants.harq_processes", "is 17 but must be between 0 and 16",
      [](FrameFormat& f) { f.grants.harq_processes = 17; }, base);
  expect_problem(
      "uplink.block", "must be slot",
      [](FrameFormat& f) {
        f.grants.harq_processes = 1;
        f.uplink.block = BlockSpan::Symbol;
      },
      base);
}

TEST(Validate, SaysWhatASchedulerDoesNotGrant) {
  FrameFormat base = valid();
  base.grants.kind = GrantKind::Scheduler;
  expect_valid([](FrameFormat& f) { f.grants.policy = frame::GrantPolicy::RoundRobin; }, base);
  expect_problem(
      "uplink.block", "must be slot with grants.kind scheduler",
      [](FrameFormat& f) { f.uplink.block = BlockSpan::Symbol; }, base);
  expect_problem(
      "uplink.lifting", "must be 0 with grants.kind scheduler",
      [](FrameFormat& f) { f.uplink.lifting = 64; }, base);
  expect_problem(
      "grants.target_bler", "is 0.6 but must be between",
      [](FrameFormat& f) { f.grants.target_bler = 0.6; }, base);
  expect_problem(
      "grants.harq_processes", "counts only with grants.kind port",
      [](FrameFormat& f) { f.grants.harq_processes = 8; }, base);
  expect_problem(
      "grants.frames", "must be 1 with grants.kind scheduler",
      [](FrameFormat& f) { f.grants.frames = 2; }, base);
}

TEST(Validate, WantsOneCodingInABlockThatSpansGrants) {
  constexpr auto kUp = Direction::Uplink;
  FrameFormat base = with_list({{0, 0, kUp, 0, 6, 1, 3}, {0, 1, kUp, 0, 6, 1, 3}});
  base.schedule =
      "PPUUUUU"
      "UUUUUUU";
  base.symbols_per_slot = 7;
  base.uplink.block = BlockSpan::Frame;
  expect_problem("grants.list.1", "another redundancy_version", set(1, 5, 2), base);
  expect_problem("grants.list.1", "harq_process", set(1, 6, 2), base);
  expect_problem("grants.list.1", "coding", set(1, 9, 1), base);
  expect_problem("grants.list.1", "blocks that span the frame", set(1, 1, 0), base);
  base.uplink.block = BlockSpan::Slot;
  expect_valid(set(1, 5, 2), base);
}

// What says it in other words needs neither the sentence nor the key to know which.
TEST(Validate, TellsByCodeWhichGrantsDoNotGoTogether) {
  constexpr auto kUp = Direction::Uplink;
  const auto code_of = [](FrameFormat format, auto change) {
    change(format);
    const auto problems = format.validate();
    EXPECT_EQ(problems.size(), 1U);
    EXPECT_TRUE(problems.at(0).numbers == std::vector<double>{1});
    return problems.at(0).code;
  };
  FrameFormat base = with_list({{1, 0, kUp, 0, 6}, {0, 0, kUp, 0, 3}, {0, 0, kUp, 3, 3}});
  EXPECT_TRUE(code_of(base, set(2, 3, 2)) == ProblemCode::SharesElements);
  base = with_list({{1, 0, kUp, 0, 6}, {0, 0, kUp, 0, 6}, {0, 1, kUp, 0, 6}});
  base.schedule =
      "PPUUUUU"
      "UUUUUUU";
  base.symbols_per_slot = 7;
  base.uplink.block = BlockSpan::Frame;
  EXPECT_TRUE(code_of(base, set(2, 1, 0)) == ProblemCode::SharesSlot);
  EXPECT_TRUE(code_of(base, set(2, 5, 2)) == ProblemCode::SharesBlock);
}

// A user may have several grants in a slot, in other blocks or other symbols.
TEST(Validate, LetsAUsersGrantsShareASlotButNoElement) {
  constexpr auto kUp = Direction::Uplink;
  expect_valid([](FrameFormat&) {}, with_list({{0, 0, kUp, 0, 3}, {0, 0, kUp, 3, 3}}));
  const FrameFormat in_turn =
      with_list({{0, 0, kUp, 0, 6, 0, 0, 0, 7}, {0, 0, kUp, 0, 6, 0, 0, 7, 0}});
  expect_valid([](FrameFormat&) {}, in_turn);
  expect_problem("grants.list.1", "shares resource elements", set(1, 7, 6), in_turn);
  expect_problem("grants.list.1", "shares resource elements", set(0, 8, 0), in_turn);
}

TEST(Validate, CountsSlotsOnThroughFramesThatDiffer) {
  constexpr auto kUp = Direction::Uplink;
  FrameFormat base = with_list({{0, 0, kUp, 0, 6}, {0, 2, kUp, 0, 6}});
  base.grants.frames = 3;
  expect_problem(
      "grants.list.1.slot", "is 2 but must be between 0 and 1",
      [](FrameFormat& f) { f.grants.frames = 2; }, base);
  expect_problem(
      "grants.frames", "between 1 and 4096", [](FrameFormat& f) { f.grants.frames = 0; }, base);
  expect_problem(
      "grants.frames", "must be 1 with grants.kind full",
      [](FrameFormat& f) { f.grants.frames = 2; }, valid());
}

// What is refused does not count beside those after it; what is wrong is reported once.
TEST(Validate, CountsNoGrantThatIsRefused) {
  constexpr auto kUp = Direction::Uplink;
  const FrameFormat base = with_list({{0, 0, kUp, 0, 2}, {0, 0, kUp, 1, 2}, {0, 0, kUp, 2, 2}});
  const auto problems = base.validate();
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].key, "grants.list.1");
  expect_problem("grants.list.0.blocks", "is 30", set(0, 4, 30),
                 with_list({{0, 0, kUp, 0, 2}, {0, 0, kUp, 2, 2}}));
  FrameFormat wide = valid();
  wide.numerology.fft_size = 512;
  wide.numerology.subcarriers = 300;
  wide.grants = {GrantKind::List, 2, {}};
  for (std::uint32_t n = 0; n < 17; ++n)
    test::append(wide.grants.list, {.user = 0, .slot = 0, .first_block = n, .blocks = 1});
  const auto last = wide.validate();
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].key, "grants.list.16");
}

// Each user needs a subcarrier of the first D for its reference.
TEST(Validate, WantsReferencesForAllThatShareTheDownlink) {
  FrameFormat f = valid();
  f.antennas = 16;
  f.users = 14;
  f.pilots = {PilotKind::Comb, 14, 25};
  f.combiner.group = 1;
  f.schedule = "PPUUUUUGGGGDDD";
  f.deadlines.downlink_lead_ms = 0.1;
  f.grants = {GrantKind::List, 1, {}};
  for (std::uint32_t user = 0; user < 12; ++user)
    test::append(f.grants.list,
                 {.user = user, .direction = Direction::Downlink, .first_block = 0, .blocks = 1});
  ASSERT_TRUE(f.validate().empty());
  test::append(f.grants.list,
               {.user = 12, .direction = Direction::Downlink, .first_block = 0, .blocks = 1});
  const auto problems = f.validate();
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].key, "users");
  EXPECT_NE(problems[0].message.find("not all have references"), std::string::npos);
}

// Where neighbouring grants share a group of subcarriers, their users share a combiner.
TEST(Validate, LetsNoMoreUsersShareACombinerThanThereAreAntennas) {
  constexpr auto kUp = Direction::Uplink, kDown = Direction::Downlink;
  FrameFormat base = with_list({{0, 0, kUp, 0, 2}, {1, 0, kUp, 2, 2}, {2, 0, kUp, 4, 2}});
  base.antennas = 2;
  base.users = 3;
  base.schedule = "PPPUUUUGGGGDDD";
  base.deadlines.downlink_lead_ms = 0.1;
  base.combiner.group = 12;
  expect_valid([](FrameFormat&) {}, base);
  expect_problem(
      "grants.list.2", "makes 3 users share a combiner, from subcarrier 24 on",
      [](FrameFormat& f) {
        f.grants = test::listed({{0, 0, kUp, 0, 3}, {1, 0, kUp, 2, 2}, {2, 0, kUp, 2, 4}});
      },
      base);
  expect_problem(
      "grants.list.2", "makes 3 users share a combiner",
      [](FrameFormat& f) {
        f.combiner.group = 16;
        f.grants = test::listed({{0, 0, kUp, 0, 2}, {1, 0, kUp, 1, 1}, {2, 0, kUp, 2, 4}});
      },
      base);
  // A precoder is of all slots of its frame.
  expect_problem(
      "grants.list.2", "makes 3 users share a combiner",
      [](FrameFormat& f) {
        f.symbols_per_slot = 13;
        f.grants = test::listed({{0, 0, kDown, 0, 2}, {1, 0, kDown, 0, 2}, {2, 1, kDown, 0, 2}});
      },
      base);
  expect_problem(
      "users", "is 3 but a linear detector", [](FrameFormat& f) { f.grants = {}; }, base);
  expect_problem(
      "users", "precoder_age", [](FrameFormat& f) { f.deadlines.precoder_age = 1; }, base);
}

// What a grant has of its own is refused as its own; the cell's is the cell's.
TEST(Validate, NamesTheGrantWhoseOwnCodingCannotBe) {
  constexpr auto kUp = Direction::Uplink;
  FrameFormat base = with_list({{0, 0, kUp, 0, 6}, {1, 0, kUp, 0, 6}});
  base.uplink.mcs_table = McsTable::Qam64;
  expect_problem("grants.list.1.mcs", "is 29 but must be between 0 and 28", set(1, 10, 30), base);
  expect_valid(set(1, 10, 29), base);
  expect_problem("grants.list.1.modulation", "beside the direction's mcs_table", set(1, 9, 1),
                 base);
  expect_problem("grants.list.1.rate", "beside the direction's mcs_table", set(1, 11, 5120), base);
}

TEST(Validate, SaysWhereAGrantIsTooSmallForItsCode) {
  expect_problem(
      "grants.list.0.blocks", "carry", [](FrameFormat& f) { f.uplink.lifting = 48; },
      [] {
        FrameFormat f = with_list({{0, 0, Direction::Uplink, 5, 1}});
        f.uplink.base_graph = 1;
        return f;
      }());
}

TEST(Grants, RoundRobinTilesTheBandInEverySlot) {
  FrameFormat f = valid();
  f.users = 5;
  f.antennas = 5;
  f.symbols_per_slot = 3;
  f.grants.kind = GrantKind::RoundRobin;
  const auto grants = expand_grants(f);
  for (std::uint32_t slot = 0; slot < 5; ++slot) {
    std::vector<int> covered(6);
    for (const Grant& g : grants)
      if (g.slot == slot && g.direction == Direction::Uplink)
        for (std::uint32_t b = 0; b < g.blocks; ++b) ++covered.at(g.first_block + b);
    EXPECT_EQ(covered, std::vector<int>(6, 1));
  }
  // In slot n user u has share (u + n) mod K: the shares move on from slot to slot.
  for (const Grant& a : grants)
    for (const Grant& b : grants)
      if (a.direction == b.direction && b.slot == a.slot + 1 && b.user == (a.user + 4) % 5) {
        EXPECT_EQ(a.first_block, b.first_block);
        EXPECT_EQ(a.blocks, b.blocks);
      }
}
