// Compared with a discrete Fourier transform in double precision, written from its definition.
#include "phy/ofdm/ofdm.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <fstream>
#include <numbers>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "phy/half.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;
using Value = std::complex<double>;

// All sizes, with and without a hole; full bands, odd counts, counts that end within a tile.
constexpr OfdmShape kShapes[] = {
    {128, 72, false},    {128, 77, true},    {128, 128, false},  {128, 1, false},
    {256, 180, false},   {256, 255, true},   {256, 185, false},  {512, 300, true},
    {512, 305, false},   {512, 512, false},  {1024, 600, false}, {1024, 605, true},
    {2048, 1200, false}, {2048, 1200, true}, {2048, 1637, true}, {2048, 1205, false},
    {4096, 3276, false}, {4096, 2405, true},
};

std::string text(const OfdmShape& shape) {
  return std::to_string(shape.fft_size) + " points, " + std::to_string(shape.subcarriers) +
         (shape.dc_hole ? " used with a hole" : " used");
}

std::uint32_t bin_of(const OfdmShape& shape, std::uint32_t k) {
  const std::uint32_t below = shape.subcarriers / 2, size = shape.fft_size;
  return (k + size - below + (shape.dc_hole && k >= below ? 1 : 0)) % size;
}

// exp(-j2πi/size)
std::vector<Value> roots(std::uint32_t size) {
  std::vector<Value> all(size);
  for (std::uint32_t i = 0; i < size; ++i)
    all[i] = std::polar(1.0, -2 * std::numbers::pi * i / size);
  return all;
}

std::vector<Value> reference_receive(const OfdmShape& shape, const std::int16_t* iq) {
  const std::uint32_t size = shape.fft_size;
  const std::vector<Value> root = roots(size);
  std::vector<Value> used(shape.subcarriers);
  for (std::uint32_t k = 0; k < shape.subcarriers; ++k) {
    const std::uint64_t bin = bin_of(shape, k);
    Value sum = 0;
    for (std::uint64_t n = 0; n < size; ++n)
      sum += Value(iq[2 * n], iq[2 * n + 1]) * root[n * bin % size];
    used[k] = sum / (32768 * std::sqrt(size));
  }
  return used;
}

std::vector<Value> reference_transmit(const OfdmShape& shape, const std::vector<Value>& used) {
  const std::uint32_t size = shape.fft_size;
  const std::vector<Value> root = roots(size);
  std::vector<Value> samples(size);
  for (std::uint64_t n = 0; n < size; ++n) {
    for (std::uint32_t k = 0; k < shape.subcarriers; ++k)
      samples[n] += used[k] * std::conj(root[n * bin_of(shape, k) % size]);
    samples[n] *= 32768 / std::sqrt(size);
  }
  return samples;
}

std::vector<std::int16_t> random_samples(std::uint32_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::int16_t> iq(2 * std::size_t{size});
  for (auto& component : iq) component = static_cast<std::int16_t>(random() & 0xffff);
  return iq;
}

std::vector<Value> random_grid(std::uint32_t subcarriers, double deviation) {
  std::mt19937 random(subcarriers);
  std::normal_distribution<double> normal(0, deviation);
  std::vector<Value> used(subcarriers);
  for (Value& value : used) {
    // As a float holds it, so that rounding the input is no part of the error.
    const double re = static_cast<float>(normal(random)), im = static_cast<float>(normal(random));
    value = {re, im};
  }
  return used;
}

void put(const std::vector<Value>& used, Tile* tiles, std::size_t stride) {
  for (std::size_t k = 0; k < used.size(); ++k) {
    tiles[k / 16 * stride].re[k % 16] = static_cast<float>(used[k].real());
    tiles[k / 16 * stride].im[k % 16] = static_cast<float>(used[k].imag());
  }
}

Value get(const Tile* tiles, std::size_t stride, std::uint32_t k) {
  return {tiles[k / 16 * stride].re[k % 16], tiles[k / 16 * stride].im[k % 16]};
}

// Error power over the power of what was expected, as an amplitude.
double relative_error(const std::vector<Value>& expected, const Tile* tiles, std::size_t stride) {
  double error = 0, power = 0;
  for (std::uint32_t k = 0; k < expected.size(); ++k) {
    error += std::norm(get(tiles, stride, k) - expected[k]);
    power += std::norm(expected[k]);
  }
  return std::sqrt(error / power);
}

