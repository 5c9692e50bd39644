#include "emulator/downlink_users.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "emulator/seeded_source.hpp"
#include "emulator/uplink_generator.hpp"
#include "frame/cpu/pipeline.hpp"
#include "frame/cpu/serial.hpp"
#include "support/test.hpp"
#include "support/watched.hpp"

using namespace carillon;
using emulator::DownlinkUsers;
using emulator::RadioPlan;
using emulator::SeededSource;
using frame::Direction;

namespace {

// A cell whose pilots bring the channel up and whose precoded samples come down it again.
struct Cell {
  Cell(const frame::FrameFormat& format, const RadioPlan& plan)
      : frame(format),
        pipeline(frame, {}),
        source(frame, plan.seed),
        generator(frame, plan),
        users(frame, plan),
        samples(std::size_t{frame.samples()} * 2 * format.antennas) {
    const auto downlink = frame.symbols_of(frame::SymbolKind::Downlink);
    for (std::uint32_t slot = 0; slot < pipeline.ring(); ++slot)
      for (std::uint32_t d = 0; d < downlink.size(); ++d)
        for (std::uint32_t a = 0; a < format.antennas; ++a)
          pipeline.set_transmit(slot, d, a, at(downlink[d], a));
  }

  std::int16_t* at(std::uint32_t symbol, std::uint32_t antenna) {
    return &samples[2 *
                    (std::size_t{antenna} * frame.samples() + frame.symbol(symbol).first_sample)];
  }

  /// Of an uplink symbol and an antenna: its packet is lost.
  using Lost = std::function<bool(std::uint32_t, std::uint32_t)>;

  void transmit(std::uint64_t index, const Lost& lost = {}) {
    generator.generate(index, [&](std::uint32_t s, std::uint32_t a) { return at(s, a); });
    pipeline.begin(index);
    for (std::uint32_t s = 0; s < frame.symbols().size(); ++s)
      for (std::uint32_t a = 0; a < frame.format().antennas; ++a)
        if (!lost || !lost(s, a)) pipeline.set_samples(index, s, a, at(s, a));
    const frame::FramePlace place{static_cast<std::uint32_t>(index), 0};
    source.take(place, 0, pipeline.slot(index).downlink_bits);
    frame::run_serially(pipeline, index);
  }

  void receive(std::uint64_t channel, std::uint64_t slot) {
    users.start(channel, slot, [&](std::uint32_t s, std::uint32_t a) { return at(s, a); });
    while (users.step()) {
    }
    for (const auto& user : users.results()) {
      blocks += user.blocks;
      failed += user.failed;
    }
  }

  void run(std::uint32_t frames, const Lost& lost = {}) {
    blocks = failed = 0;
    for (std::uint64_t i = 0; i < frames; ++i) {
      transmit(i, lost);
      EXPECT_EQ(pipeline.slot(i).saturated.load(), 0U);
      receive(i, i % pipeline.ring());
    }
  }

  frame::Frame frame;
  frame::Pipeline pipeline;
  SeededSource source;
  emulator::UplinkGenerator generator;
  DownlinkUsers users;
  std::vector<std::int16_t> samples;
  std::uint32_t blocks = 0, failed = 0;
};

frame::FrameFormat cell(std::uint32_t antennas = 16, std::uint32_t users = 4) {
  frame::FrameFormat format;
  format.antennas = antennas;
  format.users = users;
  format.numerology.fft_size = 256;
  format.numerology.subcarriers = 180;
  format.numerology.prefix_samples = 18;
  format.schedule = "PPPPGDDDDDD";
  format.symbols_per_slot = 11;
  format.deadlines.downlink_lead_ms = 0;
  return format;
}

void expect_no_failure(const frame::FrameFormat& format, const RadioPlan& plan) {
  Cell c(format, plan);
  c.run(3);
  EXPECT_EQ(c.blocks, 3 * c.frame.program().transport_blocks(Direction::Downlink).size());
  EXPECT_EQ(c.failed, 0U);
}

RadioPlan radio(std::uint32_t taps, double snr_db) {
  return {.taps = taps, .delay_spread_ns = 100, .snr_db = {snr_db}};
}

}  // namespace

TEST(DownlinkUsers, ZeroForcingReachesEveryUserInFlatAndSelectiveChannels) {
  for (const std::uint32_t group : {1U, 8U, 12U, 16U})
    for (const std::uint32_t taps : {1U, 4U}) {
      auto format = cell();
      format.combiner.group = group;
      expect_no_failure(format, radio(taps, 25));
    }
}

