#include "emulator/channel.hpp"

#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "support/test.hpp"

using namespace carillon;
using emulator::Channel;
using emulator::RadioPlan;

namespace {

using Value = std::complex<double>;

frame::FrameFormat cell(std::uint32_t antennas, std::uint32_t users) {
  frame::FrameFormat format;
  format.antennas = antennas;
  format.users = users;
  format.schedule = std::string(users, 'P') + "UU";
  return format;
}

Value coefficient(const Channel& channel, std::uint32_t user, std::uint32_t antenna,
                  std::uint32_t subcarrier) {
  const auto h = channel.coefficient(user, antenna, subcarrier);
  return {static_cast<double>(h.re), static_cast<double>(h.im)};
}

// Calls visit(user, h) for a subcarrier of every user, antenna and frame.
template <typename Visit>
void draw(const frame::Frame& frame, const RadioPlan& plan, std::uint32_t frames,
          std::uint32_t subcarrier, Visit&& visit) {
  Channel channel(frame, plan);
  for (std::uint32_t i = 0; i < frames; ++i) {
    channel.select(i);
    for (std::uint32_t u = 0; u < frame.format().users; ++u)
      for (std::uint32_t a = 0; a < frame.format().antennas; ++a)
        visit(u, coefficient(channel, u, a, subcarrier));
  }
}

}  // namespace

TEST(Channel, EachUserHasItsConfiguredMeanPower) {
  const frame::Frame frame(cell(16, 3));
  RadioPlan plan;
  plan.snr_db = {-10, 0, 17};
  for (const std::uint32_t taps : {1U, 4U}) {
    plan.taps = taps;
    double power[3] = {};
    draw(frame, plan, 1000, 123, [&](std::uint32_t u, Value h) { power[u] += std::norm(h); });
    for (std::uint32_t u = 0; u < 3; ++u)  // 16 000 draws: 0.8 % standard error
      EXPECT_NEAR(power[u] / 16000 / std::pow(10, plan.snr_db[u] / 10), 1, 0.03);
  }
}

TEST(Channel, RayleighPowerIsExponential) {
  const frame::Frame frame(cell(16, 2));
  RadioPlan plan;
  plan.snr_db = {0};
  int above[3] = {}, count = 0;
  Value mean = 0;
  draw(frame, plan, 500, 0, [&](std::uint32_t, Value h) {
    for (int i = 0; i < 3; ++i) above[i] += std::norm(h) > i + 0.5;
    mean += h;
    ++count;
  });
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(static_cast<double>(above[i]) / count, std::exp(-(i + 0.5)), 0.016);
  EXPECT_NEAR(std::abs(mean) / count, 0, 0.03);
}

TEST(Channel, AntennasUsersAndFramesFadeIndependently) {
  const frame::Frame frame(cell(4, 2));
  Channel channel(frame, RadioPlan{.snr_db = {0}});
  constexpr int kFrames = 4000;
  Value antennas = 0, users = 0, frames = 0, before = 0;
  for (int i = 0; i < kFrames; ++i) {
    channel.select(static_cast<std::uint64_t>(i));
    const Value h = coefficient(channel, 0, 0, 0);
    antennas += h * std::conj(coefficient(channel, 0, 1, 0));
    users += h * std::conj(coefficient(channel, 1, 0, 0));
    frames += h * std::conj(before);
    before = h;
  }
  for (const Value sum : {antennas, users, frames}) EXPECT_LT(std::abs(sum) / kFrames, 0.06);
}

// |E h(f) h*(f + d)|² = 1 - (2π d τ)² + … for any profile of rms spread τ.
TEST(Channel, SelectiveChannelHasTheConfiguredDelaySpread) {
  const frame::Frame frame(cell(16, 2));
  for (const std::uint32_t taps : {2U, 8U}) {
    RadioPlan plan{.taps = taps, .delay_spread_ns = 500, .snr_db = {0}};
    Channel channel(frame, plan);
    constexpr std::uint32_t kStep = 8;
    Value correlation = 0;
    double power = 0;
    for (std::uint64_t i = 0; i < 400; ++i) {
      channel.select(i);
      for (std::uint32_t u = 0; u < 2; ++u)
        for (std::uint32_t a = 0; a < 16; ++a)
          for (std::uint32_t k = 0; k + kStep < 300; k += 60) {
            const Value h = coefficient(channel, u, a, k);
            correlation += h * std::conj(coefficient(channel, u, a, k + kStep));
            power += std::norm(h);
          }
    }
    const double x = 2 * std::numbers::pi * kStep * 15e3 * 500e-9;
    const double lost = 1 - std::norm(correlation / power);
    EXPECT_NEAR(lost / (x * x), 1, 0.2);
  }
}

TEST(Channel, StandsStillForTheCoherenceTimeAndThenMovesOn) {
  const frame::Frame frame(cell(4, 2));
  for (const std::uint32_t taps : {1U, 3U}) {
    RadioPlan plan{.taps = taps, .coherence_frames = 4};
    Channel channel(frame, plan);
    channel.select(0);
    const Value first = coefficient(channel, 1, 2, 40);
    channel.select(3);
    EXPECT_TRUE(coefficient(channel, 1, 2, 40) == first);
    channel.select(4);
    EXPECT_FALSE(coefficient(channel, 1, 2, 40) == first);
    channel.select(1);
    EXPECT_TRUE(coefficient(channel, 1, 2, 40) == first);
  }
}

