// The kernels against the CPU's modulation and precoding, one after the other.
#include "phy/precode/cuda.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "phy/modulate/modulate.hpp"
#include "phy/precode/cuda.inl"
#include "phy/transport/traffic.hpp"
#include "phy/zeroforce/zeroforce.hpp"
#include "support/place.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;
using namespace carillon::phy::cuda;
using phy::testing::Traffic;
using test::Place;

enum class Kind : std::uint8_t { Tiles, Scalars, Half };
constexpr Kind kKinds[] = {Kind::Tiles, Kind::Scalars, Kind::Half};

struct Case {
  std::uint32_t antennas, users, symbols, tiles;
};
constexpr Case kCases[] = {{1, 1, 1, 2},    {5, 3, 3, 4},    {16, 8, 5, 5},  {33, 9, 4, 4},
                           {63, 13, 14, 4}, {64, 33, 2, 5},  {70, 17, 2, 3}, {130, 41, 4, 3},
                           {128, 64, 3, 2}, {256, 128, 5, 1}};

constexpr auto kPrecode = [](auto& cta, const PrecodeTask& task) { precode_block(cta, task); };

// Operands on the host; padding is not a number.
struct Operands {
  Operands(const Case& of, Kind kind, unsigned seed)
      : shape{of.antennas, of.users, of.antennas + 1}, random(seed) {
    const std::size_t block = std::size_t{of.users} * shape.antenna_stride;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t i = 0; i < of.tiles * block; ++i) {
      const bool padding = i % shape.antenna_stride >= of.antennas;
      // Rows of very different size, as of users near and far.
      const std::size_t user = i / shape.antenna_stride % of.users;
      const float size = std::ldexp(0.1F, static_cast<int>(user % 7));
      Tile tile;
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
        simt::put(tile, lane, padding ? Complex{nan, nan} : number(size));
      if (kind == Kind::Tiles)
        tiles.push_back(tile);
      else
        scalars.push_back(simt::get(tile, 0));
    }
    if (kind != Kind::Half) return;
    scale.resize(std::size_t{of.tiles} * of.users);
    half.resize(scalars.size());
    for (std::uint32_t t = 0; t < of.tiles; ++t)
      zeroforce_kernels().halve_scalar(shape, &scalars[t * block], &half[t * block],
                                       &scale[t * of.users]);
  }

  Complex number(float size) {
    const float re = size * normal(random);
    return {re, size * normal(random)};
  }

  ArrayShape shape;
  std::mt19937 random;
  std::normal_distribution<float> normal{0, 1};
  std::vector<Tile> tiles;
  std::vector<Complex> scalars;
  std::vector<HalfComplex> half;
  std::vector<float> scale;
};

PrecodeTask task_of(Place& place, const Case& of, const Operands& in, const Traffic& traffic,
                    const std::vector<std::uint8_t>& coded) {
  PrecodeTask task{};
  task.shape = in.shape;
  task.tiles = of.tiles;
  task.symbols = of.symbols;
  if (!in.tiles.empty()) task.w_tiles = place.put(in.tiles);
  if (!in.half.empty()) {
    task.half_w_scalars = place.put(in.half);
    task.scale = place.put(in.scale);
  } else if (!in.scalars.empty()) {
    task.w_scalars = place.put(in.scalars);
  }
  task.w_tile = std::size_t{of.users} * in.shape.antenna_stride;
  task.runs = {place.put(traffic.table.runs()), place.put(traffic.table.first()),
               place.put(traffic.table.places()), place.put(traffic.signs)};
  task.coded = place.put(coded);
  task.x_tile = in.shape.antenna_stride;
  task.x_symbol = task.x_tile * of.tiles;
  return task;
}

std::vector<std::uint8_t> random_bits(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> coded(bytes);
  for (auto& byte : coded) byte = static_cast<std::uint8_t>(random());
  return coded;
}

