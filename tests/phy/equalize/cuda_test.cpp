// The kernels against the CPU's: equalized symbols to rounding, soft bits to one step of the CPU's
// from the same symbols.
#include "phy/equalize/cuda.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "phy/demap/demap.hpp"
#include "phy/equalize/cuda.inl"
#include "phy/transport/traffic.hpp"
#include "phy/zeroforce/zeroforce.hpp"
#include "support/place.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;
using namespace carillon::phy::cuda;
using phy::testing::Traffic;
using test::Place;

enum class Kind : std::uint8_t { Tiles, Scalars, HalfTiles, HalfScalars };
constexpr Kind kKinds[] = {Kind::Tiles, Kind::Scalars, Kind::HalfTiles, Kind::HalfScalars};

struct Case {
  std::uint32_t antennas, users, symbols, tiles, at_once;
};
constexpr Case kCases[] = {{1, 1, 1, 2, 16},    {5, 3, 3, 4, 16},   {8, 8, 5, 6, 32},
                           {33, 9, 4, 4, 16},   {65, 17, 2, 5, 32}, {63, 13, 13, 4, 16},
                           {130, 33, 6, 3, 32}, {40, 31, 1, 9, 0},  {256, 128, 5, 1, 32}};

constexpr auto kEqualize = [](auto& cta, const EqualizeTask& task) { equalize_block(cta, task); };

// A task's operands on the host, of the kind's layout; padding is not a number.
struct Operands {
  Operands(const Case& of, Kind kind, unsigned seed)
      : shape{of.antennas, of.users, of.antennas + 1 + of.antennas % 2}, random(seed) {
    const std::size_t block = std::size_t{of.users} * shape.antenna_stride;
    const bool half = kind == Kind::HalfTiles || kind == Kind::HalfScalars;
    const bool shared = kind == Kind::Scalars || kind == Kind::HalfScalars;
    const float size = 1 / std::sqrt(2 * static_cast<float>(of.antennas));
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t i = 0; i < of.tiles * block; ++i) {
      const bool padding = i % shape.antenna_stride >= of.antennas;
      if (shared)
        scalars.push_back(padding ? Complex{nan, nan} : number(size));
      else
        tiles.push_back(padding ? filled({nan, nan}) : numbers(size));
    }
    for (std::size_t i = 0; i < std::size_t{of.symbols} * of.tiles * shape.antenna_stride; ++i)
      y.push_back(i % shape.antenna_stride >= of.antennas ? filled({nan, nan}) : numbers(0.7F));
    for (std::size_t i = 0; i < std::size_t{of.tiles} * of.users * kTileLanes; ++i)
      noise.push_back(i % 37 == 0   ? 0
                      : i % 41 == 0 ? std::numeric_limits<float>::infinity()
                                    : std::abs(number(0.02F).re) + 1e-3F);
    if (half) halve(of, block);
  }

  void halve(const Case& of, std::size_t block) {
    scale.resize(std::size_t{of.tiles} * of.users);
    half_scalars.resize(scalars.size());
    half_tiles.resize(tiles.size());
    for (std::uint32_t t = 0; t < of.tiles; ++t)
      if (!scalars.empty())
        zeroforce_kernels().halve_scalar(shape, &scalars[t * block], &half_scalars[t * block],
                                         &scale[t * of.users]);
      else
        zeroforce_kernels().halve(shape, &tiles[t * block], &half_tiles[t * block],
                                  &scale[t * of.users]);
    for (const Tile& tile : y) {
      HalfTile rounded;
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
        simt::put(rounded, lane, kHalfScale * simt::get(tile, lane));
      half_y.push_back(rounded);
    }
  }

  Complex number(float size) {
    const float re = size * normal(random);
    return {re, size * normal(random)};
  }
  Tile numbers(float size) {
    Tile tile;
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) simt::put(tile, lane, number(size));
    return tile;
  }
  static Tile filled(Complex value) {
    Tile tile;
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) simt::put(tile, lane, value);
    return tile;
  }

  /// Of one tile by the CPU; half precision with sums in single.
  void equalize(std::uint32_t tile, std::size_t row, Tile* s) {
    const auto& kernels = equalize_kernels(Isa::Avx2);
    const std::size_t w = std::size_t{tile} * shape.users * shape.antenna_stride;
    if (!half_scalars.empty())
      kernels.per_tile_half(shape, &half_scalars[w], &scale[tile * shape.users], &half_y[row], s);
    else if (!half_tiles.empty())
      kernels.per_group_half(shape, {}, &half_tiles[w], &scale[tile * shape.users], &half_y[row],
                             s);
    else if (!scalars.empty())
      kernels.per_tile(shape, &scalars[w], &y[row], s);
    else
      kernels.per_group(shape, {}, &tiles[w], &y[row], s);
  }

  ArrayShape shape;
  std::mt19937 random;
  std::normal_distribution<float> normal{0, 0.7F};
  std::vector<Tile> tiles, y;
  std::vector<Complex> scalars;
  std::vector<HalfTile> half_tiles, half_y;
  std::vector<HalfComplex> half_scalars;
  std::vector<float> scale, noise;
};

