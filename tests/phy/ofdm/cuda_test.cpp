// The kernels against those of the CPU, which ofdm_test.cpp holds against a transform in double
// precision.
#include "phy/ofdm/cuda.hpp"

#include <cmath>
#include <random>
#include <vector>

#include "phy/ofdm/cuda.inl"
#include "support/place.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;
using namespace carillon::phy::cuda;
using test::Place;

constexpr OfdmShape kShapes[] = {
    {128, 72, false},   {128, 77, true},     {128, 128, false},   {256, 185, false},
    {512, 300, true},   {512, 512, false},   {1024, 605, true},   {1024, 600, false},
    {2048, 1200, true}, {2048, 1205, false}, {4096, 3276, false}, {4096, 2405, true},
};
constexpr std::uint32_t kAntennas = 5, kSymbols = 2, kPrefix = 36;

constexpr auto kGather = [](auto& cta, const GatherTask& task) { gather_block(cta, task); };
constexpr auto kReceive = [](auto& cta, const ReceiveTask& task) { receive_block(cta, task); };
constexpr auto kTransmit = [](auto& cta, const TransmitTask& task) { transmit_block(cta, task); };

std::vector<std::int16_t> samples(const OfdmShape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int16_t> iq(std::size_t{2} * kSymbols * kAntennas * shape.fft_size);
  for (auto& each : iq) each = static_cast<std::int16_t>(random());
  return iq;
}

std::vector<Tile> tiles(const OfdmPlan& plan, std::size_t rows, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.1F);
  std::vector<Tile> all(rows * plan.tiles(), Tile{});
  for (std::size_t row = 0; row < rows; ++row)
    for (std::uint32_t k = 0; k < plan.shape().subcarriers; ++k)
      simt::put(all[row * plan.tiles() + k / kTileLanes], k % kTileLanes,
                {normal(random), normal(random)});
  return all;
}

double distance(const Tile* a, const Tile* b, std::size_t count) {
  double worst = 0;
  for (std::size_t t = 0; t < count; ++t)
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
      worst = std::max(worst, static_cast<double>(std::hypot(a[t].re[lane] - b[t].re[lane],
                                                             a[t].im[lane] - b[t].im[lane])));
  return worst;
}

ReceiveTask task_of(Place& place, const OfdmPlan& plan, const std::vector<std::int16_t>& iq) {
  const std::uint32_t size = plan.shape().fft_size;
  ReceiveTask task{};
  task.plan = view(plan, place.put(fft_roots(size)));
  task.antennas = kAntennas;
  task.symbols = kSymbols;
  task.iq = place.put(iq);
  task.iq_symbol = std::size_t{size} * kAntennas;
  task.iq_antenna = size;
  task.symbol_stride = std::size_t{plan.tiles()} * kAntennas;
  task.antenna_stride = 1;
  task.tile_stride = kAntennas;
  return task;
}

// From packets in any order, some of which did not come; nothing beyond the symbol is touched.
GPU_TEST(CudaOfdm, GathersWhatCame) {
  for (const std::uint32_t size : {64U, 512U, 2048U, 4096U}) {
    constexpr std::uint32_t kHeader = 16;  // samples
    const std::uint32_t packet = kHeader + kPrefix + size;
    std::mt19937 random(size);
    std::vector<std::int16_t> received(std::size_t{2} * kAntennas * packet);
    for (auto& each : received) each = static_cast<std::int16_t>(random());
    const std::int16_t* const at = place.put(received);
    std::vector<const std::int16_t*> packets(kAntennas);
    for (std::uint32_t a = 0; a < kAntennas; ++a)
      if (a != 1) packets[a] = at + 2 * (std::size_t{(3 * a + 2) % kAntennas} * packet + kHeader);
    const std::size_t length = kPrefix + size;
    const std::vector<std::int16_t> before(2 * kAntennas * length, 77);
    std::int16_t* const iq = place.put(before);
    GatherTask task{.antennas = kAntennas,
                    .skip = kPrefix,
                    .samples = size,
                    .packets = place.put(packets),
                    .iq = iq + 2 * kPrefix,
                    .iq_antenna = length,
                    .missing = place.put(std::vector<std::uint8_t>(kAntennas, 5))};
    place.run(task, kGather, gather);
    auto wanted = before;
    std::vector<std::uint8_t> missing(kAntennas);
    for (std::uint32_t a = 0; a < kAntennas; ++a) {
      missing[a] = a == 1 ? 1 : 0;
      if (a == 1) continue;
      const auto* const from =
          &received[2 * (std::size_t{(3 * a + 2) % kAntennas} * packet + kHeader + kPrefix)];
      std::copy_n(from, 2 * size, &wanted[2 * (a * length + kPrefix)]);
    }
    EXPECT_TRUE(place.get(iq, wanted.size()) == wanted);
    EXPECT_TRUE(place.get(task.missing, missing.size()) == missing);
  }
}