TEST(DownlinkUsers, OtherPrecodersReachEveryUserToo) {
  for (const std::uint32_t taps : {1U, 4U}) {
    auto format = cell();
    format.combiner.kind = phy::Detector::Mmse;
    format.combiner.group = 12;
    expect_no_failure(format, radio(taps, 15));
    format = cell(64, 4);
    format.combiner.kind = phy::Detector::Conjugate;
    format.combiner.group = 1;
    format.downlink.modulation = frame::ModulationChoice::Qpsk;
    expect_no_failure(format, radio(taps, 25));
  }
}

TEST(DownlinkUsers, CombPilotsGiveThePrecoderItsChannel) {
  auto format = cell(16, 6);
  format.schedule = "PPGDDDDDDDD";
  format.pilots.kind = frame::PilotKind::Comb;
  format.pilots.comb = 4;
  for (const std::uint32_t group : {1U, 12U, 16U}) {
    format.combiner.group = group;
    expect_no_failure(format, radio(1, 25));
    expect_no_failure(format, radio(2, 25));
  }
}

TEST(DownlinkUsers, EveryModulationAndBlockSpanIsDecoded) {
  for (const auto modulation : {frame::ModulationChoice::Qpsk, frame::ModulationChoice::Qam16,
                                frame::ModulationChoice::Qam64, frame::ModulationChoice::Qam256})
    for (const auto span :
         {frame::BlockSpan::Frame, frame::BlockSpan::Slot, frame::BlockSpan::Symbol}) {
      auto format = cell();
      format.schedule = "PPPPGDDDDDDDDDDDDDDDDD";
      format.downlink.modulation = modulation;
      format.downlink.block = span;
      format.downlink.rate = 0.6;
      expect_no_failure(format, radio(1, 30));
    }
}

TEST(DownlinkUsers, BlocksWithoutChecksumAndSharedBandsAreDecoded) {
  auto format = cell();
  format.downlink.crc = false;
  expect_no_failure(format, radio(1, 25));
  format.downlink.crc = true;
  format.grants.kind = frame::GrantKind::RoundRobin;
  expect_no_failure(format, radio(4, 25));
}

// One iteration leaves blocks whose parity alone is wrong still.
TEST(DownlinkUsers, BlocksWithoutChecksumCountByWhatWasSentThoughTheirChecksFail) {
  auto format = cell(8, 2);
  format.schedule = "PPGDDDDDD";
  format.symbols_per_slot = 9;
  format.downlink.crc = false;
  format.downlink.rate = 0.5;
  format.downlink.iterations = 1;
  Cell c(format, radio(1, 10));
  std::uint32_t checks_failed = 0;
  for (std::uint32_t frame = 0; frame < 20; ++frame) {
    c.transmit(frame);
    c.receive(frame, frame % c.pipeline.ring());
    checks_failed += static_cast<std::uint32_t>(std::ranges::count(c.users.good(), 0));
  }
  EXPECT_EQ(c.blocks, 40U);
  EXPECT_GT(c.failed, 0U);
  EXPECT_LT(c.failed, checks_failed);
}

TEST(DownlinkUsers, NothingIsDecodedFarBelowTheNoise) {
  Cell c(cell(), radio(1, -30));
  c.run(3);
  EXPECT_EQ(c.failed, c.blocks);
  EXPECT_EQ(c.blocks, 12U);
}

// Unit gain for all is what the precoders aim at: the weak cost the strong.
TEST(DownlinkUsers, UsersNearAndFarHearTheSameSignal) {
  auto format = cell();
  format.downlink.modulation = frame::ModulationChoice::Qpsk;
  Cell c(format, {.snr_db = {35, 30, 20, 25}});
  c.run(5);
  EXPECT_EQ(c.failed, 0U);
  float least = 1, most = 0;
  for (const auto& user : c.users.results()) {
    least = std::min(least, user.error_power);
    most = std::max(most, user.error_power);
  }
  EXPECT_LT(most, 1.3F * least);
}

// The check is on what was sent, not only on what checks itself.
TEST(DownlinkUsers, GoodBlocksOfAnotherPayloadCountAsFailed) {
  Cell c(cell(), radio(1, 30));
  c.transmit(0);
  c.receive(0, 1);
  EXPECT_EQ(c.failed, 4U);
  for (const auto good : c.users.good()) EXPECT_TRUE(good != 0);
}

