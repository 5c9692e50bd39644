// What a frame's lost packets cost, and what they must not.
#include <cmath>
#include <cstdio>

#include "base/random.hpp"
#include "frame/cell.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"
#include "support/watched.hpp"

using namespace carillon;
using namespace carillon::frame;
using test::Cell;
using test::changed;
using test::clear_air;
using test::small_format;

TEST(LostPackets, OfAPilotLeaveTheirAntennaOut) {
  Cell cell(small_format());
  for (std::uint64_t i = 0; i < 3; ++i) {
    cell.run(
        i, [](std::uint32_t symbol, std::uint32_t antenna) { return symbol < 2 && antenna == 3; });
    EXPECT_EQ(cell.wrong_blocks(i), 0U);
  }
}

// With one of several pilots an antenna knows too little of the channel: a combiner that used it
// would let users through to each other. Without it, the frame is one of the five other antennas.
TEST(LostPackets, OfOnePilotLeaveTheirAntennaOutToo) {
  for (const std::uint32_t group : {1U, 5U, 16U}) {
    const FrameFormat format = changed([&](FrameFormat& f) {
      f.combiner.group = group;
      f.schedule = "PPUUUUDD";
      f.deadlines.precoder_age = 0;
      f.deadlines.downlink_lead_ms = 0.1;
    });
    Cell one(format), all(format);
    const auto silent = [](std::uint32_t symbol, std::uint32_t antenna) {
      return symbol >= 2 && antenna == 3;
    };
    for (std::uint64_t i = 0; i < 3; ++i) {
      one.run(i, [&](auto s, auto a) { return silent(s, a) || (s == i % 2 && a == 3); });
      all.run(i, [&](auto s, auto a) { return silent(s, a) || (s < 2 && a == 3); });
      EXPECT_EQ(one.wrong_blocks(i), 0U);
      const auto &by_one = one.pipeline.slot(i), &by_all = all.pipeline.slot(i);
      EXPECT_EQ(by_one.good, by_all.good);
      EXPECT_TRUE(std::equal(by_one.payload.begin(), by_one.payload.end(), by_all.payload.begin()));
      for (std::uint32_t d = 0; d < 2; ++d)
        for (std::uint32_t n = 0; n < 2 * one.frame.most_samples(); ++n)
          EXPECT_EQ(one.samples_of(i % format.ring, d, 3)[n], 0) << "it radiates";
    }
  }
}

// Of a U symbol's packets too: its combiner is the other antennas', whatever it is kept in.
TEST(LostPackets, OfDataCostTheirAntennasShareOnly) {
  for (const auto precision : {Precision::Fp32, Precision::Int16, Precision::Fp16})
    for (const auto kind : {phy::Detector::ZeroForcing, phy::Detector::Mmse})
      for (const std::uint32_t group : {1U, 5U, 16U}) {
        const FrameFormat format = changed([&](FrameFormat& f) {
          f.combiner = {kind, group, precision};
          f.uplink.modulation = ModulationChoice::Qam64;
          f.uplink.rate = 0.7;
          f.uplink.block = BlockSpan::Symbol;
        });
        for (const Isa isa : test::tested_isas()) {
          Cell cell(format, clear_air(32), isa);
          for (std::uint64_t i = 0; i < 3; ++i) {
            cell.run(i, [](std::uint32_t symbol, std::uint32_t antenna) {
              return (symbol >= 2 && antenna == symbol) || (symbol == 4 && antenna == 0);
            });
            EXPECT_EQ(cell.wrong_blocks(i), 0U) << to_string(isa) << ", group " << group
                                                << ", precision " << static_cast<int>(precision);
          }
        }
      }
}

// What a combiner shared by a group leaves then weighs more, too, as with a combiner that was made
// of the other antennas; but not the part of it that all antennas have in common.
TEST(LostPackets, OfDataLeaveTheVarianceOfTheOtherAntennasCombiner) {
  emulator::RadioPlan air{.taps = 8, .delay_spread_ns = 1000};
  air.snr_db = {40};
  for (const auto kind : {phy::Detector::ZeroForcing, phy::Detector::Mmse}) {
    FrameFormat format;
    format.antennas = 16;
    format.users = 4;
    format.numerology.fft_size = 512;
    format.numerology.subcarriers = 300;
    format.schedule = "PPPPUUUU";
    format.combiner = {kind, 16};
    format.uplink.modulation = ModulationChoice::Qpsk;
    Cell one(format, air), all(format, air);
    SymbolQuality late, early;  // lost after the combiner was made, and before
    const auto add = [](Cell& cell, std::uint64_t frame, SymbolQuality& to) {
      for (const SymbolQuality& each : cell.pipeline.slot(frame).quality) {
        to.error_power += each.error_power;
        to.noise_power += each.noise_power;
      }
    };
    for (std::uint64_t i = 0; i < 40; ++i) {
      one.run(i, [](auto symbol, auto antenna) { return symbol >= 4 && antenna >= 8; });
      all.run(i, [](auto, auto antenna) { return antenna >= 8; });
      add(one, i, late);
      add(all, i, early);
    }
    EXPECT_NEAR(late.noise_power / early.noise_power, 1, 0.15);
    EXPECT_NEAR(late.error_power / early.error_power, 1, 0.15);
  }
}