// [symbol][tile][user]
std::vector<Tile> modulated_on_cpu(const Traffic& traffic, const std::vector<std::uint8_t>& coded) {
  std::vector<Tile> s(traffic.shares.size() * traffic.tiles, Tile{});
  for (std::size_t row = 0; row < traffic.shares.size(); ++row) {
    const Share& share = traffic.shares[row];
    const std::uint32_t words = tiles_for(share.first_subcarrier % kTileLanes + share.count);
    for (std::uint32_t t = 0; t < traffic.tiles; ++t)
      traffic.for_blocks(
          share, t * kTileLanes, (t + 1) * kTileLanes,
          [&](const CodeBlock& block, std::size_t buffer, std::uint32_t re, std::uint32_t k,
              std::uint32_t count) {
            const std::size_t at =
                (row / traffic.users * traffic.tiles + t) * traffic.users + row % traffic.users;
            modulate_kernels().modulate(
                share.plan->modulation(), coded.data() + buffer, block.E, re, k % kTileLanes, count,
                &traffic.signs[share.signs + t - share.first_subcarrier / kTileLanes], words,
                &s[at]);
          });
  }
  return s;
}

// Rounded to half precision as the kernel rounds: a user's symbols relative to the largest scale.
void round_symbols(const Operands& in, std::uint32_t tile, std::vector<Tile>& s) {
  const float* const scale = &in.scale[tile * in.shape.users];
  const float largest = *std::max_element(scale, scale + in.shape.users);
  for (std::uint32_t u = 0; u < in.shape.users; ++u)
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
      const float factor = scale[u] / largest;
      const Complex value = factor * simt::get(s[u], lane);
      simt::put(s[u], lane,
                (1 / factor) * Complex{simt::from_half(simt::to_half(value.re)),
                                       simt::from_half(simt::to_half(value.im))});
    }
}

// One tile's x, from what half precision leaves of the operands; and the largest sum of magnitudes.
double precode_on_cpu(const Operands& in, std::uint32_t tile, std::vector<Tile> s, Tile* x) {
  const std::size_t block = std::size_t{in.shape.users} * in.shape.antenna_stride;
  std::vector<Complex> w(block);
  double most = 0;
  for (std::uint32_t u = 0; u < in.shape.users; ++u) {
    double row = 0;
    for (std::uint32_t a = 0; a < in.shape.antennas; ++a) {
      const std::size_t at = std::size_t{u} * in.shape.antenna_stride + a;
      if (!in.tiles.empty()) {
        row =
            std::max(row, std::sqrt(double{simt::norm(simt::get(in.tiles[tile * block + at], 0))}));
        continue;
      }
      w[at] = in.scalars[tile * block + at];
      if (!in.half.empty())
        w[at] = (in.scale[tile * in.shape.users + u] * kHalfScale) *
                Complex{simt::from_half(in.half[tile * block + at].re),
                        simt::from_half(in.half[tile * block + at].im)};
      row = std::max(row, std::sqrt(double{simt::norm(w[at])}));
    }
    most += row;
  }
  if (!in.half.empty()) round_symbols(in, tile, s);
  if (!in.tiles.empty())
    precode_kernels().per_group(in.shape, {}, &in.tiles[tile * block], s.data(), x);
  else
    precode_kernels().per_tile(in.shape, w.data(), s.data(), x);
  return most;
}

// Sums of up to 128 products in single precision in another order: 1e-6 of their magnitudes.
void expect_near(const Case& of, const Operands& in, const PrecodeTask& task,
                 const std::vector<Tile>& s, const std::vector<Tile>& found,
                 const std::string& name) {
  std::vector<Tile> x(of.antennas);
  for (std::uint32_t symbol = 0; symbol < of.symbols; ++symbol)
    for (std::uint32_t tile = 0; tile < of.tiles; ++tile) {
      const auto first =
          s.begin() + static_cast<std::ptrdiff_t>((symbol * of.tiles + tile) * of.users);
      const double most = precode_on_cpu(in, tile, {first, first + of.users}, x.data());
      double worst = 0;
      for (std::uint32_t a = 0; a < of.antennas; ++a)
        for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
          const Tile& to = found[symbol * task.x_symbol + tile * task.x_tile + a];
          const double off = std::hypot(to.re[lane] - x[a].re[lane], to.im[lane] - x[a].im[lane]);
          worst = std::isnan(off) ? std::numeric_limits<double>::infinity() : std::fmax(worst, off);
        }
      EXPECT_LE(worst, 2e-6 * most) << name << "symbol" << symbol << "tile" << tile;
    }
}

