// What follows from combiners against the kernels of the CPU, which zeroforce_test.cpp tests.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>

#include "phy/estimate/estimate.hpp"
#include "phy/groups.hpp"
#include "phy/zeroforce/cuda_case.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;
using namespace carillon::phy::cuda;
using namespace carillon::phy::cuda::zeroforce;

constexpr auto kExpand = [](auto& cta, const ExpandTask& task) { expand_block(cta, task); };
constexpr auto kPower = [](auto& cta, const AntennaPowerTask& task) {
  antenna_power_block(cta, task);
};

/// W and the noise after it as if they had been combined; the second lane was regularised.
CombineTask made_up(Place& place, const Channels& c, float noise) {
  CombineTask task = task_of(place, Detector::ZeroForcing, noise, c, 1);
  const std::size_t lanes = c.tiles * kTileLanes;
  std::vector<Tile> w = copy_of(c.csi);
  for (std::uint32_t a = 0; a < c.shape.antennas; ++a)  // a row of zeros, and small numbers
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
      array::put(w[a], lane, 0);
      array::put(w[c.shape.antenna_stride + a], lane, 1e-7 * a);
    }
  task.w = place.put(w);
  std::vector<float> variances(lanes * c.shape.users);
  for (std::size_t i = 0; i < variances.size(); ++i) variances[i] = 1 + static_cast<float>(i);
  task.variances = place.put(variances);
  std::vector<std::uint32_t> flags(lanes);
  flags[1] = kFlagged | kRegularised;
  flags[2] = kFlagged;
  task.flags = place.put(flags);
  task.mean_noise = place.put(std::vector<float>{noise});
  return task;
}

/// The same by the CPU's kernels: [tile][user][antenna] of the whole band.
struct Expanded {
  Tiles tiles;
  std::vector<Complex> scalars;
  AlignedArray<HalfTile> half;
  std::vector<HalfComplex> half_scalars;
  std::vector<float> scale;
  AlignedArray<float> post_noise;
};

Expanded expanded_by_cpu(Place& place, const CombineTask& of, const Channels& c,
                         std::uint32_t group, std::uint32_t subcarriers) {
  const std::uint32_t tiles = tiles_for(subcarriers);
  const ZeroForceKernels& kernels = zeroforce_kernels();
  const std::size_t lanes = c.tiles * kTileLanes, block = c.block();
  const std::vector<Tile> vector = place.get(of.w, c.csi.size());
  Tiles w(vector.size());
  std::copy(vector.begin(), vector.end(), w.begin());
  const std::vector<float> variances = place.get(of.variances, lanes * of.users);
  AlignedArray<float> groups(variances.size());  // [tile][user][16]
  for (std::size_t lane = 0; lane < lanes; ++lane)
    for (std::uint32_t user = 0; user < of.users; ++user) {
      float& to = groups[(lane / kTileLanes * of.users + user) * kTileLanes + lane % kTileLanes];
      to = variances[lane * of.users + user];
      for (std::uint32_t a = 0; lane == 1 && a < of.antennas; ++a)
        to +=
            place.get(of.mean_noise, 1)[0] * simt::norm(simt::get(w[user * of.user_stride + a], 1));
    }
  const auto held = place.get(of.held, of.users);
  for (std::uint32_t t = 0; t < c.tiles; ++t)
    add_held({subcarriers, of.comb, group}, t, of.users, held.data(),
             place.get(of.mean_noise, 1)[0], &groups[std::size_t{t} * of.users * kTileLanes]);
  Expanded all{Tiles(tiles * block),
               std::vector<Complex>(tiles * block),
               AlignedArray<HalfTile>(tiles * block),
               std::vector<HalfComplex>(tiles * block),
               std::vector<float>(std::size_t{tiles} * of.users),
               AlignedArray<float>(std::size_t{tiles} * of.users * kTileLanes)};
  for (std::uint32_t t = 0; t < tiles; ++t) {
    float* const noise = &all.post_noise[std::size_t{t} * of.users * kTileLanes];
    float* const scale = &all.scale[std::size_t{t} * of.users];
    if (group == 16) {
      if (t % kTileLanes == 0) {
        const std::uint32_t count = std::min(kTileLanes, tiles - t);
        kernels.expand_scalars(c.shape, count, &w[t / kTileLanes * block], &all.scalars[t * block],
                               block);
        spread_lanes(of.users, count, &groups[std::size_t{t} / kTileLanes * of.users * kTileLanes],
                     noise, kTileLanes);
      }
      kernels.halve_scalar(c.shape, &all.scalars[t * block], &all.half_scalars[t * block], scale);
      continue;
    }
    if (group == 1) {
      std::copy_n(&w[t * block], block, &all.tiles[t * block]);
      std::copy_n(&groups[std::size_t{t} * of.users * kTileLanes], of.users * kTileLanes, noise);
    } else {
      const LaneGroups lanes{static_cast<std::uint8_t>(group),
                             static_cast<std::uint8_t>(t % group)};
      const Tiles own =
          phy::testing::spread(lanes, std::span<const Tile>(&w[t / group * block], block));
      std::copy(own.begin(), own.end(), &all.tiles[t * block]);
      kernels.spread_groups(lanes, of.users,
                            &groups[std::size_t{t} / group * of.users * kTileLanes], noise);
    }
    kernels.halve(c.shape, &all.tiles[t * block], &all.half[t * block], scale);
  }
  return all;
}