EqualizeTask task_of(Place& place, const Case& of, const Operands& in, const Traffic& traffic) {
  const auto given = [&](const auto& values) {
    return values.empty() ? nullptr : place.put(values);
  };
  EqualizeTask task{};
  task.shape = in.shape;
  task.tiles = of.tiles;
  task.symbols = of.symbols;
  const bool half = !in.half_y.empty();
  task.w_tiles = half ? nullptr : given(in.tiles);
  task.w_scalars = half ? nullptr : given(in.scalars);
  task.half_w_tiles = given(in.half_tiles);
  task.half_w_scalars = given(in.half_scalars);
  task.scale = given(in.scale);
  task.w_tile = std::size_t{of.users} * in.shape.antenna_stride;
  task.y = half ? nullptr : given(in.y);
  task.half_y = given(in.half_y);
  task.y_tile = in.shape.antenna_stride;
  task.y_symbol = task.y_tile * of.tiles;
  task.noise = given(in.noise);
  task.runs = {place.put(traffic.table.runs()), place.put(traffic.table.first()),
               place.put(traffic.table.places()), place.put(traffic.signs)};
  task.equalized_symbol = std::size_t{of.tiles} * of.users;
  task.equalized_tile = of.users;
  task.users_at_once = of.at_once;
  return task;
}

// What the CPU makes of equalized symbols, [symbol][tile][user] from tile `first` on.
void demap_on_cpu(const Traffic& traffic, std::uint32_t first, std::uint32_t tiles, const Tile* s,
                  const float* noise, std::int8_t* soft) {
  for (std::size_t row = 0; row < traffic.shares.size(); ++row) {
    const Share& share = traffic.shares[row];
    const std::size_t user = row % traffic.users, symbol = row / traffic.users;
    traffic.for_blocks(share, first * kTileLanes, (first + tiles) * kTileLanes,
                       [&](const CodeBlock& block, std::size_t buffer, std::uint32_t re,
                           std::uint32_t k, std::uint32_t count) {
                         const std::uint32_t tile = k / kTileLanes - first;
                         const std::uint32_t touched =
                             tiles_for(share.first_subcarrier % kTileLanes + share.count);
                         demap_kernels().demap(
                             share.plan->modulation(),
                             {.map = block.map,
                              .re = re,
                              .first = k % kTileLanes,
                              .count = count,
                              .s = s + (symbol * tiles + tile) * traffic.users + user,
                              .stride = traffic.users,
                              .noise = noise + (tile * traffic.users + user) * kTileLanes,
                              .noise_stride = std::size_t{traffic.users} * kTileLanes,
                              .signs = &traffic.signs[share.signs + k / kTileLanes -
                                                      share.first_subcarrier / kTileLanes],
                              .sign_stride = touched,
                              .soft = soft + buffer});
                       });
  }
}

// The CPU is within a step of the exact soft bits, and so are we: two where both round away.
void expect_near(const std::vector<std::int8_t>& found, const std::vector<std::int8_t>& expected,
                 const std::string& name) {
  std::size_t off = 0, far = 0, worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto differs = static_cast<std::size_t>(std::abs(found[i] - expected[i]));
    off += differs != 0 ? 1 : 0;
    far += differs > 1 ? 1 : 0;
    worst = std::max(worst, differs);
  }
  EXPECT_LE(off, found.size() / 10 + 20) << name;
  EXPECT_LE(far, found.size() / 10000) << name;
  EXPECT_LE(worst, 2U) << name;
}

