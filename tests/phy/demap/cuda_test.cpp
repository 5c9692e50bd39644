// Against max-log LLRs in double precision and the CPU's sum of repetitions, which demap_test.cpp
// holds against the map itself.
#include "phy/demap/cuda.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "phy/crc/vectors.hpp"
#include "phy/demap/cuda.inl"
#include "support/place.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;
using namespace carillon::phy::cuda;
using test::Place;

template <typename Each>
void soft_bits(std::uint32_t bits, Complex s, float noise, const Each& each) {
  switch (bits) {
    case 2: return llrs<2>(s, 1 / noise, each);
    case 4: return llrs<4>(s, 1 / noise, each);
    case 6: return llrs<6>(s, 1 / noise, each);
    default: return llrs<8>(s, 1 / noise, each);
  }
}

// The slope limited as demap.hpp says.
double reference_llr(std::uint32_t bits, double y, double noise, std::uint32_t level) {
  const int half = 1 << (bits / 2 - 1);
  const double a = half_distance(static_cast<Modulation>(bits));
  double nearest[2] = {1e300, 1e300};
  for (int point = -2 * half + 1; point < 2 * half; point += 2) {
    double x = point;
    int reach = half;
    for (std::uint32_t i = 0; i < level; ++i, reach /= 2) x = reach - std::abs(x);
    double& best = nearest[x < 0 ? 1 : 0];
    best = std::min(best, (y / a - point) * (y / a - point));
  }
  const double slope = std::min(4 * kLlrScale * a * a / noise, double{kMostLlrSlope});
  return slope / 4 * (nearest[1] - nearest[0]);
}

TEST(CudaDemap, IsMaxLogAtAnyNoise) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0, 1.5F);
  for (const std::uint32_t bits : {2U, 4U, 6U, 8U})
    for (int db = -10; db <= 50; db += 2)
      for (int trial = 0; trial < 50; ++trial) {
        const float re = normal(random);
        const Complex s{re, normal(random)};
        const auto noise = static_cast<float>(std::pow(10, -db / 10.0));
        std::uint32_t seen = 0;
        soft_bits(bits, s, noise, [&](std::uint32_t i, float llr) {
          const double exact = reference_llr(bits, i % 2 == 0 ? s.re : s.im, noise, i / 2);
          EXPECT_NEAR(llr, exact, 2e-6 * (100 + std::abs(exact))) << bits << "bits at" << db;
          const double kept = std::rint(std::min(std::max(exact, -127.0), 127.0));
          EXPECT_NEAR(to_soft(llr, false), kept,
                      std::abs(exact - std::trunc(exact)) > 0.49 ? 1 : 0);
          EXPECT_EQ(to_soft(llr, true), -to_soft(llr, false));
          seen |= 1U << i;
        });
        EXPECT_EQ(seen, (1U << bits) - 1);
      }
}

TEST(CudaDemap, SaturatesWithoutNoiseAndSaysNothingOfTheUnknown) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for (test::Vectors vectors("demap.bin"); !vectors.done();) {
    const std::uint32_t bits = vectors.word();
    const auto sent = vectors.bits(256 * bits);
    const auto points = vectors.array<Complex>(256);
    vectors.array<float>(3 * 256 * (3 + bits));
    for (std::uint32_t n = 0; n < 256; ++n)
      for (const float noise :
           {0.0F, 1e-40F, 1e-4F, 1e8F, kInfinity, kNaN, -kNaN, -1e-4F, -1e-40F, -1e8F, -kInfinity})
        soft_bits(bits, points[n], noise, [&](std::uint32_t i, float llr) {
          const bool known = noise >= 0 && noise < 1;
          const int expected = !known ? 0 : test::lsb_bit(sent, n * bits + i) ? -127 : 127;
          EXPECT_EQ(to_soft(llr, false), expected) << bits << "bits, noise" << noise;
        });
    for (const float far : {100.0F, 1e30F, kInfinity})
      soft_bits(bits, {far, -far}, 0.01F, [&](std::uint32_t i, float llr) {
        EXPECT_EQ(to_soft(llr, false), i == 0 ? 127 : -127) << far;
      });
  }
}

TEST(CudaDemap, MeasuresTheDistanceToTheNearestPoint) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal(0, 1);
  for (const auto modulation :
       {Modulation::Qpsk, Modulation::Qam16, Modulation::Qam64, Modulation::Qam256})
    for (int trial = 0; trial < 200; ++trial) {
      Tile tile{};
      const float re = normal(random);
      simt::put(tile, 3, {re, normal(random)});
      const float expected = demap_kernels().error_power(modulation, tile, 1U << 3);
      EXPECT_NEAR(error_power(bits_per_symbol(modulation), simt::get(tile, 3)), expected,
                  1e-5F * (1 + expected));
    }
}

constexpr auto kRecover = [](auto& cta, const RecoverTask& task) { recover_block(cta, task); };

GPU_TEST(CudaDemap, AddsRepetitions) {
  std::mt19937 random(3);
  const auto pick = [&](std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random()) % (high - low + 1);
  };
  std::vector<SoftMap> maps;
  std::vector<Recovery> blocks;
  std::uint32_t e_bytes = 0, d_bytes = 5, most = 0;
  for (int n = 0; n < 40; ++n) {
    const LdpcCode code{static_cast<std::uint8_t>(pick(1, 2)),
                        kLiftingSizes[pick(0, n < 38 ? 10 : 50)]};
    const std::uint32_t N = code.length(), Qm = 2 * pick(1, 4);
    const std::uint32_t Ncb = pick(0, 1) != 0 ? N : pick(N / 2, N);
    maps.push_back(match_rate(code, pick(0, code.info_bits() / 2), Ncb, pick(0, 3), Qm,
                              pick(N / Qm, 4 * N / Qm) * Qm));
    blocks.push_back(recovery(maps.back(), e_bytes, d_bytes));
    e_bytes += maps.back().E + pick(0, 3);
    d_bytes += N + pick(0, 3);
    most = std::max(most, N);
  }
  std::vector<std::int8_t> e(e_bytes), d(d_bytes, 77);
  for (auto& soft : e) soft = static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127);
  const RecoverTask task{.blocks = place.put(blocks),
                         .count = static_cast<std::uint32_t>(blocks.size()),
                         .most_places = most,
                         .e = place.put(e),
                         .d = place.put(d)};
  place.run(task, kRecover, recover);
  std::vector<std::int8_t> expected = d;
  for (std::size_t n = 0; n < maps.size(); ++n)
    demap_kernels().recover(maps[n], e.data() + blocks[n].e, expected.data() + blocks[n].d);
  EXPECT_TRUE(place.get(task.d, d_bytes) == expected);
}

TEST(CudaDemap, AsManyBlocksAsAFrameMayHaveFitAGrid) {
  RecoverTask task{};
  task.count = 1 << 18;
  task.most_places = 66 * 384;
  const simt::Launch launch = launch_of(task);
  EXPECT_EQ(launch.x, 1U << 18);
  EXPECT_LE(launch.y, simt::kMostBlocks);
  EXPECT_GE(launch.y * launch.threads, 66U * 384);
}

}  // namespace
