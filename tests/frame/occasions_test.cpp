// Several pilot occasions in a frame: which symbols use which, and that each has combiners of its
// own.
#include "frame/occasions.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <set>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "frame/cell.hpp"
#include "frame/format_checks.hpp"
#include "frame/grants.hpp"
#include "frame/graph.hpp"
#include "frame/opcodes.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

using namespace carillon;
using namespace carillon::frame;
using test::Cell;
using test::changed;
using test::expect_problem;
using test::expect_valid;

namespace {

FrameFormat with(const std::string& schedule, std::uint32_t occasions = 2, double lead_ms = 0.01) {
  return changed([&](FrameFormat& f) {
    f.schedule = schedule;
    f.pilots.occasions = occasions;
    f.symbols_per_slot = 14;
    f.deadlines.downlink_lead_ms = lead_ms;
  });
}

// A digit for each P, U and D.
std::string occasions_of(const FrameFormat& format) {
  const Frame frame(format);
  std::string text;
  for (const Symbol& s : frame.symbols())
    text += s.kind == SymbolKind::Guard ? '-' : static_cast<char>('0' + s.occasion);
  return text;
}

std::string references_of(const FrameFormat& format) {
  const Frame frame(format);
  std::string text;
  for (const Symbol& s : frame.symbols()) text += s.references ? 'R' : '-';
  return text;
}

// The channel over the gap between two slots is another, and within a slot nearly the same.
emulator::RadioPlan moving() {
  emulator::RadioPlan plan = test::clear_air(40);
  plan.doppler_hz = 100;
  return plan;
}

const std::string kGap(42, 'G');

FrameFormat two_slots(bool second) {
  FrameFormat format = with("PPUUUU" + kGap + (second ? "PPUUUU" : "GGUUUU"), second ? 2 : 1);
  format.uplink.block = BlockSpan::Symbol;
  format.uplink.modulation = ModulationChoice::Qpsk;
  return format;
}

}  // namespace

TEST(Occasions, AreEqualRunsOfTheSchedulesPilots) {
  EXPECT_EQ(occasions_of(with("PPUUPPUU")), "00001111");
  EXPECT_EQ(occasions_of(with("PPUUPPUU", 1)), "00000000");
  EXPECT_EQ(occasions_of(with("PPPPPPU", 3)), "0011222");
  // Pilots anywhere: a U has the last occasion that ended before it, or the first of all.
  EXPECT_EQ(occasions_of(with("UPPUPUPU")), "00001011");
}

// Symbols of 15 kHz are 71 µs: what leaves 100 µs early leaves before the symbol before it ends.
TEST(Occasions, ADownlinkSymbolHasTheLastThatEndedBeforeItLeaves) {
  FrameFormat format = with("PPGGDDPPDDDDUU", 2, 0.1);
  EXPECT_EQ(occasions_of(format), "00--0011001111");
  EXPECT_EQ(references_of(format), "----R-----R---");
  format.deadlines.downlink_unit = BlockSpan::Frame;  // all leave before the first
  EXPECT_EQ(occasions_of(format), "00--0011000011");
  EXPECT_EQ(references_of(format), "----R---------");
  // An older frame has had all its pilots.
  format.deadlines.downlink_unit = BlockSpan::Symbol;
  format.deadlines.precoder_age = 1;
  EXPECT_EQ(occasions_of(format), "00--1111111111");
  EXPECT_EQ(references_of(format), "----R---------");
}