template <typename T>
bool same_bits(const T& a, const T& b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

void compare_expanded(Place& place, std::uint32_t group, std::uint32_t subcarriers) {
  const Channels c = random_channels({19, 3, 21}, csi_tiles(subcarriers, group), group);
  const std::uint32_t tiles = tiles_for(subcarriers);
  CombineTask of = made_up(place, c, 0.5F);
  const std::vector<float> residual = {0.25F, 0, 2 * kPostNoiseCeiling};
  of.residual = place.put(residual);
  of.held = place.put(std::vector<HeldResidual>{{0.5F, 0.25F}, {0, 2}, {1, 0}});
  of.comb = 4;
  Expanded expected = expanded_by_cpu(place, of, c, group, subcarriers);
  for (std::size_t i = 0; i < expected.post_noise.size(); ++i) {
    float& noise = expected.post_noise[i];
    noise = std::min(noise + residual[i / kTileLanes % of.users], kPostNoiseCeiling);
  }
  const std::size_t count = tiles * c.block();
  ExpandTask task{};
  task.group = group;
  task.subcarriers = subcarriers;
  task.tile_stride = c.block();
  task.user_stride = c.shape.antenna_stride;
  task.tiles = group < 16 ? place.room<Tile>(count) : nullptr;
  task.half = group < 16 ? place.room<HalfTile>(count) : nullptr;
  task.scalars = group == 16 ? place.room<Complex>(count) : nullptr;
  task.half_scalars = group == 16 ? place.room<HalfComplex>(count) : nullptr;
  task.half_scale = place.room<float>(std::size_t{tiles} * of.users);
  task.post_noise = place.room<float>(std::size_t{tiles} * of.users * kTileLanes);
  for (const auto& [first, range] : {std::pair{0U, 1U}, std::pair{1U, c.tiles - 1}}) {
    if (range == 0) continue;
    task.of = of;
    task.of.first_tile = first;
    task.of.tiles = range;
    place.run(task, kExpand, expand);
  }
  EXPECT_TRUE(place.get(task.half_scale, expected.scale.size()) == expected.scale) << group;
  const auto noise = place.get(task.post_noise, expected.post_noise.size());
  for (std::size_t i = 0; i < noise.size(); ++i)
    EXPECT_NEAR(noise[i], expected.post_noise[i], 1e-5 * noise[i]) << group << " " << i;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % c.shape.antenna_stride >= c.shape.antennas) continue;
    if (group < 16) {
      EXPECT_TRUE(same_bits(place.get(task.tiles + i, 1)[0], expected.tiles[i])) << group;
      EXPECT_TRUE(same_bits(place.get(task.half + i, 1)[0], expected.half[i])) << group;
    } else {
      EXPECT_TRUE(same_bits(place.get(task.scalars + i, 1)[0], expected.scalars[i])) << i;
      EXPECT_TRUE(same_bits(place.get(task.half_scalars + i, 1)[0], expected.half_scalars[i]));
    }
  }
}

GPU_TEST(CudaExpand, ExpandsAndHalvesAsTheCpuDoes) {
  for (const std::uint32_t group : {1U, 2U, 3U, 7U, 15U}) compare_expanded(place, group, 261);
  compare_expanded(place, 16, 261);
  compare_expanded(place, 16, 601);
}

GPU_TEST(CudaExpand, AntennaPowerIsTheSumOverUsersAndSubcarriers) {
  for (const std::uint32_t group : {1U, 5U, 16U}) {
    constexpr std::uint32_t kSubcarriers = 601;
    const Channels c = random_channels({19, 7, 21}, csi_tiles(kSubcarriers, group), group);
    AntennaPowerTask task{};
    task.of = task_of(place, Detector::ZeroForcing, 0, c, 1);
    task.of.w = place.put(copy_of(c.csi));
    task.of.first_tile = c.tiles / 2;
    task.of.tiles = c.tiles - c.tiles / 2;
    task.group = group;
    task.subcarriers = kSubcarriers;
    task.power = place.room<float>(std::size_t{c.tiles} * c.shape.antennas);
    place.run(task, kPower, antenna_power);
    const auto found = place.get(task.power, std::size_t{c.tiles} * c.shape.antennas);
    for (std::uint32_t t = 0; t < c.tiles; ++t)
      for (std::uint32_t a = 0; a < c.shape.antennas; ++a) {
        double sum = 0;
        for (std::uint32_t k = t * kTileLanes * group;
             k < std::min(kSubcarriers, (t + 1) * kTileLanes * group); ++k)
          for (std::uint32_t user = 0; user < c.shape.users; ++user)
            sum += std::norm(
                array::get(c.at(t)[user * c.shape.antenna_stride + a], k / group % kTileLanes));
        if (t < task.of.first_tile) sum = 0;
        EXPECT_NEAR(found[t * c.shape.antennas + a], sum, 1e-5 * sum) << group;
      }
  }
}

constexpr auto kGain = [](auto& cta, const GainTask& task) { gain_block(cta, task); };

GPU_TEST(CudaExpand, TheLoudestAntennaGetsTheTarget) {
  for (const std::uint32_t antennas : {1U, 19U, 256U, 300U}) {
    constexpr std::uint32_t kTiles = 3;
    std::mt19937 random(antennas);
    std::vector<float> power(std::size_t{kTiles} * antennas);
    for (auto& each : power) each = static_cast<float>(random() % 1000);
    double most = 0;
    for (std::uint32_t a = 0; a < antennas; ++a)
      most = std::max(most, double{power[a]} + power[antennas + a] + power[2 * antennas + a]);
    GainTask task{place.put(power), kTiles, antennas, 7, place.room<float>(1)};
    place.run(task, kGain, choose_gain);
    EXPECT_NEAR(place.get(task.gain, 1)[0], std::sqrt(7 / most), 1e-6 * std::sqrt(7 / most));
    task.power = place.room<float>(std::size_t{kTiles} * antennas);
    place.run(task, kGain, choose_gain);
    EXPECT_EQ(place.get(task.gain, 1)[0], 0.0F);
  }
}

}  // namespace
