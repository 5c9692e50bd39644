// The kernel against the CPU's, which estimate_test.cpp holds against the definition in double
// precision.
#include "phy/estimate/cuda.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "phy/estimate/cuda.inl"
#include "phy/estimate/cuda_deviation.inl"
#include "support/place.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;
using namespace carillon::phy::cuda;

struct Case {
  std::uint32_t subcarriers, comb, group, antennas, users;
};
constexpr Case kCases[] = {
    {1, 1, 1, 1, 1},   {5, 2, 3, 3, 2},     {16, 16, 16, 5, 17},   {31, 4, 1, 4, 9},
    {48, 3, 2, 7, 4},  {113, 5, 16, 6, 8},  {113, 1, 16, 2, 3},    {624, 16, 1, 5, 16},
    {624, 7, 5, 3, 9}, {1193, 2, 16, 4, 3}, {1200, 16, 16, 5, 19},
};
constexpr float kUntouched = 77;
constexpr auto kEstimate = [](auto& cta, const EstimateTask& task) { estimate_block(cta, task); };

std::vector<EstimatePlan> plans_of(const Case& c) {
  std::vector<EstimatePlan> plans;
  for (std::uint32_t offset = 0; offset < std::min(c.comb, c.subcarriers); ++offset)
    plans.emplace_back(c.subcarriers, c.comb, offset, c.group);
  return plans;
}

// Comb after comb, the last of them not full.
std::vector<EstimateUser> users_of(const Case& c, std::size_t plans) {
  std::vector<EstimateUser> users;
  for (std::uint32_t u = 0; u < c.users; ++u)
    users.push_back({u / static_cast<std::uint32_t>(plans), u % static_cast<std::uint32_t>(plans)});
  return users;
}

std::vector<Tile> random_rows(const Case& c, std::size_t rows) {
  std::mt19937 random(c.subcarriers + c.comb);
  std::normal_distribution<float> normal;
  const std::uint32_t tiles = tiles_for(c.subcarriers);
  std::vector<Tile> all(rows * tiles, Tile{});
  for (std::size_t row = 0; row < rows; ++row)
    for (std::uint32_t k = 0; k < c.subcarriers; ++k)
      simt::put(all[row * tiles + k / kTileLanes], k % kTileLanes,
                {normal(random), normal(random)});
  return all;
}

double distance(const Tile& a, const Tile& b) {
  double worst = 0;
  for (std::uint32_t i = 0; i < kTileLanes; ++i)
    worst =
        std::max({worst, std::abs(double{a.re[i]} - b.re[i]), std::abs(double{a.im[i]} - b.im[i])});
  return worst;
}

// [symbol][tile][antenna] of rows [symbol][antenna][tile].
std::vector<Tile> antennas_last(const Case& c, const std::vector<Tile>& rows) {
  const std::uint32_t tiles = tiles_for(c.subcarriers);
  std::vector<Tile> turned(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t symbol = i / tiles / c.antennas, antenna = i / tiles % c.antennas;
    turned[(symbol * tiles + i % tiles) * c.antennas + antenna] = rows[i];
  }
  return turned;
}