TEST(Ofdm, ReceiveEqualsTheFourierTransform) {
  constexpr std::size_t kStride = 3;
  for (const OfdmShape& shape : kShapes) {
    const OfdmPlan plan(shape);
    OfdmScratch scratch(plan);
    const std::vector<std::int16_t> iq = random_samples(shape.fft_size, 1);
    const std::vector<Value> expected = reference_receive(shape, iq.data());
    for (const Isa isa : test::tested_isas()) {
      AlignedArray<Tile> out(plan.tiles() * kStride);
      for (Tile& tile : out)
        for (std::uint32_t i = 0; i < kTileLanes; ++i) tile.re[i] = tile.im[i] = 77;
      ofdm_kernels(isa).receive(plan, iq.data(), out.data(), kStride, scratch);
      EXPECT_LT(relative_error(expected, out.data(), kStride), 1e-6)
          << text(shape) << ", " << to_string(isa);
      for (std::uint32_t k = shape.subcarriers; k < plan.tiles() * kTileLanes; ++k)
        EXPECT_TRUE(get(out.data(), kStride, k) == 0.0) << text(shape) << ", tail lane " << k;
      for (std::size_t t = 0; t < out.size(); ++t)
        EXPECT_TRUE(t % kStride == 0 || (out[t].re[0] == 77 && out[t].im[15] == 77))
            << text(shape) << ": tile " << t << " is not ours";
    }
  }
}

TEST(Ofdm, HalfPrecisionIsReceiveRounded) {
  constexpr std::size_t kStride = 3;
  for (const OfdmShape& shape : kShapes) {
    const OfdmPlan plan(shape);
    OfdmScratch scratch(plan);
    const std::vector<std::int16_t> iq = random_samples(shape.fft_size, 1);
    for (const Isa isa : test::tested_isas()) {
      AlignedArray<Tile> single(plan.tiles());
      AlignedArray<HalfTile> half(plan.tiles() * kStride);
      for (HalfTile& tile : half)
        std::fill(std::begin(tile.at), std::end(tile.at), HalfComplex{77, 77});
      ofdm_kernels(isa).receive(plan, iq.data(), single.data(), 1, scratch);
      ofdm_kernels(isa).receive_half(plan, iq.data(), half.data(), kStride, scratch);
      const auto expected = [&](std::size_t t, const float* part) -> std::uint16_t {
        return t % kStride == 0 ? phy::testing::bits_of(kHalfScale * *part) : 77;
      };
      for (std::size_t t = 0; t < half.size(); ++t)
        for (std::uint32_t i = 0; i < kTileLanes; ++i) {
          const Tile& tile = single[t / kStride];
          EXPECT_EQ(half[t].at[i].re, expected(t, &tile.re[i])) << text(shape) << to_string(isa);
          EXPECT_EQ(half[t].at[i].im, expected(t, &tile.im[i])) << text(shape) << to_string(isa);
        }
    }
  }
}

TEST(Ofdm, TransmitEqualsTheInverseTransformRounded) {
  constexpr std::size_t kStride = 2;
  constexpr float kGain = 1.5F;
  for (const OfdmShape& shape : kShapes) {
    const OfdmPlan plan(shape);
    OfdmScratch scratch(plan);
    const std::vector<Value> used = random_grid(shape.subcarriers, 0.1);
    AlignedArray<Tile> in(plan.tiles() * kStride);
    put(used, in.data(), kStride);
    const std::vector<Value> expected = reference_transmit(shape, used);
    for (const Isa isa : test::tested_isas()) {
      std::vector<std::int16_t> iq(2 * std::size_t{shape.fft_size});
      EXPECT_EQ(ofdm_kernels(isa).transmit(plan, in.data(), kStride, kGain, 0, iq.data(), scratch),
                0U)
          << text(shape);
      double worst = 0;
      for (std::uint32_t n = 0; n < shape.fft_size; ++n) {
        worst = std::max(worst, std::abs(iq[2 * n] - kGain * expected[n].real()));
        worst = std::max(worst, std::abs(iq[2 * n + 1] - kGain * expected[n].imag()));
      }
      // Half a step from rounding; a loud sample of 2^15 is known to 2^-24 of itself at best.
      EXPECT_LT(worst, 0.5 + 0.02) << text(shape) << ", " << to_string(isa);
    }
  }
}

