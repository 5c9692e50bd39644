#include "frame/format.hpp"

#include <cmath>
#include <limits>

#include "frame/format_checks.hpp"
#include "phy/ofdm/ofdm.hpp"
#include "support/test.hpp"

using namespace carillon;
using namespace carillon::frame;
using test::expect_problem;
using test::expect_valid;
using test::valid;

namespace {

Numerology numerology(double spacing_khz, std::uint32_t fft_size) {
  Numerology n;
  n.spacing_khz = spacing_khz;
  n.fft_size = fft_size;
  n.subcarriers = fft_size / 2;
  return n;
}

}  // namespace

// TS 38.211 5.3.1: N_CP = 144κ·2^-µ, and 16κ more for l = 0 and l = 7·2^µ of a subframe;
// T_c = 1 / (480 kHz · 4096), κ = 64.
TEST(Prefix, IsThatOf38211ForEverySpacingAndFftSize) {
  for (std::uint32_t mu = 0; mu < 4; ++mu)
    for (std::uint32_t fft = 128; fft <= 4096; fft *= 2) {
      const std::uint64_t spacing_hz = 15'000ULL << mu;
      const std::uint64_t rate = spacing_hz * fft;
      for (std::uint32_t l = 0; l < 140; ++l) {
        const std::uint32_t in_subframe = l % (14U << mu);
        const bool longer = in_subframe == 0 || in_subframe == 7U << mu;
        const std::uint64_t units = (144ULL * 64 >> mu) + (longer ? 16ULL * 64 : 0);
        const std::uint64_t scaled = units * rate;  // over 480000 · 4096 units a second
        ASSERT_EQ(scaled % (480'000ULL * 4096), 0U) << "not a whole number of samples";
        ASSERT_EQ(prefix_samples(numerology(static_cast<double>(spacing_hz) / 1e3, fft), l),
                  scaled / (480'000ULL * 4096))
            << "symbol " << l << " at " << spacing_hz << " Hz, " << fft;
      }
    }
}

TEST(Prefix, SeventySymbolsOfTheThesisFillFiveMilliseconds) {
  FrameFormat format;
  format.numerology = numerology(15, 2048);
  format.numerology.subcarriers = 1200;
  format.antennas = 8;
  format.users = 8;
  format.schedule = std::string(8, 'P') + std::string(62, 'U');
  const Frame frame(format);
  EXPECT_EQ(frame.samples(), 153600U);
  EXPECT_EQ(frame.duration(), 5 * kMillisecond);
  EXPECT_EQ(frame.most_samples(), 2048U + 160U);
}

TEST(Prefix, FourteenSymbolsOfEverySpacingFillTheirSlot) {
  for (const double spacing : {15.0, 30.0, 60.0, 120.0})
    for (std::uint32_t fft = 128; fft <= 4096; fft *= 2) {
      FrameFormat format = valid();
      format.numerology = numerology(spacing, fft);
      // 5 slots of 30 kHz are no whole number of half milliseconds: take a subframe's symbols.
      const auto symbols = std::min<std::size_t>(140, 14 * static_cast<std::size_t>(spacing / 15));
      format.schedule = "PP" + std::string(symbols - 2, 'U');
      const Frame frame(format);
      EXPECT_EQ(frame.duration(), symbols == 140 ? frame.air_time(frame.samples()) : kMillisecond);
    }
}

TEST(Prefix, IsConstantWhenAsked) {
  Numerology n = numerology(20, 256);
  n.prefix = PrefixKind::Constant;
  n.prefix_samples = 17;
  for (std::uint32_t l = 0; l < 30; ++l) EXPECT_EQ(prefix_samples(n, l), 17U);
}

TEST(Validate, AcceptsTheDefaults) {
  expect_valid([](FrameFormat&) {}, FrameFormat{});
}

TEST(Validate, AcceptsWhatTheRangesPromise) {
  expect_valid([](FrameFormat& f) { f.antennas = f.users = 1, f.schedule = "PU"; });
  expect_valid([](FrameFormat& f) { f.users = f.antennas = 2; });
  expect_valid([](FrameFormat& f) { f.symbols_per_slot = 140; });
  expect_valid([](FrameFormat& f) { f.symbols_per_slot = 1; });
  expect_valid([](FrameFormat& f) { f.schedule = "PPU", f.cell_id = 1007; });
  expect_valid([](FrameFormat& f) { f.schedule = "PP" + std::string(138, 'U'); });
  expect_valid([](FrameFormat& f) { f.pilots = {PilotKind::Comb, 16, 1}, f.schedule = "PU"; });
  expect_valid([](FrameFormat& f) { f.ring = 64, f.deadlines.precoder_age = 63; });
}

TEST(Validate, AcceptsTheLargestCell) {
  expect_valid([](FrameFormat& f) {
    f.antennas = 256;
    f.users = 128;
    f.numerology.fft_size = 4096;
    f.numerology.subcarriers = 3276;
    f.pilots = {PilotKind::Comb, 16, 25};
    f.schedule = "PPPPPPPPUUUUUU";
  });
}

TEST(Validate, NamesAntennasAndUsers) {
  expect_problem("antennas", "257 but must be between 1 and 256",
                 [](FrameFormat& f) { f.antennas = 257; });
  expect_problem("users", "is 3 but a linear detector",
                 [](FrameFormat& f) { f.antennas = 2, f.users = 3, f.schedule = "PPPU"; });
  expect_problem("cell_id", "between 0 and 1007", [](FrameFormat& f) { f.cell_id = 1008; });
  FrameFormat none = valid();
  none.users = 0;
  EXPECT_EQ(none.validate().at(0).key, std::string("users"));
}

TEST(Validate, NamesNumerology) {
  for (const std::uint32_t size : {0U, 1U, 64U, 127U, 1000U, 8192U}) {
    FrameFormat f = valid();
    f.numerology.fft_size = size;
    ASSERT_FALSE(f.validate().empty());
    EXPECT_EQ(f.validate()[0].key, std::string("numerology.fft_size"));
  }
  expect_problem("numerology.spacing_khz", "45",
                 [](FrameFormat& f) { f.numerology.spacing_khz = 45; });
  for (const double bad :
       {0.0, -15.0, 481.0, std::nan(""), std::numeric_limits<double>::infinity()})
    expect_problem("numerology.spacing_khz", "between 1 and 480", [&](FrameFormat& f) {
      f.numerology.prefix = PrefixKind::Constant;
      f.numerology.prefix_samples = 9;
      f.numerology.spacing_khz = bad;
    });
  expect_problem("numerology.prefix_samples", "is 129 but must be between 0 and 128",
                 [](FrameFormat& f) {
                   f.numerology.prefix = PrefixKind::Constant;
                   f.numerology.prefix_samples = 129;
                 });
}

TEST(Validate, LeavesBinsToMeasureNoiseOn) {
  for (const bool hole : {false, true})
    for (std::uint32_t used = 100; used <= 140; ++used) {
      FrameFormat f = valid();
      f.numerology.subcarriers = used;
      f.numerology.dc_hole = hole;
      const auto problems = f.validate();
      const std::uint32_t most = 128 - (hole ? 1 : 0);
      const bool measurable = used <= most && phy::OfdmPlan({128, used, hole}).noise_bins() > 0;
      EXPECT_EQ(problems.empty(), measurable) << used;
      if (!measurable) {
        EXPECT_EQ(problems.at(0).key, std::string("numerology.subcarriers"));
      }
    }
  expect_problem("numerology.subcarriers", "is 11 but must be between 12 and 125",
                 [](FrameFormat& f) { f.numerology.subcarriers = 11; });
}

TEST(Validate, NamesTheSchedule) {
  const auto schedule = [](std::string text) {
    return [text = std::move(text)](FrameFormat& f) { f.schedule = text; };
  };
  expect_problem("schedule", "'x' at place 3", schedule("PPUxU"));
  expect_problem("schedule", "byte 0xc3 at place 2", schedule("PP\xc3\x9cU"));
  expect_problem("schedule", "has 141 symbols but must have 1 to 140",
                 schedule("PP" + std::string(139, 'U')));
  expect_problem("schedule", "carries no data", schedule("PPGGGGGGGGGGD"));
  expect_valid(schedule("PPUUGGGGGGGGGD"));
  expect_valid(schedule("PUPU"));
  expect_problem("deadlines.uplink_budget_ms", "waits for pilots that end 0.071 ms after it",
                 [](FrameFormat& f) { f.schedule = "PUPU", f.deadlines.uplink_budget_ms = 0.05; });
  expect_problem("schedule", "carries no data", schedule("PPGG"));
  FrameFormat empty = valid();
  empty.schedule.clear();
  EXPECT_EQ(empty.validate().at(0).key, std::string("schedule"));
  expect_problem("symbols_per_slot", "between 1 and 140",
                 [](FrameFormat& f) { f.symbols_per_slot = 0; });
  expect_problem("symbols_per_slot", "between 1 and 140",
                 [](FrameFormat& f) { f.symbols_per_slot = 141; });
}

TEST(Validate, CountsTheUsersThatPilotsSeparate) {
  expect_problem("users", "is 3 but 2 pilot symbols with comb 1 separate only 2",
                 [](FrameFormat& f) { f.users = 3; });
  expect_problem("users", "is 7 but 2 pilot symbols with comb 3 separate only 6",
                 [](FrameFormat& f) {
                   f.pilots = {PilotKind::Comb, 3, 25};
                   f.users = 7;
                 });
  expect_problem("users", "separate only 0", [](FrameFormat& f) { f.schedule = "UU"; });
  expect_problem("pilots.comb", "between 1 and 16", [](FrameFormat& f) {
    f.pilots = {PilotKind::Comb, 17, 25};
  });
  expect_problem("pilots.comb", "is 4 but must be 1 with pilots.kind time",
                 [](FrameFormat& f) { f.pilots.comb = 4; });
  expect_problem("pilots.comb", "must not exceed numerology.subcarriers (12)", [](FrameFormat& f) {
    f.numerology.subcarriers = 12;
    f.pilots = {PilotKind::Comb, 13, 25};
  });
}

TEST(Validate, RefusesPilotsWithoutASequence) {
  for (const std::uint32_t root : {71U, 142U, 710U})  // 71: the largest prime within 72
    expect_problem("pilots.root", "multiple of 71", [&](FrameFormat& f) { f.pilots.root = root; });
  expect_problem("pilots.root", "between 1 and 99999", [](FrameFormat& f) { f.pilots.root = 0; });
  expect_problem("pilots.root", "between 1 and 99999",
                 [](FrameFormat& f) { f.pilots.root = 100000; });
}

TEST(Validate, GivesEveryDownlinkUserAReference) {
  expect_problem(
      "users", "references of 12 users only",
      [](FrameFormat& f) {
        f.antennas = 16;
        f.users = 13;
        f.numerology.subcarriers = 12;
        f.schedule = std::string(13, 'P') + "GGGGGGGGGGDD";
      },
      [] {
        FrameFormat f = valid();
        f.uplink.rate = f.downlink.rate = 0.5;
        return f;
      }());
}

TEST(Validate, NamesCodingOfItsDirection) {
  for (const bool up : {true, false}) {
    FrameFormat base = valid();
    base.schedule = "PPUUGGGGGGGGDDDD";
    const std::string key = up ? "uplink." : "downlink.";
    const auto change = [up](auto&& what) {
      return [up, what](FrameFormat& f) { what(up ? f.uplink : f.downlink); };
    };
    expect_problem(key + "rate", "0.96 but must be between 0.01 and 0.95",
                   change([](Coding& c) { c.rate = 0.96; }), base);
    expect_problem(key + "rate", "between", change([](Coding& c) { c.rate = std::nan(""); }), base);
    expect_problem(key + "base_graph", "between 0 and 2",
                   change([](Coding& c) { c.base_graph = 3; }), base);
    expect_problem(key + "lifting", "between 0 and 384",
                   change([](Coding& c) { c.lifting = 65536 + 104; }), base);
    expect_problem(key + "lifting", "nearest are 16 and 18",
                   change([](Coding& c) { c.lifting = 17; }), base);
    expect_problem(key + "redundancy_version", "between 0 and 3",
                   change([](Coding& c) { c.redundancy_version = 4; }), base);
    expect_problem(key + "buffer_limit", "between 0.3 and 1",
                   change([](Coding& c) { c.buffer_limit = 0.2; }), base);
    expect_problem(key + "iterations", "between 1 and 100",
                   change([](Coding& c) { c.iterations = 0; }), base);
    expect_problem(key + "mcs_index", "between 0 and 28",
                   change([](Coding& c) { c.mcs_table = McsTable::Qam64, c.mcs_index = {29}; }),
                   base);
    expect_problem(key + "mcs_index", "between 0 and 27",
                   change([](Coding& c) { c.mcs_table = McsTable::Qam256, c.mcs_index = {28}; }),
                   base);
    expect_problem(key + "mcs_index", "is 5 but must be 0 with " + key + "mcs_table none",
                   change([](Coding& c) { c.mcs_index = {5}; }), base);
    expect_problem(key + "mcs_index.1", "between 0 and 28", change([](Coding& c) {
                     c.mcs_table = McsTable::Qam64, c.mcs_index = {3, 29};
                   }),
                   base);
    for (const auto& rows : {std::vector<std::uint32_t>{}, {1, 2, 3}})
      expect_problem(key + "mcs_index", "one for each of the 2 users",
                     change([&](Coding& c) { c.mcs_table = McsTable::Qam64, c.mcs_index = rows; }),
                     base);
  }
}

TEST(Validate, RefusesRatesThatLeaveNoParity) {
  // 144 coded bits in a symbol of 72 QPSK elements: 0.95 of them and a CRC are too many.
  expect_problem("uplink.rate", "leave parity", [](FrameFormat& f) {
    f.uplink.modulation = ModulationChoice::Qpsk;
    f.uplink.block = BlockSpan::Symbol;
    f.uplink.rate = 0.95;
  });
  // 864 elements of 256QAM: nine blocks of 640 bits, of whose 3200 coded bits 960 are kept.
  expect_problem("uplink.buffer_limit", "too few", [](FrameFormat& f) {
    f.uplink.crc = false;
    f.uplink.modulation = ModulationChoice::Qam256;
    f.uplink.rate = 0.9;
    f.uplink.base_graph = 1;
    f.uplink.lifting = 104;
    f.uplink.buffer_limit = 0.34;
  });
}

TEST(Validate, NamesTheRowWhereItGivesTheRate) {
  FrameFormat f = valid();
  f.users = f.antennas = 2;
  f.schedule = "PPU";
  f.numerology.fft_size = 128;
  f.numerology.subcarriers = 12;
  f.uplink.block = BlockSpan::Symbol;
  f.uplink.mcs_table = McsTable::LowSe;
  const auto problems = f.validate();
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].key, std::string("uplink.mcs_index"));
  EXPECT_EQ(problems[0].message.find("names a row with which 24 payload bits make"), 0U)
      << problems[0].message;
}

TEST(Validate, SaysOnceWhatEveryUserSuffersFrom) {
  expect_problem("uplink.lifting", "at most", [](FrameFormat& f) {
    f.antennas = 16, f.users = 16;
    f.pilots = {PilotKind::Comb, 8, 25};
    f.uplink.block = BlockSpan::Symbol;
    f.uplink.lifting = 384;
  });
}

TEST(Validate, RefusesCodeBlocksWithFewerBitsThanTheyCarry) {
  expect_problem("uplink.lifting", "coded bits, fewer than", [](FrameFormat& f) {
    f.uplink.crc = false;
    f.uplink.base_graph = 2;
    f.uplink.lifting = 2;
    f.uplink.modulation = ModulationChoice::Qam256;
    f.uplink.rate = 0.95;
  });
}

TEST(Validate, RefusesMillionsOfCodeBlocks) {
  FrameFormat f = valid();
  f.antennas = f.users = 16;
  f.numerology.fft_size = 4096;
  f.numerology.subcarriers = 3276;
  f.pilots = {PilotKind::Comb, 16, 25};
  f.schedule = "P" + std::string(139, 'U');
  f.uplink.crc = false;
  f.uplink.base_graph = 2;
  f.uplink.lifting = 2;
  f.uplink.block = BlockSpan::Frame;
  const auto problems = f.validate();
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].key, std::string("uplink.lifting"));
  EXPECT_NE(problems[0].message.find("262144 code blocks"), std::string::npos);
}