void compare(test::Place& place, const Case& c, bool antennas_next) {
  const std::vector<EstimatePlan> plans = plans_of(c);
  const std::vector<EstimateUser> users = users_of(c, plans.size());
  const std::uint32_t tiles = tiles_for(c.subcarriers), symbols = users.back().row + 1;
  const std::vector<Tile> rows = random_rows(c, std::size_t{symbols} * c.antennas);
  const EstimateTaps taps = taps_of(plans);
  const std::size_t user_stride = c.antennas + 1, tile_stride = user_stride * c.users + 2;
  Tile untouched;
  for (std::uint32_t i = 0; i < kTileLanes; ++i) simt::put(untouched, i, {kUntouched, kUntouched});

  EstimateTask task{};
  task.tiles = taps.tiles;
  task.tap_count = taps.count;
  task.taps = place.put(taps.taps);
  task.users = c.users;
  task.antennas = c.antennas;
  task.of = place.put(users);
  task.rows = place.put(antennas_next ? antennas_last(c, rows) : rows);
  task.row_stride = std::size_t{tiles} * c.antennas;
  task.antenna_stride = antennas_next ? 1 : tiles;
  task.tile_stride = antennas_next ? c.antennas : 1;
  task.csi = place.put(std::vector<Tile>(taps.tiles * tile_stride, untouched));
  task.csi_tile_stride = tile_stride;
  task.csi_user_stride = user_stride;
  place.run(task, kEstimate, estimate);

  std::vector<Tile> expected(taps.tiles * tile_stride, untouched);
  for (std::uint32_t u = 0; u < c.users; ++u)
    for (std::uint32_t a = 0; a < c.antennas; ++a)
      estimate_kernels().estimate(plans[users[u].plan],
                                  &rows[(std::size_t{users[u].row} * c.antennas + a) * tiles],
                                  &expected[u * user_stride + a], tile_stride);
  const std::vector<Tile> found = place.get(task.csi, expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_LE(distance(found[i], expected[i]), 1e-6)  // sums of 16 numbers near 1
        << c.subcarriers << " comb " << c.comb << " group " << c.group << " tile " << i;
}

void expect_same(const GroupDeviation& found, const GroupDeviation& expected, const Case& c) {
  const double within = 1e-5 * c.subcarriers;
  EXPECT_NEAR(found.power, expected.power, within) << c.subcarriers << " comb " << c.comb;
  EXPECT_NEAR(found.squares, expected.squares, within) << c.subcarriers << " comb " << c.comb;
  for (std::uint32_t i = 0; i < kTileLanes; ++i) {
    EXPECT_NEAR(found.along_re[i], expected.along_re[i], within) << c.subcarriers << " " << i;
    EXPECT_NEAR(found.along_im[i], expected.along_im[i], within) << c.subcarriers << " " << i;
  }
  EXPECT_NEAR(found.pilot_power, expected.pilot_power, within) << c.subcarriers;
  for (const auto of : {&GroupDeviation::bend, &GroupDeviation::step}) {
    EXPECT_NEAR((found.*of).squares, (expected.*of).squares, within) << c.subcarriers;
    for (int i = 0; i < 2; ++i)
      EXPECT_NEAR((found.*of).along[i], (expected.*of).along[i], within) << c.subcarriers;
  }
}

GroupDeviation deviation_by_cpu(const EstimatePlan& plan, const Tile* row, const Tile* csi,
                                std::size_t stride) {
  GroupDeviation sum;
  if (plan.group() > 1) sum = estimate_kernels().deviation(plan, row, csi, stride);
  if (plan.comb() > 1) sum.add(estimate_kernels().change(plan, row));
  return sum;
}

// Of the users from the one on whose pilots come first in a symbol.
void compare_deviations(test::Place& place, const Case& c, std::uint32_t first_symbol) {
  const CombPlan plan(c.subcarriers, c.comb, c.group);
  const std::uint32_t tiles = tiles_for(c.subcarriers), first = first_symbol * c.comb;
  const std::uint32_t symbols = (c.users - first + c.comb - 1) / c.comb;
  const std::vector<Tile> rows = random_rows(c, std::size_t{symbols} * c.antennas);
  const std::size_t user_stride = c.antennas + 1, tile_stride = user_stride * c.users;
  std::vector<Tile> csi(csi_tiles(c.subcarriers, c.group) * tile_stride);
  const GroupDeviation untouched{.power = kUntouched};
  std::vector<GroupDeviation> expected(std::size_t{symbols} * c.antennas, untouched);
  for (std::uint32_t user = first; user < c.users; ++user) {
    const std::uint32_t symbol = (user - first) / c.comb, offset = (user - first) % c.comb;
    const std::uint32_t users = std::min(c.comb, c.users - first - symbol * c.comb);
    for (std::uint32_t a = 0; a < c.antennas; ++a) {
      const Tile* const row = &rows[(std::size_t{symbol} * c.antennas + a) * tiles];
      Tile* const to = &csi[(user - first) * user_stride + a];
      estimate_kernels().estimate(plan.plan(offset), row, to, tile_stride);
      if (a % users == offset && a < kDeviationAntennas * users)
        expected[symbol * c.antennas + a] =
            deviation_by_cpu(plan.plan(offset), row, to, tile_stride);
    }
  }
  DeviationTask task{};
  task.subcarriers = c.subcarriers;
  task.comb = c.comb;
  task.group = c.group;
  task.antennas = c.antennas;
  task.symbols = symbols;
  task.users = c.users - first;
  task.rows = place.put(rows);
  task.row_stride = std::size_t{tiles} * c.antennas;
  task.antenna_stride = tiles;
  task.tile_stride = 1;
  task.csi = place.put(csi);
  task.csi_tile_stride = tile_stride;
  task.csi_user_stride = user_stride;
  task.deviations = place.put(std::vector<GroupDeviation>(expected.size(), untouched));
  place.run(
      task, [](auto& cta, const DeviationTask& each) { deviation_block(cta, each); }, deviate);
  const std::vector<GroupDeviation> found = place.get(task.deviations, expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) expect_same(found[i], expected[i], c);
}

GPU_TEST(CudaEstimate, DeviatesAsOnTheCpu) {
  for (const Case& c : kCases)
    if (leaves_residual(c.comb, c.group) && c.comb < c.subcarriers) compare_deviations(place, c, 0);
  compare_deviations(place, {113, 1, 4, 19, 2}, 0);  // not at all antennas
  compare_deviations(place, {300, 2, 16, 40, 5}, 1);
}

GPU_TEST(CudaEstimate, IsWhatTheCpuEstimates) {
  for (const Case& c : kCases)
    for (const bool antennas_next : {false, true}) compare(place, c, antennas_next);
}

TEST(CudaEstimate, WeightsOfALaneAddUpToOneAndTailLanesHaveNone) {
  for (const Case& c : kCases) {
    const std::vector<EstimatePlan> plans = plans_of(c);
    const EstimateTaps taps = taps_of(plans);
    const std::uint32_t lanes = taps.tiles * kTileLanes;
    EXPECT_EQ(taps.taps.size(), plans.size() * taps.count * lanes);
    EXPECT_LE(taps.count, c.group == 1 ? 2U : 18U);
    for (std::size_t plan = 0; plan < plans.size(); ++plan)
      for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        double sum = 0;
        for (std::uint32_t n = 0; n < taps.count; ++n) {
          const Tap& tap = taps.taps[(plan * taps.count + n) * lanes + lane];
          sum += tap.weight;
          EXPECT_LT(tap.pilot, c.subcarriers);
          EXPECT_TRUE(tap.weight == 0 || tap.pilot % c.comb == plan);
        }
        EXPECT_NEAR(sum, lane * c.group < c.subcarriers ? 1 : 0, 1e-6);
      }
  }
}

}  // namespace
