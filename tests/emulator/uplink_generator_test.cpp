#include "emulator/uplink_generator.hpp"

#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>
#include <vector>

#include "support/fourier.hpp"
#include "support/test.hpp"

using namespace carillon;
using emulator::RadioPlan;
using emulator::UplinkGenerator;
using frame::SymbolKind;

namespace {

using test::transform;
using test::Value;

struct Generated {
  Generated(const frame::FrameFormat& format, const RadioPlan& plan)
      : frame(format),
        generator(frame, plan),
        samples(std::size_t{frame.samples()} * 2 * format.antennas) {}

  std::int16_t* at(std::uint32_t symbol, std::uint32_t antenna) {
    return &samples[2 *
                    (std::size_t{antenna} * frame.samples() + frame.symbol(symbol).first_sample)];
  }
  void make(std::uint64_t index) {
    generator.generate(index, [&](std::uint32_t s, std::uint32_t a) { return at(s, a); });
  }
  // Bins of an antenna-symbol in units of the noise's amplitude; used ones first, as used
  // subcarriers.
  std::vector<Value> bins(std::uint32_t symbol, std::uint32_t antenna) {
    const std::uint32_t n = frame.format().numerology.fft_size;
    const std::uint32_t used = frame.format().numerology.subcarriers;
    const std::int16_t* from = at(symbol, antenna) + 2 * frame.symbol(symbol).prefix;
    std::vector<Value> x;
    for (std::uint32_t i = 0; i < n; ++i)
      x.emplace_back(from[2 * i] / 32768.0 / generator.scale(),
                     from[2 * i + 1] / 32768.0 / generator.scale());
    const auto y = transform(x);
    return test::used_first(y, used);
  }

  frame::Frame frame;
  UplinkGenerator generator;
  std::vector<std::int16_t> samples;
};

struct Power {
  double used = 0, unused = 0;
  std::size_t used_count = 0, unused_count = 0;

  void add(const std::vector<Value>& bins, std::size_t used_bins) {
    for (std::size_t i = 0; i < bins.size(); ++i)
      (i < used_bins ? used : unused) += std::norm(bins[i]);
    used_count += used_bins;
    unused_count += bins.size() - used_bins;
  }
  double signal() const { return used / static_cast<double>(used_count); }
  double noise() const { return unused / static_cast<double>(unused_count); }
};

frame::FrameFormat cell(std::uint32_t antennas, std::uint32_t users) {
  frame::FrameFormat format;
  format.antennas = antennas;
  format.users = users;
  format.numerology.fft_size = 256;
  format.numerology.subcarriers = 180;
  format.numerology.prefix = frame::PrefixKind::Constant;
  format.numerology.prefix_samples = 20;
  format.schedule = std::string(users, 'P') + "UUUU";
  return format;
}

}  // namespace

// The signal-to-noise ratio means what it says, whatever the array's size: every user's pilots have
// its channel's power over the noise's, which is 1 on used and unused subcarriers.
TEST(UplinkGenerator, PilotsAndNoiseHaveTheConfiguredPowers) {
  struct Case {
    std::uint32_t antennas, users, taps;
    std::vector<double> snr_db;
  };
  for (const Case& c : {Case{4, 1, 1, {-6}}, Case{8, 2, 1, {20, 3}}, Case{16, 4, 4, {10}},
                        Case{32, 8, 1, {0}}, Case{24, 3, 2, {30, 10, -3}}}) {
    Generated g(cell(c.antennas, c.users), {.taps = c.taps, .snr_db = c.snr_db});
    g.make(3);
    Power data;
    double expected_data = 1;
    for (std::uint32_t u = 0; u < c.users; ++u) {
      Power pilots;
      double expected = 0;
      for (std::uint32_t a = 0; a < c.antennas; ++a) {
        pilots.add(g.bins(u, a), 180);
        for (std::uint32_t k = 0; k < 180; ++k) {
          const auto h = g.generator.channel().coefficient(u, a, k);
          expected += static_cast<double>(h.re * h.re + h.im * h.im) / (180 * c.antennas);
        }
      }
      EXPECT_NEAR(pilots.signal() / (expected + 1), 1, 0.09);
      expected_data += expected;
    }
    for (std::uint32_t s = c.users; s < c.users + 4; ++s)
      for (std::uint32_t a = 0; a < c.antennas; ++a) data.add(g.bins(s, a), 180);
    EXPECT_NEAR(data.noise(), 1, 0.1);
    EXPECT_NEAR(data.signal() / expected_data, 1, 0.08);
    EXPECT_EQ(g.generator.clipped(), 0U);
  }
}