TEST(Occasions, ProblemsSayWhatToDo) {
  const FrameFormat format = with("PPPPUUUU");
  expect_problem(
      "pilots.occasions", "must divide the 4 P of the schedule",
      [](FrameFormat& f) { f.pilots.occasions = 3; }, format);
  expect_problem(
      "pilots.occasions", "must divide", [](FrameFormat& f) { f.pilots.occasions = 0; }, format);
  expect_problem(
      "users", "1 pilot symbols of each occasion with comb 1 separate only 1 users",
      [](FrameFormat& f) { f.pilots.occasions = 4; }, format);
  expect_valid([](FrameFormat& f) { f.pilots = {PilotKind::Comb, 2, 25, 4}; }, format);
  // Each D would be the first after an occasion.
  expect_problem(
      "schedule", "carries no data", [](FrameFormat& f) { f.schedule = "PPGDPPGD"; },
      with("PPGDPPGDD"));
  // Only the first occasion is waited for.
  FrameFormat early = with("UPPPPUU");
  early.deadlines.uplink_budget_ms = 0.2;
  expect_problem(
      "deadlines.uplink_budget_ms", "the first U waits for pilots",
      [](FrameFormat& f) { f.pilots.occasions = 1; }, early);
  const auto why = Frame(format).why_not_on_devices();
  ASSERT_TRUE(why.has_value());
  EXPECT_EQ(why->key, "pilots.occasions");
  EXPECT_EQ(why->message, "is 2, but devices make one combiner of all pilots of a frame");
}

// More users than antennas: no more share a combiner than that, in either part of a slot.
TEST(Occasions, PairUsersOfTheirOwnSymbols) {
  FrameFormat format = with("PPUUPPUU");
  format.antennas = 2;
  format.users = 4;
  format.pilots = {PilotKind::Comb, 2, 25, 2};
  constexpr auto kUp = Direction::Uplink;
  const auto early = [](std::uint32_t user, std::uint32_t symbols) {
    return Grant{.user = user, .direction = kUp, .blocks = 6, .symbols = symbols};
  };
  const auto late = [](std::uint32_t user) {
    return Grant{.user = user, .direction = kUp, .blocks = 6, .first_symbol = 6};
  };
  format.grants = test::listed({early(0, 4), early(1, 4), late(2), late(3)});
  expect_valid([](FrameFormat&) {}, format);
  const Frame frame(format);
  const FrameProgram& program = frame.program();
  ASSERT_EQ(program.pairings(0).size(), 1U);
  ASSERT_EQ(program.pairings(1).size(), 1U);
  for (std::uint32_t user = 0; user < 4; ++user) {
    EXPECT_EQ(program.pairing(2).lanes_of(0, user) != 0, user < 2);
    EXPECT_EQ(program.pairing(6).lanes_of(0, user) != 0, user >= 2);
  }
  EXPECT_EQ(frame.combiner_of(program, 3), 0U);
  EXPECT_EQ(frame.combiner_of(program, 7), 1U);
  expect_problem(
      "grants.list.2", "makes 3 users share a combiner",
      [&](FrameFormat& f) {
        f.grants = test::listed({early(0, 4), early(1, 0), early(2, 0), late(3)});
      },
      format);
}

TEST(Occasions, EachSymbolWaitsForItsOwnAlone) {
  const Frame frame(with("PPUUPPUU"));
  const FrameGraph made = build_graph(frame);
  ASSERT_EQ(made.zero_force.size(), 2U);
  const auto sources = [&](std::uint16_t id) {
    const auto all = made.graph[id].waits_for;
    return std::set<std::uint16_t>(all.begin(), all.end());
  };
  using Ids = std::set<std::uint16_t>;
  EXPECT_TRUE(sources(made.zero_force[0]) == (Ids{made.receive[0], made.receive[1]}));
  EXPECT_TRUE(sources(made.zero_force[1]) == (Ids{made.receive[4], made.receive[5]}));
  for (std::uint16_t i = 0; i < made.graph.size(); ++i) {
    const std::uint16_t s = made.graph[i].step;
    if (made.graph[i].opcode != static_cast<std::uint16_t>(Op::EqualizeDemodulate)) continue;
    EXPECT_TRUE(sources(i) == (Ids{made.receive[s], made.zero_force[s < 4 ? 0 : 1]}));
  }
}