GPU_TEST(CudaEqualize, IsWhatTheCpuDoes) {
  unsigned seed = 0;
  std::uint32_t direct = 0, repeated = 0;
  for (const Case& of : kCases)
    for (const Kind kind : kKinds) {
      const std::string name = std::to_string(of.antennas) + "x" + std::to_string(of.users) +
                               " kind " + std::to_string(static_cast<int>(kind));
      Operands in(of, kind, ++seed);
      const Traffic traffic(RunTable::Order::Decoder, of.users, of.symbols, of.tiles, seed);
      direct += traffic.direct;
      repeated += traffic.repeated;
      constexpr std::int8_t kUntouched = 99;
      const std::vector<std::int8_t> blank(traffic.bytes, kUntouched);
      EqualizeTask task = task_of(place, of, in, traffic);
      task.soft = place.put(blank);
      task.equalized = place.room<Tile>(of.symbols * task.equalized_symbol);
      task.error = place.room<float>(of.symbols * of.users);
      place.run(task, kEqualize, equalize);

      const auto s = place.get(task.equalized, of.symbols * task.equalized_symbol);
      std::vector<float> error(of.symbols * of.users);
      std::vector<Tile> expected(of.users);
      for (std::uint32_t symbol = 0; symbol < of.symbols; ++symbol)
        for (std::uint32_t tile = 0; tile < of.tiles; ++tile) {
          in.equalize(tile, symbol * task.y_symbol + tile * task.y_tile, expected.data());
          for (std::uint32_t u = 0; u < of.users; ++u) {
            const std::size_t row = std::size_t{symbol} * of.users + u;
            const Tile& found = s[symbol * task.equalized_symbol + tile * of.users + u];
            const Share& share = traffic.shares[row];
            std::uint32_t mask = 0;
            for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
              EXPECT_NEAR(found.re[lane], expected[u].re[lane], 1e-5) << name;
              EXPECT_NEAR(found.im[lane], expected[u].im[lane], 1e-5) << name;
              if (tile * kTileLanes + lane - share.first_subcarrier < share.count)
                mask |= 1U << lane;
            }
            if (mask != 0)
              error[row] += demap_kernels().error_power(share.plan->modulation(), found, mask);
          }
        }
      const auto errors = place.get(task.error, error.size());
      for (std::size_t row = 0; row < error.size(); ++row)
        EXPECT_NEAR(errors[row], error[row], 1e-4F * error[row] + 1e-6F) << name;

      std::vector<std::int8_t> soft = blank;
      demap_on_cpu(traffic, 0, of.tiles, s.data(), in.noise.data(), soft.data());
      expect_near(place.get(task.soft, soft.size()), soft, name);
    }
  EXPECT_GT(direct, 100U);
  EXPECT_GT(repeated, 10U);
}

// Every symbol by itself, in two parts of the band, and only soft bits.
GPU_TEST(CudaEqualize, GivesTheSameInParts) {
  constexpr Case kWhole = {20, 11, 5, 7, 0};
  constexpr std::uint32_t kLower = 3;
  for (const Kind kind : kKinds) {
    const Operands in(kWhole, kind, 5);
    const Traffic traffic(RunTable::Order::Decoder, kWhole.users, kWhole.symbols, kWhole.tiles, 1);
    EqualizeTask task = task_of(place, kWhole, in, traffic);
    std::int8_t* const whole = place.room<std::int8_t>(traffic.bytes);
    std::int8_t* const parts = place.room<std::int8_t>(traffic.bytes);
    task.soft = whole;
    place.run(task, kEqualize, equalize);
    for (std::uint32_t symbol = 0; symbol < kWhole.symbols; ++symbol)
      for (const std::uint32_t first : {kLower, 0U}) {
        EqualizeTask part = task;
        part.soft = parts;
        part.symbols = 1;
        part.first_tile = first;
        part.tiles = first == 0 ? kLower : kWhole.tiles - kLower;
        const auto on = [](auto* pointer, std::size_t by) {
          return pointer == nullptr ? nullptr : pointer + by;
        };
        part.w_tiles = on(task.w_tiles, first * task.w_tile);
        part.w_scalars = on(task.w_scalars, first * task.w_tile);
        part.half_w_tiles = on(task.half_w_tiles, first * task.w_tile);
        part.half_w_scalars = on(task.half_w_scalars, first * task.w_tile);
        part.scale = on(task.scale, first * kWhole.users);
        part.y = on(task.y, symbol * task.y_symbol + first * task.y_tile);
        part.half_y = on(task.half_y, symbol * task.y_symbol + first * task.y_tile);
        part.noise += first * kWhole.users * kTileLanes;
        part.runs.first += symbol * kWhole.users;
        place.run(part, kEqualize, equalize);
      }
    EXPECT_TRUE(place.get(whole, traffic.bytes) == place.get(parts, traffic.bytes));
  }
}

TEST(CudaEqualize, FillsALargeGpuWhereTheFrameDoes) {
  const auto blocks = [](std::uint32_t antennas, std::uint32_t users, std::uint32_t symbols) {
    EqualizeTask task{};
    task.shape = {antennas, users, antennas + 1};
    task.tiles = 75;
    task.symbols = symbols;
    const simt::Launch launch = launch_of(task);
    return launch.x * launch.y * launch.z;
  };
  EXPECT_EQ(blocks(64, 16, 13), 300U);
  EXPECT_EQ(blocks(128, 32, 12), 450U);
  EXPECT_EQ(blocks(128, 64, 10), 450U);
  EXPECT_EQ(blocks(256, 128, 6), 600U);
  EXPECT_EQ(blocks(128, 64, 1), 300U);
}

}  // namespace