TEST(UplinkGenerator, NoiseIsWhiteOverTheWholeSampledBand) {
  Generated g(cell(16, 2), {.snr_db = {-60}});  // nothing but noise
  std::vector<double> power(256);
  for (std::uint64_t i = 0; i < 10; ++i) {
    g.make(i);
    for (std::uint32_t s = 0; s < 6; ++s)
      for (std::uint32_t a = 0; a < 16; ++a) {
        const auto bins = g.bins(s, a);
        for (std::size_t k = 0; k < 256; ++k) power[k] += std::norm(bins[k]) / 960;
      }
  }
  for (const double p : power) EXPECT_NEAR(p, 1, 0.16);  // 5 standard errors
}

// At an antenna, a user's data after its channel is undone are constellation points.
TEST(UplinkGenerator, DataPassThroughTheChannelOfEachSubcarrier) {
  auto format = cell(2, 1);
  format.uplink.modulation = frame::ModulationChoice::Qpsk;
  Generated g(format, {.taps = 4, .delay_spread_ns = 400, .snr_db = {60}});
  g.make(0);
  for (std::uint32_t s = 1; s < 5; ++s)
    for (std::uint32_t a = 0; a < 2; ++a) {
      const auto bins = g.bins(s, a);
      for (std::uint32_t k = 0; k < 180; ++k) {
        const auto h = g.generator.channel().coefficient(0, a, k);
        const Value gain(static_cast<double>(h.re), static_cast<double>(h.im));
        if (std::abs(gain) < 100) continue;  // in a fade
        const Value x = bins[k] / gain;
        EXPECT_NEAR(std::abs(x.real()), std::sqrt(0.5), 0.05);
        EXPECT_NEAR(std::abs(x.imag()), std::sqrt(0.5), 0.05);
      }
    }
}

TEST(UplinkGenerator, PrefixRepeatsTheEndOfItsSymbol) {
  Generated g(cell(2, 1), {.channel = emulator::ChannelKind::Awgn, .snr_db = {60}});
  g.make(0);
  for (std::uint32_t s = 0; s < 5; ++s)
    for (std::uint32_t i = 0; i < 40; ++i)
      EXPECT_NEAR(g.at(s, 1)[i], g.at(s, 1)[i + 512], 40);  // of about 4000, noise 4
}

TEST(UplinkGenerator, SamplesStayFarFromFullScale) {
  Generated g(cell(8, 2), {.snr_db = {25, -5}});
  double power = 0;
  for (std::uint64_t i = 0; i < 40; ++i) {
    g.make(i);
    for (const auto sample : g.samples) power += std::pow(sample / 32768.0, 2);
  }
  power /= 40 * static_cast<double>(g.samples.size()) / 2;
  EXPECT_NEAR(10 * std::log10(power), -18, 1.5);  // pilots have one user each
}

TEST(UplinkGenerator, FrameFollowsFromItsIndexAndSeedAlone) {
  const RadioPlan plan{.taps = 2};
  Generated a(cell(4, 2), plan), b(cell(4, 2), plan);
  RadioPlan other = plan;
  other.seed = 2;
  Generated c(cell(4, 2), other);
  a.make(5);
  b.make(9);
  EXPECT_FALSE(a.samples == b.samples);
  b.make(5);
  EXPECT_TRUE(a.samples == b.samples);
  c.make(5);
  EXPECT_FALSE(a.samples == c.samples);
  EXPECT_NE(std::memcmp(a.generator.payload().data(), c.generator.payload().data(),
                        a.generator.payload().size()),
            0);
}