TEST(Occasions, PilotsAreDueForTheDownlinkThatHasThem) {
  const Frame frame(with("PPGGDDPPGGGDDUU"));
  const FrameGraph made = build_graph(frame);
  const auto precode = [&](std::uint16_t symbol) {
    return made.graph[made.graph[made.transmit[symbol]].waits_for[0]];
  };
  const auto waits = [&](std::uint16_t symbol, std::uint32_t occasion) {
    const auto id = made.zero_force[frame.first_combiner(occasion)];
    return std::ranges::count(precode(symbol).waits_for, id) == 1;
  };
  for (const std::uint16_t symbol : std::vector<std::uint16_t>{4, 5, 11, 12})
    for (const std::uint32_t occasion : {0, 1})
      EXPECT_EQ(waits(symbol, occasion), (symbol > 5) == (occasion == 1));
  for (const std::uint16_t s : std::vector<std::uint16_t>{0, 1, 6, 7}) {
    const Tick leaves = frame.downlink_deadline(s < 6 ? 4 : 11);
    const auto& pilot = made.graph[made.receive[s]];
    EXPECT_EQ(pilot.deadline, leaves);
    EXPECT_EQ(pilot.early_close, frame.symbol(s).end + (leaves - frame.symbol(s).end) / 2);
    EXPECT_EQ(made.graph[made.zero_force[frame.first_combiner(s < 6 ? 0 : 1)]].deadline, leaves);
  }
}

// Of those between an occasion's end and the leaving of what has it, the least room counts.
TEST(Occasions, ALeadLeavesHalfOfTheLeastRoom) {
  FrameFormat format = with("PPGGGGDDPPGGDDUU");
  format.deadlines.lead_quantile = 0.9;
  const Frame frame(format);
  const Tick room = frame.downlink_deadline(12) - frame.symbol(9).end;
  EXPECT_EQ(frame.most_lead() - frame.least_lead(), room / 2);
}

TEST(Occasions, AreEachDecodedInEveryPrecision) {
  for (const auto precision : {Precision::Fp32, Precision::Fp16, Precision::Int16})
    for (const std::uint32_t group : {1U, 5U, 16U})
      for (const char* schedule : {"PUUPUUPUU", "UPUUPGDDDPGDDUU"}) {
        const FrameFormat format = changed([&](FrameFormat& f) {
          f.antennas = 20;
          f.schedule = schedule;
          f.symbols_per_slot = 7;
          f.pilots = {PilotKind::Comb, 2, 25, 3};
          f.deadlines.downlink_lead_ms = 0.01;
          f.combiner = {phy::Detector::ZeroForcing, group, precision};
          f.uplink.modulation = ModulationChoice::Qam64;
          f.uplink.rate = 0.7;
        });
        for (const Isa isa : test::tested_isas()) {
          Cell cell(format, test::clear_air(38), isa);
          for (std::uint64_t i = 0; i < 3; ++i) {
            cell.run(i);
            EXPECT_EQ(cell.wrong_blocks(i), 0U)
                << schedule << ", " << to_string(isa) << ", group " << group;
          }
        }
      }
}