TEST(DownlinkUsers, PrecodingForAnotherChannelReachesNobody) {
  Cell c(cell(), radio(1, 30));
  c.transmit(0);
  c.receive(1, 0);
  EXPECT_EQ(c.failed, 4U);
}

TEST(DownlinkUsers, SilenceIsNotDecoded) {
  Cell c(cell(), radio(1, 30));
  c.transmit(0);
  std::fill(c.samples.begin(), c.samples.end(), std::int16_t{0});
  c.receive(0, 0);
  EXPECT_EQ(c.failed, 4U);
}

// Zero-forcing through M antennas to K users gains about M - K + 1 over a single antenna; the
// loudest antenna's limit costs a part of it.
TEST(DownlinkUsers, ErrorPowerFollowsTheSignalToNoiseRatio) {
  auto format = cell();
  format.downlink.modulation = frame::ModulationChoice::Qpsk;
  double previous = 1;
  for (const double snr_db : {10.0, 20.0, 30.0}) {
    Cell c(format, radio(1, snr_db));
    double power = 0;
    std::uint32_t symbols = 0;
    for (std::uint64_t i = 0; i < 8; ++i) {
      c.transmit(i);
      c.receive(i, i % c.pipeline.ring());
      for (const auto& user : c.users.results()) {
        power += static_cast<double>(user.error_power);
        symbols += user.symbols;
      }
    }
    const double after = symbols / power;
    EXPECT_EQ(symbols, 8U * 4 * 5 * 180);
    EXPECT_GT(after, std::pow(10, snr_db / 10) * 13 / 4);
    EXPECT_LT(after, std::pow(10, snr_db / 10) * 13);
    EXPECT_LT(power / symbols, previous / 5);
    previous = power / symbols;
  }
}

// As docs/concepts.md derives it: an antenna without all its pilots is left out, and the others
// reach the users as if it were silent.
TEST(DownlinkUsers, LostPilotsCostNoMoreThanSilentAntennas) {
  constexpr std::uint32_t kFrames = test::kWatched ? 500 : 5000;
  constexpr unsigned kLossPercent = 5;
  struct {
    std::uint32_t antennas, users;
    double snr_db;
  } const cases[] = {{4, 2, 12}, {8, 4, 9}};
  for (const auto& [antennas, users, snr_db] : cases) {
    auto format = cell(antennas, users);
    format.schedule = std::string(users, 'P') + "GDD";
    format.symbols_per_slot = users + 3;
    format.downlink.modulation = frame::ModulationChoice::Qpsk;
    format.downlink.rate = 0.5;
    Cell c(format, radio(1, snr_db));
    const auto failed = [&, of = &c](const Cell::Lost& lost) {
      of->run(kFrames, lost);
      return static_cast<double>(of->failed) / of->blocks;
    };
    Random random(5, 0);
    std::vector<std::uint32_t> frames(antennas + 1);  // by how many antennas lack a pilot
    std::vector<bool> lacking(antennas);
    const double measured = failed([&, of = users](std::uint32_t symbol, std::uint32_t antenna) {
      if (symbol >= of) return false;
      const bool lost = random.next() % 100 < kLossPercent;
      lacking[antenna] = lost || (symbol > 0 && lacking[antenna]);
      if (symbol == of - 1 && antenna == lacking.size() - 1)
        ++frames[static_cast<std::size_t>(std::ranges::count(lacking, true))];
      return lost;
    });
    double allowed = 0;
    for (std::uint32_t m = 0; m <= antennas; ++m) {
      const bool solvable = m + users <= antennas;
      const double bler = solvable ? failed([&](auto, auto a) { return a < m; }) : 1;
      allowed += bler * frames[m] / kFrames;
    }
    EXPECT_GT(allowed, 0.005);
    // Three standard deviations of what so few failures say.
    EXPECT_NEAR(measured / allowed, 1, test::kWatched ? 0.9 : 0.3) << antennas << 'x' << users;
  }
}

TEST(DownlinkUsers, NoiseFollowsFromItsNumber) {
  Cell c(cell(), radio(1, 10));
  c.transmit(0);
  std::vector<float> powers;
  for (const std::uint64_t number : {7U, 7U, 8U}) {
    c.users.seed_noise(number);
    c.receive(0, 0);
    powers.push_back(c.users.results()[0].error_power);
  }
  EXPECT_EQ(powers[0], powers[1]);
  EXPECT_NE(powers[0], powers[2]);
}
