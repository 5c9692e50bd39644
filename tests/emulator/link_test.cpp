#include "emulator/link.hpp"

#include <cmath>
#include <string>
#include <utility>

#include "support/test.hpp"
#include "support/watched.hpp"

using namespace carillon;
using emulator::ChannelKind;
using emulator::LinkCounts;
using emulator::LinkResult;
using emulator::LinkSimulator;
using emulator::RadioPlan;
using emulator::UplinkPath;

namespace {

frame::FrameFormat cell(std::uint32_t antennas, std::uint32_t users, const std::string& data) {
  frame::FrameFormat format;
  format.antennas = antennas;
  format.users = users;
  format.numerology.fft_size = 256;
  format.numerology.subcarriers = 180;
  format.numerology.prefix_samples = 18;
  format.schedule = std::string(users, 'P') + data;
  format.deadlines.downlink_lead_ms = 0;
  return format;
}

LinkResult simulate(const frame::FrameFormat& format, const RadioPlan& plan, std::uint64_t frames,
                    std::uint64_t first = 0) {
  const frame::Frame frame(format);
  return LinkSimulator(frame, plan).run(first, frames);
}

double ratio(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

// Mean difference of what a figure is in each of `frames` frames by the two ways of the uplink,
// which have payload and channel in common, and its standard error.
struct Difference {
  double mean = 0, error = 0, by_samples = 0;
};

template <typename Figure>
Difference difference(const frame::FrameFormat& format, const RadioPlan& plan, int frames,
                      Figure&& figure) {
  const frame::Frame frame(format);
  LinkSimulator by_subcarriers(frame, plan), by_samples(frame, plan, UplinkPath::Samples);
  double sum = 0, squares = 0;
  Difference d;
  for (int i = 0; i < frames; ++i) {
    const double samples = figure(by_samples.run(static_cast<std::uint64_t>(i), 1));
    const double x = figure(by_subcarriers.run(static_cast<std::uint64_t>(i), 1)) - samples;
    sum += x;
    squares += x * x;
    d.by_samples += samples / frames;
  }
  d.mean = sum / frames;
  d.error = std::sqrt((squares / frames - d.mean * d.mean) / (frames - 1));
  return d;
}

double from_db(double decibels) { return std::pow(10, decibels / 10); }

}  // namespace

TEST(Link, NothingIsLostAtHighSignalToNoiseRatio) {
  const auto r = simulate(cell(8, 2, "UUUUUDDDDD"), {.snr_db = {30}}, 4);
  for (const auto& side : {r.uplink, r.downlink}) {
    const auto sum = side.total();
    EXPECT_EQ(sum.blocks, 8U);
    EXPECT_EQ(sum.code_blocks, 8U);
    EXPECT_EQ(sum.block_errors, 0U);
    EXPECT_EQ(sum.payload_errors, 0U);
    EXPECT_EQ(sum.raw_errors, 0U);
    EXPECT_GT(sum.payload_bits, 0U);
  }
  EXPECT_EQ(r.uplink.total().raw_bits, 4U * 2 * 5 * 180 * 4);
  EXPECT_EQ(r.downlink.total().raw_bits, 4U * 2 * 4 * 180 * 4);  // one symbol of references
  EXPECT_EQ(r.clipped, 0U);
  EXPECT_EQ(r.ill_conditioned, 0U);
}

TEST(Link, FarBelowTheNoiseBitsAreGuessed) {
  const auto r = simulate(cell(8, 2, "UUUUUDDDDD"), {.snr_db = {-40}}, 4);
  for (const auto& side : {r.uplink, r.downlink}) {
    const auto sum = side.total();
    EXPECT_EQ(sum.block_errors, sum.blocks);
    EXPECT_EQ(sum.undetected, 0U);
    EXPECT_NEAR(ratio(sum.raw_errors, sum.raw_bits), 0.5, 0.02);
    EXPECT_NEAR(ratio(sum.payload_errors, sum.payload_bits), 0.5, 0.1);
  }
}

// One user, one antenna, no fading: QPSK has error rate Q(sqrt(SNR)). Of the channel estimate's
// error only the phase moves a symbol's sign; averaged over 16 pilots it adds 1/32 to the noise.
// Rate 0.5 keeps soft bits at their places in the codeword, rate 0.1 repeats bits.
TEST(Link, UncodedErrorRateOfQpskIsTheTextbooks) {
  for (const double rate : {0.5, 0.1})
    for (const double snr_db : {0.0, 4.0, 7.0}) {
      auto format = cell(1, 1, "UUUUUUUUUUUUU");
      format.numerology.subcarriers = 192;  // whole groups
      format.uplink.modulation = frame::ModulationChoice::Qpsk;
      format.uplink.rate = rate;
      const RadioPlan plan{.channel = ChannelKind::Awgn, .snr_db = {snr_db}};
      const auto sum = simulate(format, plan, 100).uplink.total();
      const double expected = 0.5 * std::erfc(std::sqrt(from_db(snr_db) / (1 + 1.0 / 32) / 2));
      const double error = std::sqrt(expected / static_cast<double>(sum.raw_bits));
      EXPECT_NEAR(ratio(sum.raw_errors, sum.raw_bits), expected, 4 * error + 0.02 * expected);
    }
}

// Sixteen orthogonal users at sixteen antennas, 20 dB each: zero-forcing keeps the array's 12.04
// dB, and a channel estimated from one pilot as noisy as the data costs 3.01 of them.
TEST(Link, OrthogonalUsersHaveTheWholeArrayWhateverTheSeed) {
  auto format = cell(16, 16, "UUUU");
  format.numerology.subcarriers = 240;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const RadioPlan plan{.seed = seed, .channel = ChannelKind::Awgn, .snr_db = {20}};
    const auto result = simulate(format, plan, 40);
    for (const auto& user : result.uplink.users)
      EXPECT_NEAR(10 * std::log10(static_cast<double>(user.symbols) / user.noise_power), 29.0, 0.3);
  }
}

