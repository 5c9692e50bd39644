#include "base/noise.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/random.hpp"
#include "support/test.hpp"

using namespace carillon;

namespace {

std::vector<float> draw(Noise& noise, std::size_t count, float amplitude = 1) {
  std::vector<float> numbers(count);
  noise.add(numbers, amplitude);
  return numbers;
}

double normal_distribution(double x) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); }

// Mean of products of numbers at the places `a` and `b` of each run of 16, the second one `later`
// runs on.
template <typename Map>
double correlation(const std::vector<float>& numbers, std::size_t a, std::size_t b,
                   std::size_t later, Map&& map) {
  double sum = 0;
  const std::size_t runs = numbers.size() / 16 - later;
  for (std::size_t i = 0; i < runs; ++i)
    sum += map(static_cast<double>(numbers[16 * i + a])) *
           map(static_cast<double>(numbers[16 * (i + later) + b]));
  return sum / static_cast<double>(runs);
}

}  // namespace

TEST(Noise, MomentsAreTheNormalDistributions) {
  Noise noise(1);
  std::array<double, 7> sums{};
  constexpr int kRounds = 1000, kCount = 4096;
  for (int round = 0; round < kRounds; ++round)
    for (const float x : draw(noise, kCount)) {
      double power = 1;
      for (auto& sum : sums) {
        sum += power;
        power *= static_cast<double>(x);
      }
    }
  // Variance of the n-th sample moment: E[x^2n] - E[x^n]²; E[x^n] = (n - 1)!! or 0.
  const std::array<double, 7> mean{1, 0, 1, 0, 3, 0, 15};
  const std::array<double, 7> variance{0, 1, 2, 15, 96, 945, 10170};
  for (std::size_t n = 1; n < sums.size(); ++n)
    EXPECT_NEAR(sums[n] / sums[0], mean[n], 4 * std::sqrt(variance[n] / sums[0]));
}

TEST(Noise, DistributionIsNormalByKolmogorovAndSmirnov) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    Noise noise(seed, 7);
    auto numbers = draw(noise, 200000);
    std::sort(numbers.begin(), numbers.end());
    const auto count = static_cast<double>(numbers.size());
    double distance = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double p = normal_distribution(static_cast<double>(numbers[i]));
      distance = std::max(
          {distance, p - static_cast<double>(i) / count, static_cast<double>(i + 1) / count - p});
    }
    EXPECT_LT(distance * std::sqrt(count), 1.95);  // exceeded by one in a thousand
  }
}

TEST(Noise, TailsAreAsHeavyAsTheyShouldBe) {
  Noise noise(5);
  std::array<double, 2> beyond{};  // 4 and 5 standard deviations, either side
  float most = 0;
  constexpr double kRounds = 8000, kCount = 8192;
  std::vector<float> numbers(static_cast<std::size_t>(kCount));
  for (int round = 0; round < static_cast<int>(kRounds); ++round) {
    std::fill(numbers.begin(), numbers.end(), 0.0F);
    noise.add(numbers, 1);
    for (const float x : numbers) {
      if (std::abs(x) <= 4) continue;
      ++beyond[0];
      beyond[1] += std::abs(x) > 5;
      most = std::max(most, std::abs(x));
    }
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const double expected = kRounds * kCount * 2 * normal_distribution(-4 - static_cast<double>(i));
    EXPECT_NEAR(beyond[i], expected, 4 * std::sqrt(expected));
  }
  EXPECT_GT(most, 5.3F);
  EXPECT_LT(most, 6.67F);
}

// Neither do numbers of a pair depend on each other, nor lanes, nor what a lane makes next.
TEST(Noise, LanesAreIndependent) {
  Noise noise(3);
  const auto numbers = draw(noise, 16 * 50000);
  const double error = 1 / std::sqrt(50000.0);
  const auto same = [](double x) { return x; };
  const auto power = [](double x) { return (x * x - 1) / std::sqrt(2.0); };
  for (std::size_t later = 0; later < 3; ++later)
    for (std::size_t a = 0; a < 16; ++a)
      for (std::size_t b = 0; b < 16; ++b) {
        if (later == 0 && a == b) continue;
        EXPECT_LT(std::abs(correlation(numbers, a, b, later, same)), 5 * error);
        EXPECT_LT(std::abs(correlation(numbers, a, b, later, power)), 5 * error);
      }
}