TEST(Channel, PiecesMakeTheSameChannelAndTilesHoldIt) {
  const frame::Frame frame(cell(64, 2));  // padded rows
  RadioPlan plan{.taps = 5, .delay_spread_ns = 300};
  Channel whole(frame, plan), pieces(frame, plan);
  whole.select(7);
  pieces.begin(7);
  while (pieces.step()) {
  }
  for (std::uint32_t u = 0; u < 2; ++u)
    for (std::uint32_t a = 0; a < 64; a += 9)
      for (std::uint32_t k = 0; k < 300; k += 7) {
        const auto h = whole.coefficient(u, a, k);
        EXPECT_TRUE(coefficient(whole, u, a, k) == coefficient(pieces, u, a, k));
        const auto& tile =
            whole.response(k / phy::kTileLanes)[u * frame.array().antenna_stride + a];
        EXPECT_EQ(tile.re[k % phy::kTileLanes], h.re);
        EXPECT_EQ(tile.im[k % phy::kTileLanes], h.im);
      }
}

TEST(Channel, WithoutFadingUsersAreOrthogonalAndHaveTheirPowerAtEachAntenna) {
  for (const std::uint32_t antennas : {1, 2, 3, 7, 16, 64, 100, 256})
    for (const std::uint64_t seed : {1, 2}) {
      const std::uint32_t users = std::min(antennas, 5U);
      const frame::Frame frame(cell(antennas, users));
      const RadioPlan plan{
          .seed = seed, .channel = emulator::ChannelKind::Awgn, .snr_db = {20, 6, 0, -3, 40}};
      Channel channel(frame, plan);
      channel.select(0);
      for (std::uint32_t u = 0; u < users; ++u)
        for (std::uint32_t v = 0; v <= u; ++v) {
          Value product = 0;
          for (std::uint32_t a = 0; a < antennas; ++a) {
            const Value h = coefficient(channel, u, a, 5);
            EXPECT_NEAR(std::abs(h), std::pow(10, plan.snr_of(u) / 20), 1e-6 * std::abs(h));
            product += h * std::conj(coefficient(channel, v, a, 5));
          }
          const double expected = u == v ? antennas * std::pow(10, plan.snr_of(u) / 10) : 0;
          const double amplitudes = std::pow(10, (plan.snr_of(u) + plan.snr_of(v)) / 20);
          EXPECT_NEAR(std::abs(product), expected, 1e-5 * antennas * amplitudes);
        }
    }
}

TEST(Channel, WithoutFadingItStandsStillAndTheSeedMovesIt) {
  const frame::Frame frame(cell(4, 2));
  RadioPlan plan{.channel = emulator::ChannelKind::Awgn};
  Channel channel(frame, plan);
  channel.select(0);
  const Value first = coefficient(channel, 1, 3, 5);
  channel.select(1);
  EXPECT_TRUE(coefficient(channel, 1, 3, 5) == first);
  plan.seed = 9;
  Channel other(frame, plan);
  other.select(0);
  EXPECT_FALSE(coefficient(other, 1, 3, 5) == first);
}

// Clarke: over a time t a tap's correlation is J0(2π f t), and its power stays the same.
TEST(Channel, ChangesAsForUsersThatMove) {
  frame::FrameFormat format = cell(16, 2);
  format.schedule = "PP" + std::string(68, 'U');
  const frame::Frame frame(format);
  for (const std::uint32_t taps : {1U, 3U}) {
    const RadioPlan plan{.taps = taps, .doppler_hz = 80, .snr_db = {0}};
    Channel channel(frame, plan);
    const std::vector<std::uint32_t> later{0, 5, 20, 40, 69};
    std::vector<Value> correlation(later.size());
    std::vector<double> power(later.size());
    constexpr int kFrames = 400;
    for (std::uint64_t i = 0; i < kFrames; ++i) {
      std::vector<Value> first;
      for (std::size_t n = 0; n < later.size(); ++n) {
        channel.select(i, later[n]);
        for (std::uint32_t u = 0; u < 2; ++u)
          for (std::uint32_t a = 0; a < 16; ++a) {
            const Value h = coefficient(channel, u, a, 200);
            if (n == 0) first.push_back(h);
            correlation[n] += h * std::conj(first[16 * u + a]);
            power[n] += std::norm(h);
          }
      }
    }
    const auto middle = [&](std::uint32_t s) {
      return static_cast<double>(frame.symbol(s).start + frame.symbol(s).end) / 2 * 1e-9;
    };
    for (std::size_t n = 0; n < later.size(); ++n) {
      const double x = 2 * std::numbers::pi * 80 * (middle(later[n]) - middle(0));
      EXPECT_NEAR(power[n] / (32 * kFrames), 1, 0.03);
      EXPECT_NEAR(std::abs(correlation[n] / (32.0 * kFrames) - std::cyl_bessel_j(0, x)), 0, 0.05)
          << later[n] << " symbols later";
    }
  }
}

TEST(Channel, MovesOnThroughTheFramesThatShareIt) {
  const frame::Frame frame(cell(4, 2));
  const RadioPlan plan{.coherence_frames = 3, .doppler_hz = 1, .snr_db = {0}};
  Channel channel(frame, plan);
  const auto at = [&](std::uint64_t number, std::uint32_t symbol) {
    channel.select(number, symbol);
    return coefficient(channel, 1, 2, 40);
  };
  const Value first = at(0, 0);
  EXPECT_FALSE(at(0, 3) == first);
  EXPECT_LT(std::abs(at(1, 0) - first), 0.05);  // a few hundred microseconds later
  EXPECT_LT(std::abs(at(2, 3) - first), 0.05);
  EXPECT_GT(std::abs(at(3, 0) - first), 0.1);
  EXPECT_TRUE(at(0, 0) == first);
}