TEST(Ofdm, ReceiveUndoesTransmit) {
  constexpr std::uint32_t kPrefix = 37;
  for (const OfdmShape& shape : kShapes) {
    if (shape.subcarriers == 1) continue;  // constant: all samples round the same way
    const OfdmPlan plan(shape);
    OfdmScratch scratch(plan);
    const std::vector<Value> used = random_grid(shape.subcarriers, 0.1);
    AlignedArray<Tile> in(plan.tiles()), out(plan.tiles());
    put(used, in.data(), 1);
    for (const Isa isa : test::tested_isas()) {
      std::vector<std::int16_t> iq(2 * std::size_t{kPrefix + shape.fft_size});
      const OfdmKernels& kernels = ofdm_kernels(isa);
      kernels.transmit(plan, in.data(), 1, 1, kPrefix, iq.data(), scratch);
      kernels.receive(plan, iq.data() + 2 * kPrefix, out.data(), 1, scratch);
      // What is left is the rounding of the samples: sqrt(1/6) of a step per subcarrier.
      const double rounding = std::sqrt(1.0 / 6) / 32768 / (0.1 * std::sqrt(2.0));
      EXPECT_LT(relative_error(used, out.data(), 1), 1.5 * rounding) << text(shape);
    }
  }
}

struct Recorded {
  OfdmShape shape;
  std::uint32_t prefix;
  std::vector<Value> grid, samples;  // samples: prefix and symbol, unit 1.0
};

// tests/data/ofdm.bin: symbols made by NumPy, and equal in Sionna and py3gpp where they are NR.
std::vector<Recorded> recorded_symbols() {
  std::ifstream file(CARILLON_TEST_DATA "/ofdm.bin", std::ios::binary);
  std::vector<Recorded> symbols = {{{2048, 1200, false}, 160, {}, {}},
                                   {{2048, 1632, false}, 176, {}, {}},
                                   {{2048, 1200, false}, 144, {}, {}},
                                   {{2048, 1200, true}, 160, {}, {}}};
  const auto read = [&](std::size_t count) {
    std::vector<std::complex<float>> values(count);
    file.read(reinterpret_cast<char*>(values.data()),
              static_cast<std::streamsize>(count * sizeof values[0]));
    EXPECT_TRUE(file.good());
    return std::vector<Value>(values.begin(), values.end());
  };
  for (Recorded& symbol : symbols) {
    symbol.grid = read(symbol.shape.subcarriers);
    symbol.samples = read(symbol.prefix + symbol.shape.fft_size);
  }
  EXPECT_EQ(file.peek(), std::ifstream::traits_type::eof());
  return symbols;
}

TEST(Ofdm, EqualsRecordedSymbolsOf5gAndLte) {
  constexpr float kLevel = 0.125F;
  for (const Recorded& symbol : recorded_symbols()) {
    const OfdmPlan plan(symbol.shape);
    OfdmScratch scratch(plan);
    AlignedArray<Tile> in(plan.tiles()), out(plan.tiles());
    put(symbol.grid, in.data(), 1);
    for (const Isa isa : test::tested_isas()) {
      std::vector<std::int16_t> iq(2 * symbol.samples.size());
      const OfdmKernels& kernels = ofdm_kernels(isa);
      EXPECT_EQ(kernels.transmit(plan, in.data(), 1, kLevel, symbol.prefix, iq.data(), scratch),
                0U);
      double worst = 0;
      for (std::size_t n = 0; n < symbol.samples.size(); ++n) {
        const Value expected = symbol.samples[n] * (32768.0 * kLevel);
        worst = std::max(worst, std::abs(iq[2 * n] - expected.real()));
        worst = std::max(worst, std::abs(iq[2 * n + 1] - expected.imag()));
      }
      EXPECT_LT(worst, 0.51) << text(symbol.shape) << ", " << to_string(isa);

      kernels.receive(plan, iq.data() + 2 * symbol.prefix, out.data(), 1, scratch);
      std::vector<Value> scaled = symbol.grid;
      for (Value& value : scaled) value *= kLevel;
      EXPECT_LT(relative_error(scaled, out.data(), 1), 2e-4) << text(symbol.shape);
    }
  }
}

TEST(Ofdm, ThePrefixIsACopyOfTheEnd) {
  const OfdmPlan plan({2048, 1200, false});
  OfdmScratch scratch(plan);
  AlignedArray<Tile> in(plan.tiles());
  put(random_grid(1200, 0.1), in.data(), 1);
  for (const Isa isa : test::tested_isas())
    for (const std::uint32_t prefix : {0U, 1U, 144U, 160U, 512U, 2048U}) {
      std::vector<std::int16_t> iq(2 * std::size_t{prefix + 2048} + 2, 77);
      ofdm_kernels(isa).transmit(plan, in.data(), 1, 1, prefix, iq.data(), scratch);
      for (std::size_t i = 0; i < 2 * prefix; ++i) EXPECT_EQ(iq[i], iq[i + 2 * 2048]);
      EXPECT_TRUE(iq[iq.size() - 2] == 77 && iq[iq.size() - 1] == 77) << "prefix " << prefix;
    }
}