TEST(Validate, NamesCombinerRingAndDeadlines) {
  expect_problem("combiner.group", "between 1 and 16",
                 [](FrameFormat& f) { f.combiner.group = 0; });
  expect_problem("combiner.group", "is 17", [](FrameFormat& f) { f.combiner.group = 17; });
  expect_problem("ring", "between 2 and 64", [](FrameFormat& f) { f.ring = 1; });
  expect_problem("ring", "between 2 and 64", [](FrameFormat& f) { f.ring = 65; });
  expect_problem("deadlines.uplink_budget_ms", "between 0.01 and 1000",
                 [](FrameFormat& f) { f.deadlines.uplink_budget_ms = 0; });
  expect_problem("deadlines.downlink_lead_ms", "between 0 and 100",
                 [](FrameFormat& f) { f.deadlines.downlink_lead_ms = -1; });
  expect_problem("deadlines.precoder_age", "is 4 but must be below ring (4)",
                 [](FrameFormat& f) { f.deadlines.precoder_age = 4; });
}

TEST(Validate, WantsRoomBetweenPilotsAndTheDownlinkTheyServe) {
  // 274 samples of 1.92 MHz are 0.142708 ms.
  expect_problem("deadlines.downlink_lead_ms",
                 "must leave at -0.143 ms of the frame, but the pilots it is precoded with end at "
                 "0.143 ms;",
                 [](FrameFormat& f) { f.schedule = "PPDD", f.deadlines.downlink_lead_ms = 0.286; });
  expect_problem("deadlines.downlink_lead_ms", "set deadlines.precoder_age to 1 or more",
                 [](FrameFormat& f) { f.schedule = "PPGDDD"; });
  expect_problem("deadlines.downlink_lead_ms", "set deadlines.precoder_age to 1 or more",
                 [](FrameFormat& f) { f.schedule = "DDPP"; });
  expect_valid([](FrameFormat& f) { f.schedule = "PPGDDD", f.deadlines.precoder_age = 1; });
  expect_valid([](FrameFormat& f) { f.schedule = "DDPP", f.deadlines.precoder_age = 2; });
  expect_valid([](FrameFormat& f) { f.schedule = "PPGDDD", f.deadlines.downlink_lead_ms = 0.05; });
}
