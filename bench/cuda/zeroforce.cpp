// Combiners of 1200 subcarriers, one for 16 of them or for each.
#include <random>

#include "cuda/bench.hpp"
#include "cuda/libraries.hpp"
#include "phy/estimate/estimate.hpp"
#include "phy/zeroforce/cuda.hpp"

namespace carillon::bench {
namespace {

using phy::Tile;
using namespace phy::cuda;

constexpr std::uint32_t kSubcarriers = 1200, kSymbolTiles = phy::tiles_for(kSubcarriers);

std::vector<Tile> random_csi(std::size_t count) {
  // The same thousand numbers again and again, each time elsewhere: drawing 10⁸ takes a minute.
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(9973);
  for (float& each : numbers) each = normal(random);
  std::vector<Tile> csi(count);
  std::size_t next = 0;
  for (Tile& tile : csi)
    for (std::uint32_t lane = 0; lane < phy::kTileLanes; ++lane) {
      tile.re[lane] = numbers[next++ % numbers.size()];
      tile.im[lane] = numbers[next++ % numbers.size()];
    }
  return csi;
}

/// A task and all the memory that it needs.
struct Combiners {
  Combiners(std::uint32_t antennas, std::uint32_t users, std::uint32_t group)
      : tiles(phy::csi_tiles(kSubcarriers, group)),
        slices(slices_for(antennas, users, tiles)),
        csi(random_csi(std::size_t{tiles} * users * antennas)),
        w(std::size_t{tiles} * users * antennas),
        noise(std::vector<float>(antennas, 0.01F)),
        squares(std::size_t{tiles} * 16 * slices * triangle(user_blocks(users))),
        gains(std::size_t{tiles} * 16 * users),
        variances(std::size_t{tiles} * 16 * users),
        mean_noise(1),
        takes_part(std::vector<std::uint8_t>(antennas, 1)),
        flags(std::size_t{tiles} * 16) {
    task.detector = phy::Detector::ZeroForcing;
    task.antennas = antennas;
    task.users = users;
    task.tiles = tiles;
    task.csi = csi.data();
    task.w = w.data();
    task.tile_stride = std::size_t{users} * antennas;
    task.user_stride = antennas;
    task.noise = noise.data();
    task.pilots = 1;
    task.noise_gain = 1;
    task.slices = slices;
    task.squares = squares.data();
    task.gains = gains.data();
    task.mean_noise = mean_noise.data();
    task.takes_part = takes_part.data();
    task.variances = variances.data();
    task.flags = flags.data();
  }

  std::uint32_t tiles, slices;
  OnDevice<Tile> csi, w;
  OnDevice<float> noise;
  OnDevice<SquareBlock> squares;
  OnDevice<float> gains, variances, mean_noise;
  OnDevice<std::uint8_t> takes_part;
  OnDevice<std::uint32_t> flags;
  CombineTask task{};
};

void measure_combine(GpuBench& bench, const Combiners& c, std::uint32_t group,
                     const std::string& shape) {
  const double m = c.task.antennas, k = c.task.users, n = kSubcarriers / group;
  const std::string of = "/" + std::to_string(group);
  const double bytes = 8 * k * m * n, square = 4 * k * k * n;
  // Complex multiply-adds are 8 operations; Gram matrices and inverses are Hermitian.
  bench.time("survey" + of, shape, {.bytes = 4 * m},
             [&](cuda::Stream stream) { return survey({c.task}, stream); });
  bench.time("gram" + of, shape,
             {.bytes = bytes + square * c.slices, .flops = 8 * n * m * k * (k + 1) / 2},
             [&](cuda::Stream stream) { return gram({c.task}, stream); });
  // Its output is part of its input the next time: that, too, is positive definite.
  bench.time("factor" + of, shape,
             {.bytes = square * (c.slices + 1), .flops = 8 * n * k * k * k / 2},
             [&](cuda::Stream stream) { return factor({c.task}, stream); });
  bench.time("weigh" + of, shape, {.bytes = 2 * bytes + square, .flops = 8 * n * m * k * k},
             [&](cuda::Stream stream) { return weigh({c.task}, stream); });
  InversePeer library(c.task.antennas, c.task.users, kSubcarriers / group);
  bench.time(
      "combine" + of, shape,
      {.bytes = 2 * bytes, .flops = 8 * n * (m * k * (k + 1) / 2 + k * k * k / 2 + m * k * k)},
      [&](cuda::Stream stream) { return combine(c.task, stream); }, "cuBLAS, cuSOLVER",
      library.enqueue());
}

void measure_expand(GpuBench& bench, const Combiners& c, std::uint32_t group,
                    const std::string& shape) {
  const std::string of = "/" + std::to_string(group);
  const std::size_t values = std::size_t{kSymbolTiles} * c.task.users * c.task.antennas;
  const std::size_t rows = std::size_t{kSymbolTiles} * c.task.users;
  const OnDevice<phy::HalfTile> half(group == 1 ? values : 1);
  const OnDevice<phy::HalfComplex> scalars(group == 16 ? values : 1);
  const OnDevice<float> scale(rows), post_noise(rows * phy::kTileLanes);
  ExpandTask task{};
  task.of = c.task;
  task.group = group;
  task.subcarriers = kSubcarriers;
  task.half = group == 1 ? half.data() : nullptr;
  task.half_scalars = group == 16 ? scalars.data() : nullptr;
  task.tile_stride = c.task.tile_stride;
  task.user_stride = c.task.user_stride;
  task.half_scale = scale.data();
  task.post_noise = post_noise.data();
  const double combiners =
      static_cast<double>(c.task.tiles) * static_cast<double>(c.task.tile_stride * sizeof(Tile));
  bench.time("expand half" + of, shape, {.bytes = 1.5 * combiners + static_cast<double>(rows) * 64},
             [&](cuda::Stream stream) { return expand(task, stream); });

  const OnDevice<float> power(std::size_t{c.task.tiles} * c.task.antennas);
  AntennaPowerTask sums{};
  sums.of = c.task;
  sums.group = group;
  sums.subcarriers = kSubcarriers;
  sums.power = power.data();
  bench.time("antenna power" + of, shape, {.bytes = combiners},
             [&](cuda::Stream stream) { return antenna_power(sums, stream); });
}

}  // namespace

void measure_zeroforce(GpuBench& bench) {
  constexpr std::uint32_t kShapes[][2] = {{64, 16}, {128, 32}, {128, 64}, {256, 128}};
  for (const std::uint32_t group : {16U, 1U})
    for (const auto& [antennas, users] : kShapes) {
      const std::string shape = std::to_string(antennas) + "x" + std::to_string(users);
      const Combiners combiners(antennas, users, group);
      measure_combine(bench, combiners, group, shape);
      measure_expand(bench, combiners, group, shape);
    }
}

}  // namespace carillon::bench
