// The background's product, as if it were one of ours: against sums in double precision.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "emulator/background/gemm.inl"
#include "support/place.hpp"

namespace {

using namespace carillon;
using namespace carillon::emulator;

constexpr auto kGemm = [](auto& cta, const GemmTask& task) { gemm_block(cta, task); };

struct Product {
  std::vector<float> a, b, c;
};

template <typename Draw>
Product run(test::Place& place, std::uint32_t m, std::uint32_t n, std::uint32_t k, Draw&& draw) {
  Product all = {
      std::vector<float>(std::size_t{m} * k), std::vector<float>(std::size_t{k} * n), {}};
  for (std::vector<float>* each : {&all.a, &all.b})
    for (float& value : *each) value = draw();
  float* const c = place.put(std::vector<float>(std::size_t{m} * n, 77));
  const GemmTask task = {m, n, k, place.put(all.a), place.put(all.b), c};
  place.run(task, kGemm, gemm);
  all.c = place.get(c, std::size_t{m} * n);
  return all;
}

double sum_of(const Product& of, std::uint32_t n, std::uint32_t k, std::size_t i, std::size_t j) {
  double sum = 0;
  for (std::size_t t = 0; t < k; ++t) sum += double{of.a[i * k + t]} * of.b[t * n + j];
  return sum;
}

GPU_TEST(Gemm, ProductsOfWholeNumbersAreExact) {
  std::mt19937 random(1);
  const auto draw = [&] { return static_cast<float>(static_cast<int>(random() % 17) - 8); };
  constexpr std::uint32_t kShapes[][3] = {
      {64, 64, 32}, {128, 64, 32}, {64, 192, 32}, {64, 64, 96}, {192, 128, 64}};
  for (const auto& [m, n, k] : kShapes) {
    const Product product = run(place, m, n, k, draw);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j)
        ASSERT_EQ(double{product.c[i * n + j]}, sum_of(product, n, k, i, j))
            << m << "x" << n << "x" << k << " at " << i << ", " << j;
  }
}

GPU_TEST(Gemm, ThePapersDepthIsRightToRounding) {
  std::mt19937 random(2);
  std::uniform_real_distribution<float> uniform(-1, 1);
  // Emulated under sanitizers all of it takes minutes: four blocks of the same depth.
  const std::uint32_t m = place.on_device() ? kGemmM : 128, n = place.on_device() ? kGemmN : 128;
  const Product product = run(place, m, n, kGemmK, [&] { return uniform(random); });
  // 512 terms of at most 1: each addition rounds by half a unit of at most 512 · 2⁻²⁴.
  constexpr double kMost = 512.0 * 512.0 / 16777216.0;
  double worst = 0;
  for (std::uint32_t drawn = 0; drawn < 4096; ++drawn) {
    const std::size_t i = random() % m, j = random() % n;
    const double wanted = sum_of(product, n, kGemmK, i, j);
    worst = std::max(worst, std::abs(double{product.c[i * n + j]} - wanted));
  }
  EXPECT_LE(worst, kMost);
}

TEST(Gemm, ThePapersSizeIs320Blocks) {
  const phy::simt::Launch shape = launch_of(GemmTask{kGemmM, kGemmN, kGemmK, {}, {}, {}});
  EXPECT_EQ(shape.x * shape.y * shape.z, 320U);
  EXPECT_EQ(shape.threads, 128U);
  EXPECT_EQ(shape.shared_bytes, 16384U);
}

}  // namespace