TEST(Noise, StreamsAndSeedsAreIndependent) {
  constexpr std::size_t kCount = 100000;
  Noise first(1, 0), second(1, 1), other(2, 0);
  const auto a = draw(first, kCount), b = draw(second, kCount), c = draw(other, kCount);
  double ab = 0, ac = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    ab += static_cast<double>(a[i] * b[i]);
    ac += static_cast<double>(a[i] * c[i]);
  }
  EXPECT_LT(std::abs(ab), 4 * std::sqrt(static_cast<double>(kCount)));
  EXPECT_LT(std::abs(ac), 4 * std::sqrt(static_cast<double>(kCount)));
}

// One lane by the textbook: Blackman and Vigna's generator, Box and Muller's method in double
// precision.
TEST(Noise, NumbersAreBoxAndMullersOfXoshiro) {
  std::array<std::array<std::uint32_t, 8>, 4> state;
  Random random(9 ^ mix_seed(0x6e6f697365), 4);
  for (auto& word : state)
    for (auto& lane : word) lane = static_cast<std::uint32_t>(random.next() >> 32);
  const auto next = [&](std::size_t lane) {
    std::array<std::uint32_t, 4> s{state[0][lane], state[1][lane], state[2][lane], state[3][lane]};
    const std::uint32_t result = std::rotl(s[0] + s[3], 7) + s[0], t = s[1] << 9;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = std::rotl(s[3], 11);
    for (std::size_t i = 0; i < 4; ++i) state[i][lane] = s[i];
    return static_cast<std::int32_t>(result);
  };
  Noise noise(9, 4);
  const auto numbers = draw(noise, 16 * 4000);
  for (std::size_t i = 0; i < numbers.size(); i += 16)
    for (std::size_t lane = 0; lane < 8; ++lane) {
      const double u = std::abs(static_cast<double>(static_cast<float>(next(lane)))) * 0x1p-31;
      const double radius = std::sqrt(-2 * std::log(std::max(u, 0x1p-32)));
      const auto bits = next(lane);
      const double angle = static_cast<std::int32_t>(static_cast<std::uint32_t>(bits) << 2) *
                           0x1p-31 * std::numbers::pi / 4;
      double x = std::cos(angle) * (bits < 0 ? -1 : 1), y = std::sin(angle);
      if ((bits & 0x40000000) != 0) std::swap(x, y);
      EXPECT_NEAR(numbers[i + lane], x * radius, 1e-6);
      EXPECT_NEAR(numbers[i + 8 + lane], y * radius, 1e-6);
    }
}

// Exactly, whatever machine and compiler: what a seed gives is part of a study's result.
TEST(Noise, ASeedGivesTheSameNumbersEverywhere) {
  Noise noise(1, 2);
  std::uint64_t hash = 0;
  for (const float x : draw(noise, 100000)) hash = mix_seed(hash ^ std::bit_cast<std::uint32_t>(x));
  EXPECT_EQ(hash, 8431893590868489347U);
}

TEST(Noise, SamplesAreRoundedAndSaturatedAndCounted) {
  std::vector<std::int16_t> samples;
  for (int i = 0; i < 5000; ++i)
    samples.push_back(static_cast<std::int16_t>(i % 3 == 0   ? 32700 - i % 50
                                                : i % 3 == 1 ? -32768 + i % 70
                                                             : i));
  std::vector<float> numbers(samples.begin(), samples.end());
  Noise noise(6), same(6);
  const std::size_t saturated = noise.add(samples, 90);
  same.add(numbers, 90);
  std::size_t outside = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const float rounded = std::nearbyint(numbers[i]);
    outside += rounded > 32767 || rounded < -32768;
    EXPECT_EQ(samples[i], static_cast<std::int16_t>(std::clamp(rounded, -32768.0F, 32767.0F)));
  }
  EXPECT_EQ(saturated, outside);
  EXPECT_GT(outside, 100U);
}

TEST(Noise, OnlyWhatWasAskedForGetsNoise) {
  for (const std::size_t count : {0U, 1U, 15U, 16U, 17U, 40U}) {
    std::vector<float> numbers(48);
    Noise noise(2);
    noise.add({numbers.data(), count}, 1);
    for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i] != 0, i < count);
  }
}