// What docs/concepts.md derives: a block is one of as many antennas fewer as lack its symbol or a
// pilot, each with the probability q that one of these packets is lost.
TEST(LostPackets, OfOneInAHundredCostWhatTheoryAllows) {
  struct {
    std::uint32_t antennas, users;
    double snr_db;
  } const cases[] = {{4, 2, 12}, {8, 4, 9}};
  for (const auto& [antennas, users, snr_db] : cases) {
    if (test::left_out(users - 2)) continue;
    Cell cell(changed([&, antennas = antennas, users = users](FrameFormat& f) {
                f.antennas = antennas;
                f.users = users;
                f.schedule = std::string(users, 'P') + "UUUUUUUU";
                f.uplink.block = BlockSpan::Symbol;
                f.uplink.modulation = ModulationChoice::Qpsk;
                f.uplink.rate = 0.5;
              }),
              clear_air(snr_db));
    // Of the same frames over the same channels, whatever is lost.
    const auto failed = [&](const Cell::Lost& lost) {
      constexpr std::uint64_t kFrames = 2000;
      std::size_t wrong = 0;
      for (std::uint64_t i = 0; i < kFrames; ++i) {
        cell.run(i, lost);
        wrong += cell.wrong_blocks(i);
      }
      return static_cast<double>(wrong) / static_cast<double>(kFrames * 8 * users);
    };
    const double q = 1 - std::pow(0.99, users + 1);
    double allowed = 0, probability = std::pow(1 - q, antennas);  // that m lack a packet
    for (std::uint32_t m = 0; m <= antennas; ++m) {
      const bool solvable = m + users <= antennas;
      allowed += probability * (solvable ? failed([&](auto, auto a) { return a < m; }) : 1);
      probability *= (antennas - m) * q / ((m + 1) * (1 - q));
    }
    Random random(5, 0);
    const double measured = failed([&](auto, auto) { return random.next() % 100 == 0; });
    std::printf("%ux%u: BLER %.5f at 1 %% loss, %.5f by theory\n", antennas, users, measured,
                allowed);
    EXPECT_LE(measured, 1.3 * allowed);
  }
}

TEST(LostPackets, HarmOnlyTheirOwnFrame) {
  const std::vector<Cell::Lost> losses{
      [](std::uint32_t, std::uint32_t) { return true; },
      [](std::uint32_t symbol, std::uint32_t) { return symbol < 2; },
      [](std::uint32_t symbol, std::uint32_t) { return symbol > 2; }};
  for (const std::uint32_t group : {1U, 5U, 16U})
    for (const auto kind :
         {phy::Detector::ZeroForcing, phy::Detector::Mmse, phy::Detector::Conjugate}) {
      Cell cell(changed([&](FrameFormat& f) {
        f.combiner = {kind, group};
        f.uplink.modulation = ModulationChoice::Qpsk;
        f.uplink.rate = 0.2;
        f.antennas = 24;
        f.ring = 2;
      }));
      std::uint64_t index = 0;
      for (const auto& lost : losses) {
        cell.run(index, lost);
        EXPECT_EQ(cell.good_blocks(index), 0U) << "frame " << index;
        // The two that follow take the ring's other place and then the same one.
        for (int next = 0; next < 2; ++next) {
          cell.run(++index);
          EXPECT_EQ(cell.wrong_blocks(index), 0U) << "frame " << index;
        }
        ++index;
      }
    }
}

// Of 16QAM without a signal, the amplitude bits still look certain, and may all be parity bits.
TEST(LostPackets, OfAllAntennasFailTheirBlock) {
  for (std::uint32_t m = 0; m < 4; ++m)
    for (const bool crc : {true, false})
      for (const std::uint32_t symbol : {2U, 4U}) {
        Cell cell(changed([&](FrameFormat& f) {
          f.uplink.modulation = static_cast<ModulationChoice>(m);
          f.uplink.crc = crc;
          f.uplink.rate = 0.25;
          f.symbols_per_slot = 4;
          f.schedule = "PPUUUUUU";
        }));
        cell.run(0, [&](std::uint32_t s, std::uint32_t) { return s >= symbol && s < symbol + 4; });
        const auto blocks = cell.frame.program().transport_blocks(Direction::Uplink);
        for (std::size_t b = 0; b < blocks.size(); ++b) {
          const bool hit = blocks[b].last_symbol >= symbol && blocks[b].first_symbol < symbol + 4;
          const bool whole = blocks[b].first_symbol >= symbol && blocks[b].last_symbol < symbol + 4;
          if (whole || !hit) {
            EXPECT_EQ(cell.pipeline.slot(0).good[b], whole ? 0 : 1);
          }
        }
      }
}

TEST(LostPackets, NeverMakeAWrongBlockGood) {
  for (const auto modulation :
       {ModulationChoice::Qpsk, ModulationChoice::Qam16, ModulationChoice::Qam64})
    for (const bool crc : {true, false}) {
      Cell cell(changed([&](FrameFormat& f) {
        f.uplink.modulation = modulation;
        f.uplink.block = BlockSpan::Symbol;
        f.uplink.crc = crc;
      }));
      Random random(8, 0);
      std::size_t bad = 0, good = 0;
      for (std::uint64_t i = 0; i < 40; ++i) {
        const std::uint64_t share = random.next() % 100;
        cell.run(i, [&](std::uint32_t, std::uint32_t) { return random.next() % 100 < share; });
        const auto blocks = cell.frame.program().transport_blocks(Direction::Uplink);
        for (std::size_t b = 0; b < blocks.size(); ++b) {
          if (cell.pipeline.slot(i).good[b] != 0) {
            ++good;
            EXPECT_TRUE(cell.same_bits(i, blocks[b])) << "frame " << i;
          } else {
            ++bad;
          }
        }
      }
      EXPECT_GT(bad, 50U);
      EXPECT_GT(good, 20U);
    }
}