TEST(Link, MeasuredSignalAndNoisePowersAreTheConfiguredOnes) {
  struct Case {
    std::uint32_t antennas, users, comb;
    std::vector<double> snr_db;
  };
  for (const Case& c :
       {Case{1, 1, 1, {3}}, Case{8, 2, 1, {20, 0}}, Case{16, 8, 4, {10}}, Case{64, 4, 1, {-6}},
        Case{32, 3, 2, {12, 0, 24}}, Case{256, 2, 1, {-10, 15}}}) {
    auto format = cell(c.antennas, c.users, "U");
    if (c.comb > 1) {
      format.pilots.kind = frame::PilotKind::Comb;
      format.pilots.comb = c.comb;
    }
    for (const auto channel : {ChannelKind::Awgn, ChannelKind::Rayleigh}) {
      const std::uint64_t frames = channel == ChannelKind::Awgn ? 10 : 6400 / c.antennas / c.users;
      const RadioPlan plan{.channel = channel, .snr_db = c.snr_db};
      const auto r = simulate(format, plan, frames);
      EXPECT_NEAR(r.noise_estimate, 1, 0.1);
      for (std::uint32_t u = 0; u < c.users; ++u) {
        const double snr = from_db(plan.snr_of(u));
        // Fading has the spread of its draws, noise that of its samples.
        const double draws = static_cast<double>(frames) * c.antennas;
        const double samples = draws * 180 / c.comb;
        const double error = (channel == ChannelKind::Awgn ? 0 : snr / std::sqrt(draws)) +
                             std::sqrt((2 * snr + 1) / samples);
        EXPECT_NEAR(r.signal_power[u], snr, 4 * error + 0.002 * snr);
      }
    }
  }
}

// An OFDM signal within its prefix is exactly diagonalised and white noise stays white, so that
// nothing may tell the two ways apart.
TEST(Link, SubcarriersShowWhatSamplesShow) {
  struct Case {
    std::uint32_t antennas, users, comb, subcarriers;
    bool dc_hole;
    RadioPlan plan;
  };
  unsigned which = 0;
  for (const Case& c :
       {Case{8, 2, 1, 180, false, {.snr_db = {0}}},
        Case{16, 4, 4, 180, true, {.taps = 3, .delay_spread_ns = 80, .snr_db = {2}}},
        Case{5, 3, 2, 100, false, {.taps = 2, .snr_db = {12, 3, 25}}},
        Case{4, 2, 1, 200, true, {.channel = ChannelKind::Awgn, .snr_db = {5}}}}) {
    if (test::left_out(which++)) continue;
    auto format = cell(c.antennas, c.users, "UUUUUU");
    format.numerology.subcarriers = c.subcarriers;
    format.numerology.dc_hole = c.dc_hole;
    if (c.comb > 1) {
      format.pilots.kind = frame::PilotKind::Comb;
      format.pilots.comb = c.comb;
    }
    const auto same = [&](double least_precision, auto&& figure) {
      const auto d = difference(format, c.plan, 100, figure);
      EXPECT_LT(std::abs(d.mean), 4 * d.error);
      EXPECT_LT(d.error, least_precision * d.by_samples);
      EXPECT_GT(d.by_samples, 0);
    };
    same(0.02, [](const LinkResult& r) {
      const auto sum = r.uplink.total();
      return ratio(sum.raw_errors, sum.raw_bits);
    });
    same(0.1, [](const LinkResult& r) { return r.uplink.total().error_power; });
    same(0.05, [](const LinkResult& r) { return r.uplink.total().noise_power; });
    same(0.05,
         [](const LinkResult& r) { return static_cast<double>(r.uplink.total().iterations); });
    same(0.01, [](const LinkResult& r) { return r.noise_estimate; });
    for (std::size_t u = 0; u < c.users; ++u)
      same(0.02, [u](const LinkResult& r) { return r.signal_power[u]; });
  }
}