GPU_TEST(CudaPrecode, IsWhatTheCpuDoes) {
  unsigned seed = 0;
  for (const Case& of : kCases)
    for (const Kind kind : kKinds) {
      const std::string name = std::to_string(of.antennas) + "x" + std::to_string(of.users) +
                               " kind " + std::to_string(static_cast<int>(kind)) + " ";
      const Operands in(of, kind, ++seed);
      const Traffic traffic(RunTable::Order::Sent, of.users, of.symbols, of.tiles, seed);
      const auto coded = random_bits(traffic.bytes + 1, seed);
      PrecodeTask task = task_of(place, of, in, traffic, coded);
      const std::size_t count = of.symbols * task.x_symbol;
      Tile guard;
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) simt::put(guard, lane, {77, 77});
      task.x = place.put(std::vector<Tile>(count, guard));
      place.run(task, kPrecode, precode);
      const auto x = place.get(task.x, count);
      for (std::size_t i = of.antennas; i < count; i += task.x_tile) EXPECT_EQ(x[i].re[3], 77);
      expect_near(of, in, task, modulated_on_cpu(traffic, coded), x, name);
    }
}

// In two parts of the band; the first symbol's from elsewhere.
GPU_TEST(CudaPrecode, GivesTheSameInPartsAndSendsAReference) {
  constexpr Case kWhole = {20, 11, 6, 7};
  constexpr std::uint32_t kLower = 3, kFirst = 2;
  for (const Kind kind : kKinds) {
    const Operands in(kWhole, kind, 5);
    const Traffic traffic(RunTable::Order::Sent, kWhole.users, kWhole.symbols, kWhole.tiles, 1);
    const auto coded = random_bits(traffic.bytes + 1, 3);
    std::vector<Tile> s = modulated_on_cpu(traffic, coded), reference;
    std::mt19937 random(9);
    for (std::uint32_t i = 0; i < kWhole.tiles * kWhole.users; ++i) {
      Tile tile;
      for (float& re : tile.re) re = static_cast<float>(random() % 64) / 64;
      for (float& im : tile.im) im = static_cast<float>(random() % 64) / 64;
      reference.push_back(tile);
    }
    std::copy(reference.begin(), reference.end(),
              s.begin() + std::ptrdiff_t{kFirst * kWhole.tiles * kWhole.users});
    PrecodeTask task = task_of(place, kWhole, in, traffic, coded);
    task.x = place.room<Tile>(kWhole.symbols * task.x_symbol);
    Tile* const x = task.x;
    const Tile* const on_device = place.put(reference);
    for (const std::uint32_t from : {0U, kFirst})
      for (const std::uint32_t first : {kLower, 0U}) {
        PrecodeTask part = task;
        part.symbols = from == 0 ? kFirst : kWhole.symbols - kFirst;
        part.first_tile = first;
        part.tiles = first == 0 ? kLower : kWhole.tiles - kLower;
        const auto on = [](auto* pointer, std::size_t by) {
          return pointer == nullptr ? nullptr : pointer + by;
        };
        part.w_tiles = on(task.w_tiles, first * task.w_tile);
        part.w_scalars = on(task.w_scalars, first * task.w_tile);
        part.half_w_scalars = on(task.half_w_scalars, first * task.w_tile);
        part.scale = on(task.scale, first * kWhole.users);
        part.runs.first += from * kWhole.users;
        part.reference = from == 0 ? nullptr : on_device + first * kWhole.users;
        part.x = x + from * task.x_symbol + first * task.x_tile;
        place.run(part, kPrecode, precode);
      }
    expect_near(kWhole, in, task, s, place.get(x, kWhole.symbols * task.x_symbol), "in parts ");
  }
}

TEST(CudaPrecode, FillsALargeGpuWhereTheFrameDoes) {
  for (const bool half : {false, true}) {
    const HalfComplex w{};
    const auto blocks = [&](std::uint32_t antennas, std::uint32_t users, std::uint32_t symbols) {
      PrecodeTask task{};
      task.shape = {antennas, users, antennas + 1};
      task.tiles = 75;
      task.symbols = symbols;
      task.half_w_scalars = half ? &w : nullptr;
      const simt::Launch launch = launch_of(task);
      return launch.x * launch.y * launch.z;
    };
    EXPECT_EQ(blocks(64, 16, 13), 300U);
    EXPECT_EQ(blocks(128, 32, 12), half ? 225U : 450U);
    EXPECT_EQ(blocks(128, 64, 10), half ? 225U : 450U);
    EXPECT_EQ(blocks(256, 128, 6), half ? 300U : 600U);
  }
}

}  // namespace