// What is kept of each occasion is the channel as it was then.
TEST(Occasions, LearnTheChannelOfTheirTime) {
  FrameFormat format = two_slots(true);
  format.combiner = {phy::Detector::ZeroForcing, 1, Precision::Fp32};
  Cell cell(format, moving());
  emulator::Channel air(cell.frame, moving());
  using Value = std::complex<double>;
  const std::size_t stride = cell.frame.array().antenna_stride;
  const auto alike = [&](std::uint32_t occasion, std::uint16_t pilot) {
    air.select(0, pilot);
    Value product = 0;
    double known = 0, learnt = 0;
    const std::uint32_t user = cell.frame.symbol(pilot).ordinal % 2;
    for (std::uint32_t k = 0; k < 72; ++k)
      for (std::uint32_t a = 0; a < format.antennas; ++a) {
        const std::size_t tile = (std::size_t{occasion} * 5 + k / 16) * 2 + user;
        const phy::Tile& t = cell.pipeline.slot(0).csi[tile * stride + a];
        const auto h = air.coefficient(user, a, k);
        const Value x(static_cast<double>(t.re[k % 16]), static_cast<double>(t.im[k % 16]));
        const Value y(static_cast<double>(h.re), static_cast<double>(h.im));
        product += x * std::conj(y);
        learnt += std::norm(x);
        known += std::norm(y);
      }
    return std::norm(product) / (known * learnt);
  };
  cell.run(0);
  for (const std::uint16_t pilot : std::vector<std::uint16_t>{0, 1}) {
    const auto second = static_cast<std::uint16_t>(pilot + 6 + kGap.size());
    EXPECT_GT(alike(0, pilot), 0.999);
    EXPECT_GT(alike(1, second), 0.999);
    EXPECT_LT(alike(0, second), 0.8);
    EXPECT_LT(alike(1, pilot), 0.8);
  }
}

TEST(Occasions, BringWhatAChangingChannelLoses) {
  std::size_t wrong = 0, blocks = 0;
  Cell with_both(two_slots(true), moving()), with_one(two_slots(false), moving());
  for (std::uint64_t i = 0; i < 20; ++i) {
    with_both.run(i);
    EXPECT_EQ(with_both.wrong_blocks(i), 0U);
    with_one.run(i);
    wrong += with_one.wrong_blocks(i);
    blocks += with_one.program(i).transport_blocks(Direction::Uplink).size();
  }
  EXPECT_GT(wrong, blocks * 2 / 5);  // of the second slot, which is half of all, nearly all
}

// A packet of one occasion's pilots costs the antenna its part there alone.
TEST(Occasions, LoseAnAntennaByThemselves) {
  for (const std::uint32_t lost : {0, 4}) {
    FrameFormat format = with("PPUUPPUU");
    format.combiner = {phy::Detector::ZeroForcing, 1, Precision::Fp32};
    Cell cell(format);
    cell.run(0, [&](std::uint32_t symbol, std::uint32_t antenna) {
      return symbol == lost && antenna == 3;
    });
    EXPECT_EQ(cell.wrong_blocks(0), 0U);
    for (const std::uint32_t occasion : {0, 1})
      for (std::uint32_t user = 0; user < 2; ++user) {
        const PairCombiner& c = cell.pipeline.slot(0).combiners->of[occasion];
        const phy::Tile& w = c.tiles[user * cell.frame.array().antenna_stride + 3];
        EXPECT_EQ(w.re[0] == 0 && w.im[0] == 0, occasion == (lost == 0 ? 0U : 1U));
      }
  }
}

// Noise that comes with an occasion's pilots counts for what has that one.
TEST(Occasions, MeasureNoiseByThemselves) {
  const FrameFormat format = with("PPUUPPUU");
  Cell cell(format);
  cell.run(0, {}, [&](std::vector<std::int16_t>& samples) {
    Random random(1, 0);
    for (std::uint32_t a = 0; a < format.antennas; ++a)
      for (const std::uint32_t s : {4, 5}) {
        const std::size_t first =
            std::size_t{a} * cell.frame.samples() + cell.frame.symbol(s).first_sample;
        for (std::size_t i = 2 * first; i < 2 * (first + cell.frame.symbol(s).samples); ++i)
          samples[i] = static_cast<std::int16_t>(samples[i] + 1500 * (random.uniform() - 0.5));
      }
  });
  double noise[2] = {};
  for (std::size_t i = 0; i < 8; ++i) {  // of two users in four U symbols
    const SymbolQuality& quality = cell.pipeline.slot(0).quality[i];
    noise[i / 4] += static_cast<double>(quality.noise_power) / quality.symbols;
  }
  EXPECT_GT(noise[1], 10 * noise[0]);
}