TEST(Link, OnlyTheWeakUserFails) {
  const auto r = simulate(cell(8, 3, "UUUUU"), {.snr_db = {25, -30, 25}}, 3);
  for (std::uint32_t u = 0; u < 3; ++u) {
    EXPECT_EQ(r.uplink.users[u].blocks, 3U);
    EXPECT_EQ(r.uplink.users[u].block_errors, u == 1 ? 3U : 0U);
  }
}

TEST(Link, FrameDependsOnItsNumberAlone) {
  const auto format = cell(8, 2, "UUUDDD");
  const RadioPlan plan{.snr_db = {-4}};
  const auto whole = simulate(format, plan, 6);
  const auto first = simulate(format, plan, 2), rest = simulate(format, plan, 4, 2);
  const auto sum = [](const emulator::LinkSide& a, const emulator::LinkSide& b) {
    LinkCounts counts = a.total();
    return counts += b.total();
  };
  const LinkCounts up = sum(first.uplink, rest.uplink), down = sum(first.downlink, rest.downlink);
  EXPECT_EQ(up.raw_errors, whole.uplink.total().raw_errors);
  EXPECT_EQ(up.payload_errors, whole.uplink.total().payload_errors);
  EXPECT_EQ(up.iterations, whole.uplink.total().iterations);
  EXPECT_EQ(down.raw_errors, whole.downlink.total().raw_errors);
  EXPECT_GT(up.raw_errors, 0U);
  RadioPlan other = plan;
  other.seed = 2;
  EXPECT_NE(simulate(format, other, 6).uplink.total().raw_errors, up.raw_errors);
}

TEST(Link, ErrorsFallAsTheSignalRises) {
  auto format = cell(16, 4, "UUUUUUDDDD");
  double previous = 1;
  for (const double snr_db : {-10.0, -4.0, 2.0, 8.0}) {
    const auto r = simulate(format, {.snr_db = {snr_db}}, 20);
    const auto sum = r.uplink.total();
    const double raw = ratio(sum.raw_errors, sum.raw_bits);
    EXPECT_LT(raw, previous);
    previous = raw;
    EXPECT_GE(sum.block_errors, sum.undetected);
    if (snr_db == 8.0) {
      EXPECT_EQ(sum.block_errors, 0U);
    }
  }
}

TEST(Link, PredictedNoiseIsWhatTheSymbolsShow) {
  auto format = cell(16, 4, "UUUUUU");
  format.uplink.modulation = frame::ModulationChoice::Qpsk;
  for (const std::uint32_t group : {1U, 4U, 16U}) {  // whose channel estimates differ in quality
    format.combiner.group = group;
    const auto sum = simulate(format, {.snr_db = {20}}, 40).uplink.total();
    EXPECT_GT(sum.symbols, 0U);
    EXPECT_NEAR(sum.error_power / sum.noise_power, 1, 0.1);
  }
}

TEST(Link, DownlinkWaitsForAnOlderFramesPrecoder) {
  auto format = cell(8, 2, "UUUDDD");
  format.deadlines.precoder_age = 1;
  const RadioPlan plan{.coherence_frames = 100, .snr_db = {25}};
  const auto r = simulate(format, plan, 3);
  EXPECT_EQ(r.uplink.total().blocks, 6U);
  EXPECT_EQ(r.downlink.total().blocks, 4U);
  EXPECT_EQ(r.downlink.total().block_errors, 0U);
}