GPU_TEST(CudaOfdm, ReceivesWhatTheCpuDoes) {
  for (const OfdmShape& shape : kShapes) {
    const OfdmPlan plan(shape);
    const auto iq = samples(shape, shape.subcarriers);
    ReceiveTask task = task_of(place, plan, iq);
    const std::size_t count = kSymbols * task.symbol_stride;
    task.tiles = place.room<Tile>(count);
    task.half = place.room<HalfTile>(count);
    place.run(task, kReceive, receive);
    const std::vector<Tile> found = place.get(task.tiles, count);
    const std::vector<HalfTile> halved = place.get(task.half, count);
    OfdmScratch scratch(plan);
    std::vector<Tile> expected(plan.tiles());
    for (std::size_t row = 0; row < kSymbols * kAntennas; ++row) {
      ofdm_kernels().receive(plan, &iq[2 * row * shape.fft_size], expected.data(), 1, scratch);
      const std::size_t first = row / kAntennas * task.symbol_stride + row % kAntennas;
      for (std::uint32_t t = 0; t < plan.tiles(); ++t) {
        const std::size_t at = first + t * task.tile_stride;
        EXPECT_LE(distance(&found[at], &expected[t], 1), 3e-6) << shape.fft_size;
        for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
          const Complex wide = simt::get(halved[at], lane);
          EXPECT_NEAR(wide.re, kHalfScale * found[at].re[lane], 0x1p-11 * std::abs(wide.re) + 1e-7);
          EXPECT_NEAR(wide.im, kHalfScale * found[at].im[lane], 0x1p-11 * std::abs(wide.im) + 1e-7);
        }
      }
    }
  }
}

GPU_TEST(CudaOfdm, DividesByPilotsAndMeasuresNoise) {
  for (const OfdmShape& shape : kShapes) {
    const OfdmPlan plan(shape);
    const auto iq = samples(shape, 7 + shape.subcarriers);
    const std::vector<Tile> pilot = tiles(plan, kSymbols, 3);
    ReceiveTask task = task_of(place, plan, iq);
    task.antenna_stride = plan.tiles();
    task.tile_stride = 1;
    task.tiles = place.room<Tile>(kSymbols * task.symbol_stride);
    task.pilot = place.put(pilot);
    task.noise = place.room<float>(kSymbols * kAntennas);
    std::vector<std::uint8_t> missing(kSymbols * kAntennas);
    missing[1] = missing[kAntennas] = 1;
    task.missing = place.put(missing);
    place.run(task, kReceive, receive);
    const std::vector<Tile> found = place.get(task.tiles, kSymbols * task.symbol_stride);
    const std::vector<float> noise = place.get(task.noise, kSymbols * kAntennas);
    OfdmScratch scratch(plan);
    std::vector<Tile> expected(plan.tiles());
    for (std::size_t row = 0; row < kSymbols * kAntennas; ++row) {
      if (missing[row] != 0) {
        EXPECT_EQ(noise[row], -1.0F);
        const std::vector<Tile> zeros(plan.tiles());
        EXPECT_EQ(distance(&found[row * plan.tiles()], zeros.data(), plan.tiles()), 0.0);
        continue;
      }
      const float power = ofdm_kernels().receive_pilot(plan, &iq[2 * row * shape.fft_size],
                                                       &pilot[row / kAntennas * plan.tiles()],
                                                       expected.data(), scratch);
      EXPECT_NEAR(noise[row], power, 1e-5 * power) << shape.fft_size;
      EXPECT_LE(distance(&found[row * plan.tiles()], expected.data(), plan.tiles()), 3e-6);
    }
  }
}

GPU_TEST(CudaOfdm, TransmitsWhatTheCpuDoes) {
  for (const OfdmShape& shape : kShapes) {
    const OfdmPlan plan(shape);
    const std::vector<Tile> in = tiles(plan, kSymbols * kAntennas, 5);
    const std::size_t length = shape.fft_size + kPrefix;
    TransmitTask task{};
    task.plan = view(plan, place.put(fft_roots(shape.fft_size)));
    task.antennas = kAntennas;
    task.symbols = kSymbols;
    task.tiles = place.put(in);
    task.symbol_stride = std::size_t{kAntennas} * plan.tiles();
    task.antenna_stride = plan.tiles();
    task.tile_stride = 1;
    const float gain = 4;  // so that some saturate
    task.gain = place.put(std::vector<float>{gain});
    task.prefix = kPrefix;
    task.iq = place.room<std::int16_t>(2 * length * kAntennas * kSymbols);
    task.iq_symbol = length * kAntennas;
    task.iq_antenna = length;
    task.saturated = place.room<std::uint32_t>(kSymbols * kAntennas);
    place.run(task, kTransmit, transmit);
    const auto found = place.get(task.iq, 2 * length * kAntennas * kSymbols);
    const auto saturated = place.get(task.saturated, kSymbols * kAntennas);
    OfdmScratch scratch(plan);
    std::vector<std::int16_t> expected(2 * length);
    std::uint32_t all = 0, off = 0;
    for (std::size_t row = 0; row < kSymbols * kAntennas; ++row) {
      const std::uint32_t cut = ofdm_kernels().transmit(plan, &in[row * plan.tiles()], 1, gain,
                                                        kPrefix, expected.data(), scratch);
      EXPECT_LE(std::abs(static_cast<int>(cut) - static_cast<int>(saturated[row])), 1);
      all += cut;
      for (std::size_t i = 0; i < 2 * length; ++i) {
        const int differs = std::abs(expected[i] - found[2 * length * row + i]);
        EXPECT_LE(differs, 1);  // where rounding was near a half
        off += differs != 0 ? 1 : 0;
      }
    }
    EXPECT_LE(off, 2 * length * kAntennas * kSymbols / 100);
    if (shape.fft_size > 128) {
      EXPECT_GT(all, 0U);
    }
  }
}

}  // namespace