TEST(Ofdm, SaturationIsCountedOncePerComponent) {
  for (const OfdmShape& shape : {OfdmShape{128, 72, false}, OfdmShape{2048, 1200, true}}) {
    const OfdmPlan plan(shape);
    OfdmScratch scratch(plan);
    const std::vector<Value> used = random_grid(shape.subcarriers, 0.5);
    AlignedArray<Tile> in(plan.tiles());
    put(used, in.data(), 1);
    const std::vector<Value> samples = reference_transmit(shape, used);
    for (const float gain : {0.1F, 1.0F, -2.0F, 1e6F}) {
      std::uint32_t expected = 0;
      for (const Value& sample : samples)
        for (const double component : {sample.real(), sample.imag()}) {
          const double rounded = std::nearbyint(gain * component);
          expected += rounded > 32767 || rounded < -32768 ? 1 : 0;
        }
      for (const Isa isa : test::tested_isas()) {
        constexpr std::uint32_t kPrefix = 20;
        std::vector<std::int16_t> iq(2 * std::size_t{kPrefix + shape.fft_size});
        EXPECT_EQ(ofdm_kernels(isa).transmit(plan, in.data(), 1, gain, kPrefix, iq.data(), scratch),
                  expected)
            << text(shape) << ", gain " << gain << ", " << to_string(isa);
        for (std::uint32_t n = 0; n < shape.fft_size; ++n) {
          const double wanted = std::clamp(gain * samples[n].real(), -32768.0, 32767.0);
          EXPECT_NEAR(iq[2 * (kPrefix + n)], wanted, 0.52 + std::abs(wanted) * 1e-6);
        }
      }
    }
  }
}

TEST(Ofdm, SaturationBeginsWhereRoundingLeavesTheRange) {
  // The carrier at 0 Hz alone makes constant samples, exactly value · 32768 / sqrt(256).
  const OfdmPlan plan({256, 1, false});
  OfdmScratch scratch(plan);
  constexpr struct {
    float level;
    int sample;
    std::uint32_t saturated;
  } kCases[] = {{32767.25F, 32767, 0}, {32767.5F, 32767, 1},    {-32768.5F, -32768, 0},
                {1e9F, 32767, 1},      {-32768.75F, -32768, 1}, {-1e9F, -32768, 1},
                {2.5F, 2, 0},          {-3.5F, -4, 0}};
  for (const Isa isa : test::tested_isas())
    for (const auto& [level, sample, saturated] : kCases) {
      AlignedArray<Tile> in(1);
      in[0].re[0] = level * 16 / 32768;
      std::vector<std::int16_t> iq(2 * 256);
      EXPECT_EQ(ofdm_kernels(isa).transmit(plan, in.data(), 1, 1, 0, iq.data(), scratch),
                saturated * 256)
          << level << ", " << to_string(isa);
      for (std::uint32_t n = 0; n < 256; ++n) {
        EXPECT_EQ(iq[2 * n], sample) << level << ", " << to_string(isa);
        EXPECT_EQ(iq[2 * n + 1], 0);
      }
    }
}

TEST(Ofdm, PilotSymbolsAreMultipliedByThePilot) {
  for (const OfdmShape& shape : kShapes) {
    const OfdmPlan plan(shape);
    OfdmScratch scratch(plan);
    const std::vector<std::int16_t> iq = random_samples(shape.fft_size, 2);
    std::vector<Value> expected = reference_receive(shape, iq.data());
    std::vector<Value> pilots = random_grid(shape.subcarriers, 1);
    for (std::uint32_t k = 0; k < shape.subcarriers; ++k) {
      if (k % 3 == 1) pilots[k] = 0;  // another user's place
      expected[k] *= pilots[k];
    }
    AlignedArray<Tile> pilot(plan.tiles()), row(plan.tiles());
    put(pilots, pilot.data(), 1);
    for (const Isa isa : test::tested_isas()) {
      ofdm_kernels(isa).receive_pilot(plan, iq.data(), pilot.data(), row.data(), scratch);
      EXPECT_LT(relative_error(expected, row.data(), 1), 1e-6)
          << text(shape) << ", " << to_string(isa);
      for (std::uint32_t k = 1; k < shape.subcarriers; k += 3)
        EXPECT_TRUE(get(row.data(), 1, k) == 0.0);
    }
  }
}