TEST(Link, ASimulatorStartsAnewWithOtherConditions) {
  auto format = cell(8, 2, "UUUDDD");
  format.deadlines.precoder_age = 1;
  const RadioPlan before{.coherence_frames = 100, .snr_db = {25}}, plan{.seed = 5, .snr_db = {0}};
  const frame::Frame frame(format);
  LinkSimulator simulator(frame, before);
  simulator.run(0, 4);
  simulator.set_radio(plan);
  const auto again = simulator.run(4, 3), fresh = simulate(format, plan, 3, 4);
  EXPECT_EQ(again.downlink.total().blocks, 4U);  // frame 4 waits for its precoder
  EXPECT_EQ(again.uplink.total().raw_errors, fresh.uplink.total().raw_errors);
  EXPECT_EQ(again.downlink.total().raw_errors, fresh.downlink.total().raw_errors);
  EXPECT_EQ(again.signal_power[0], fresh.signal_power[0]);
}

// Four slots of 2 ms: after one the channel of 60 Hz is hardly the same, after two it is another.
TEST(Link, PilotOccasionsFollowAChannelThatMoves) {
  const std::string data = "GDDDUUU" + std::string(19, 'G');
  const auto blocks_lost = [&](std::uint32_t occasions, UplinkPath path) {
    auto format = cell(8, 2, "");
    format.schedule.clear();
    for (std::uint32_t slot = 0; slot < 4; ++slot)
      format.schedule += (slot < occasions ? "PP" : "GG") + data;
    format.symbols_per_slot = 28;
    format.pilots.occasions = occasions;
    format.uplink.rate = format.downlink.rate = 0.5;
    const frame::Frame frame(format);
    const auto r = LinkSimulator(frame, {.doppler_hz = 60, .snr_db = {30}}, path).run(0, 20);
    const auto up = r.uplink.total(), down = r.downlink.total();
    EXPECT_EQ(up.blocks, 20U * 2 * 4);
    EXPECT_EQ(down.blocks, 20U * 2 * 4);
    EXPECT_NEAR(r.noise_estimate, 1, 0.05);
    for (const double power : r.signal_power) EXPECT_NEAR(power / 1000, 1, 0.3);
    return std::pair(ratio(up.block_errors, up.blocks), ratio(down.block_errors, down.blocks));
  };
  for (const auto path : {UplinkPath::Subcarriers, UplinkPath::Samples}) {
    const auto [up, down] = blocks_lost(4, path);
    EXPECT_LE(up, 0.01);
    EXPECT_LE(down, 0.01);
    const auto [up_of_one, down_of_one] = blocks_lost(1, path);
    EXPECT_GE(up_of_one, 0.4);
    EXPECT_GE(down_of_one, 0.4);
  }
}

TEST(Link, BlocksOfSeveralCodeBlocksAreCountedOnce) {
  auto format = cell(8, 2, "UUUUUUUUUUUU");
  format.uplink.modulation = frame::ModulationChoice::Qam256;
  format.uplink.rate = 0.8;
  const auto sum = simulate(format, {.snr_db = {35}}, 2).uplink.total();
  EXPECT_EQ(sum.blocks, 4U);
  EXPECT_GT(sum.code_blocks, sum.blocks);
  EXPECT_EQ(sum.block_errors, 0U);
  EXPECT_EQ(sum.code_block_errors, 0U);
}

// Read from the third place on, a limited buffer of this rate ends before the core's parity.
TEST(Link, ParityThatWasNotSentFollowsFromThePayload) {
  auto format = cell(8, 2, "UUUUUDDDDDD");
  for (auto* side : {&format.uplink, &format.downlink}) {
    side->crc = false;
    side->rate = 0.85;
    side->redundancy_version = 3;
    side->buffer_limit = 0.7;
  }
  const auto r = simulate(format, {.snr_db = {45}}, 4);
  for (const auto& side : {r.uplink, r.downlink}) {
    const auto sum = side.total();
    EXPECT_EQ(sum.payload_errors, 0U);
    EXPECT_EQ(sum.code_block_errors, 0U);
    EXPECT_EQ(sum.block_errors, 0U);
  }
}

// One iteration leaves blocks whose parity alone is wrong still.
TEST(Link, BlocksWithoutACrcCountByWhatWasSentThoughTheirChecksFail) {
  auto format = cell(8, 2, "UUUUUDDDDDD");
  for (auto* side : {&format.uplink, &format.downlink}) {
    side->crc = false;
    side->rate = 0.5;
    side->iterations = 1;
  }
  const auto r = simulate(format, {.snr_db = {9}}, 20);
  for (const auto& side : {r.uplink, r.downlink}) {
    const auto sum = side.total();
    EXPECT_GT(sum.block_errors, 0U);
    EXPECT_LT(sum.block_errors, sum.code_block_errors);
    EXPECT_GE(sum.payload_errors, sum.block_errors);
  }
}