// Mean of the measured noise over `symbols` symbols: gaussian noise of `deviation` steps on what a
// full band at -15 dB of full scale (or silence) leaves on the air.
double measured_noise(const OfdmPlan& plan, Isa isa, double deviation, int symbols, bool signal) {
  const OfdmShape& shape = plan.shape();
  OfdmScratch scratch(plan);
  std::mt19937 random(7);
  std::normal_distribution<double> normal(0, deviation);
  AlignedArray<Tile> in(plan.tiles()), row(plan.tiles());
  if (signal) put(random_grid(shape.subcarriers, 0.15), in.data(), 1);
  std::vector<std::int16_t> clean(2 * std::size_t{shape.fft_size}), iq(clean.size());
  EXPECT_EQ(ofdm_kernels(isa).transmit(plan, in.data(), 1, 1, 0, clean.data(), scratch), 0U);
  double sum = 0;
  for (int symbol = 0; symbol < symbols; ++symbol) {
    for (std::size_t i = 0; i < iq.size(); ++i)
      iq[i] = static_cast<std::int16_t>(std::lrint(clean[i] + normal(random)));
    sum += ofdm_kernels(isa).receive_pilot(plan, iq.data(), in.data(), row.data(), scratch);
  }
  return sum / symbols;
}

TEST(Ofdm, NoiseIsMeasuredOnUnusedSubcarriers) {
  constexpr int kSymbols = 200;
  constexpr double kDeviation = 40;
  for (const OfdmShape& shape :
       {OfdmShape{128, 77, true}, OfdmShape{512, 300, false}, OfdmShape{2048, 1637, false}}) {
    const OfdmPlan plan(shape);
    // Variance per subcarrier; rounding adds 1/12 of a step squared per component. The estimate is
    // a mean of exponentially distributed powers.
    const double truth = 2 * (kDeviation * kDeviation + 1.0 / 12) / (32768.0 * 32768.0);
    const double bound = 4.5 * truth / std::sqrt(kSymbols * plan.noise_bins());
    for (const Isa isa : test::tested_isas()) {
      EXPECT_NEAR(measured_noise(plan, isa, kDeviation, kSymbols, false), truth, bound)
          << text(shape);
      // A strong signal in the band, 42 dB above the noise, does not bias it.
      EXPECT_NEAR(measured_noise(plan, isa, kDeviation, kSymbols, true), truth, bound)
          << text(shape);
    }
  }
}

TEST(Ofdm, NoiseIsZeroWhereNoBinIsLeftToMeasureIt) {
  for (const OfdmShape& shape : {OfdmShape{128, 128, false}, OfdmShape{128, 126, true}}) {
    const OfdmPlan plan(shape);
    EXPECT_EQ(plan.noise_bins(), 0U);
    for (const Isa isa : test::tested_isas())
      EXPECT_EQ(measured_noise(plan, isa, 100, 1, false), 0.0);
  }
}

TEST(Ofdm, ScratchOfALargerTransformServesASmallerOne) {
  const OfdmPlan large({4096, 3276, false}), small({128, 77, true});
  OfdmScratch scratch(large);
  const std::vector<std::int16_t> iq = random_samples(128, 3);
  const std::vector<Value> expected = reference_receive(small.shape(), iq.data());
  for (const Isa isa : test::tested_isas()) {
    AlignedArray<Tile> out(small.tiles());
    ofdm_kernels(isa).receive(small, iq.data(), out.data(), 1, scratch);
    EXPECT_LT(relative_error(expected, out.data(), 1), 1e-6);
  }
}

TEST(Ofdm, RefusesShapesItCannotTransform) {
  EXPECT_THROW(OfdmPlan({100, 72, false}), std::invalid_argument);
  EXPECT_THROW(OfdmPlan({64, 48, false}), std::invalid_argument);
  EXPECT_THROW(OfdmPlan({8192, 48, false}), std::invalid_argument);
  EXPECT_THROW(OfdmPlan({128, 0, false}), std::invalid_argument);
  EXPECT_THROW(OfdmPlan({128, 129, false}), std::invalid_argument);
  EXPECT_THROW(OfdmPlan({128, 128, true}), std::invalid_argument);
}

}  // namespace
