// Symbols that lack antennas, against the CPU's combiner of the others.
#include <cmath>
#include <string>
#include <vector>

#include "phy/equalize/cuda.hpp"
#include "phy/equalize/cuda.inl"
#include "phy/equalize/cuda_leave_out.inl"
#include "phy/equalize/equalize.hpp"
#include "phy/zeroforce/array.hpp"
#include "support/place.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;
using namespace carillon::phy::cuda;
using namespace carillon::phy::testing;
using test::Place;

constexpr float kNoise = 0.02F;
constexpr std::uint32_t kTiles = 3;

using Antennas = std::vector<std::uint32_t>;

bool has(const Antennas& antennas, std::uint32_t antenna) {
  return std::ranges::find(antennas, antenna) != antennas.end();
}

struct Case {
  Detector detector;
  std::uint32_t group;
  bool half;
  ArrayShape shape;
  std::vector<Antennas> missing;  ///< [symbol]
  Antennas unused = {};           ///< antennas that combiners do without
  float residual = 0;             ///< so many times the user's number, from one on

  std::string name() const {
    return std::to_string(shape.antennas) + "x" + std::to_string(shape.users) + " group " +
           std::to_string(group) + (half ? " half" : "") + " detector " +
           std::to_string(static_cast<int>(detector));
  }
};

std::vector<Tile> copy_of(const Tiles& from) { return {from.begin(), from.end()}; }

// A case's operands, and what the CPU makes of them.
struct Operands {
  explicit Operands(const Case& of)
      : of(of),
        block(block_of(of.shape)),
        csi(random_block({of.shape.antennas, of.shape.users * csi_tiles(), of.shape.antenna_stride},
                         1)),
        y(random_tiles(of.missing.size() * kTiles * of.shape.antennas, 2)) {
    for (std::size_t i = 0; i < y.size(); ++i) {  // as receive() leaves it
      const auto antenna = static_cast<std::uint32_t>(i % of.shape.antennas);
      if (has(of.missing[i / (kTiles * of.shape.antennas)], antenna)) y[i] = {};
    }
    for (std::uint32_t tile = 0; tile < kTiles; ++tile) {
      const Tiles w = combiner(tile, {}, &noise);
      for (std::uint32_t i = 0; i < of.shape.users * kTileLanes; ++i)
        noise[noise.size() - 1 - i] += residual_of(of.shape.users - 1 - i / kTileLanes);
      for (const Tile& each : w) tiles.push_back(each);
      for (const Tile& each : w) scalars.push_back(simt::get(each, 0));
    }
    const auto& kernels = zeroforce_kernels();
    half_tiles.resize(tiles.size());
    half_scalars.resize(tiles.size());
    scale.resize(kTiles * of.shape.users);
    for (std::uint32_t t = 0; t < kTiles; ++t)
      if (of.group == 16)
        kernels.halve_scalar(of.shape, &scalars[t * block], &half_scalars[t * block], row(t));
      else
        kernels.halve(of.shape, &tiles[t * block], &half_tiles[t * block], row(t));
    for (const Tile& tile : y) {
      HalfTile& rounded = half_y.emplace_back();
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
        simt::put(rounded, lane, kHalfScale * simt::get(tile, lane));
    }
  }

  float residual_of(std::uint32_t user) const { return of.residual * static_cast<float>(user + 1); }
  float* row(std::uint32_t tile) { return &scale[tile * of.shape.users]; }
  std::uint32_t csi_tiles() const { return (kTiles + of.group - 1) / of.group; }

  /// Of all antennas but some. `post_noise` grows by [user][16].
  Tiles combiner(std::uint32_t tile, const Antennas& without,
                 std::vector<float>* post_noise) const {
    Tiles h(block), w(block);
    for (std::uint32_t k = 0; k < of.shape.users; ++k)
      for (std::uint32_t a = 0; a < of.shape.antennas; ++a)
        for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
          const std::uint32_t group = (tile * kTileLanes + lane) / of.group;
          const std::size_t at = k * of.shape.antenna_stride + a;
          if (!has(without, a) && !has(of.unused, a))
            put(h[at], lane, get(csi[group / kTileLanes * block + at], group % kTileLanes));
        }
    ZeroForceScratch scratch(of.shape.users);
    std::vector<float> after(of.shape.users * kTileLanes);
    zeroforce_kernels().combine(of.detector, of.shape, kNoise, h.data(), w.data(), after.data(),
                                scratch);
    post_noise->insert(post_noise->end(), after.begin(), after.end());
    return w;
  }

  /// What the combiner of the others yields, [user].
  Tiles expected(std::uint32_t symbol, std::uint32_t tile, std::vector<float>* post_noise) const {
    const Tiles w = combiner(tile, of.missing[symbol], post_noise);
    Tiles s(of.shape.users);
    const Tile* const received = &y[(symbol * kTiles + tile) * of.shape.antennas];
    equalize_kernels().per_group(of.shape, {}, w.data(), received, s.data());
    return s;
  }

  const Case& of;
  std::size_t block;
  Tiles csi, y;
  std::vector<Tile> tiles;
  std::vector<Complex> scalars;
  std::vector<HalfTile> half_tiles, half_y;
  std::vector<HalfComplex> half_scalars;
  std::vector<float> scale, noise;
};

LeaveOutTask task_of(Place& place, const Case& of, const Operands& in) {
  const auto symbols = static_cast<std::uint32_t>(of.missing.size());
  LeaveOutTask task{};
  EqualizeTask& equalize = task.of;
  equalize.shape = of.shape;
  equalize.tiles = kTiles;
  equalize.symbols = symbols;
  equalize.w_tile = in.block;
  if (of.half) {
    if (of.group == 16) equalize.half_w_scalars = place.put(in.half_scalars);
    if (of.group != 16) equalize.half_w_tiles = place.put(in.half_tiles);
    equalize.scale = place.put(in.scale);
    equalize.half_y = task.half_y = place.put(in.half_y);
  } else {
    if (of.group == 16) equalize.w_scalars = place.put(in.scalars);
    if (of.group != 16) equalize.w_tiles = place.put(in.tiles);
    equalize.y = task.y = place.put(copy_of(in.y));
  }
  equalize.y_tile = of.shape.antennas;
  equalize.y_symbol = kTiles * equalize.y_tile;
  equalize.noise = place.put(in.noise);
  equalize.altered = {
      place.room<std::uint8_t>(symbols),
      place.room<Alteration>(std::size_t{symbols} * kTiles * of.shape.users * kTileLanes)};
  equalize.equalized_tile = of.shape.users;
  equalize.equalized_symbol = kTiles * of.shape.users;
  equalize.equalized = place.room<Tile>(symbols * equalize.equalized_symbol);
  task.detector = of.detector;
  task.group = of.group;
  task.csi = place.put(copy_of(in.csi));
  task.csi_tile = in.block;
  task.csi_user = of.shape.antenna_stride;
  std::vector<std::uint8_t> missing, takes_part;
  for (const Antennas& each : of.missing)
    for (std::uint32_t a = 0; a < of.shape.antennas; ++a) missing.push_back(has(each, a) ? 1 : 0);
  for (std::uint32_t a = 0; a < of.shape.antennas; ++a)
    takes_part.push_back(has(of.unused, a) ? 0 : 1);
  task.missing = place.put(missing);
  task.takes_part = place.put(takes_part);
  task.mean_noise = place.put(std::vector<float>{kNoise});
  std::vector<float> residual;
  for (std::uint32_t k = 0; k < of.shape.users; ++k) residual.push_back(in.residual_of(k));
  if (of.residual > 0) task.residual = place.put(residual);
  return task;
}

struct Found {
  std::vector<Tile> s;
  std::vector<std::uint8_t> symbols;
  std::vector<Alteration> lanes;
};

// Twice: what is in the places of missing samples then makes no difference.
Found found(Place& place, const Case& of, const Operands& in) {
  const LeaveOutTask task = task_of(place, of, in);
  const EqualizeTask& equalizing = task.of;
  for (int times = 0; times < 2; ++times)
    place.run(
        task, [](auto& cta, const LeaveOutTask& each) { leave_out_block(cta, each); }, leave_out);
  place.run(
      equalizing, [](auto& cta, const EqualizeTask& each) { equalize_block(cta, each); }, equalize);
  const std::size_t rows = equalizing.symbols * equalizing.equalized_symbol;
  return {place.get(equalizing.equalized, rows),
          place.get(equalizing.altered.symbols, equalizing.symbols),
          place.get(equalizing.altered.lanes, rows * kTileLanes)};
}

// In binary16 combiners and samples err more, the more so the less is left to tell users apart.
void check(Place& place, const Case& of) {
  const Operands in(of);
  const Found found = ::found(place, of, in);
  const double tolerance = of.half ? 0.05 : 1e-3;
  for (std::uint32_t symbol = 0; symbol < of.missing.size(); ++symbol) {
    const bool altered = std::ranges::any_of(of.missing[symbol],
                                             [&](std::uint32_t a) { return !has(of.unused, a); });
    EXPECT_EQ(found.symbols[symbol] != 0, altered) << of.name();
    for (std::uint32_t tile = 0; tile < kTiles; ++tile) {
      std::vector<float> post_noise;
      const Tiles expected = in.expected(symbol, tile, &post_noise);
      for (std::uint32_t k = 0; k < of.shape.users; ++k)
        for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
          const std::size_t row = (symbol * kTiles + tile) * of.shape.users + k;
          const float noise = post_noise[k * kTileLanes + lane];
          EXPECT_LE(std::abs(get(found.s[row], lane) - get(expected[k], lane)),
                    tolerance * std::sqrt(noise / kNoise))
              << of.name() << " symbol " << symbol << " user " << k;
          if (!altered) continue;
          const float all = noise + in.residual_of(k);
          EXPECT_LE(std::abs(found.lanes[row * kTileLanes + lane].noise / all - 1), tolerance)
              << of.name() << " symbol " << symbol << " user " << k;
        }
    }
  }
}

GPU_TEST(CudaLeaveOut, YieldsWhatTheOtherAntennasCombinerDoes) {
  for (const auto detector : {Detector::ZeroForcing, Detector::Mmse})
    for (const std::uint32_t group : {1U, 4U, 16U})
      for (const bool half : {false, true}) {
        check(place, {detector, group, half, {4, 2, 5}, {{}, {1}, {3, 0}}});
        check(place, {detector, group, half, {8, 1, 9}, {{0, 1, 2, 3, 4, 5, 6}, {7}}});
      }
  check(place, {Detector::Mmse, 16, true, {64, 16, 65}, {{3, 63, 17, 20, 0}, {}, {}, {}, {5}}});
  check(place, {Detector::ZeroForcing, 1, false, {70, 33, 71}, {{69, 1}}});
}

// What sharing a combiner leaves of a user's own symbol is no antenna's.
GPU_TEST(CudaLeaveOut, ResidualsStayAsTheyAre) {
  for (const auto detector : {Detector::ZeroForcing, Detector::Mmse})
    for (const bool half : {false, true})
      check(place, {detector, 16, half, {8, 3, 9}, {{1}, {3, 0}}, {}, 0.5F});
  check(place, {Detector::Conjugate, 16, false, {8, 1, 9}, {{2}, {6, 0, 1}}, {}, 0.5F});
}

GPU_TEST(CudaLeaveOut, AsManyAsThereIsRoomFor) {
  Antennas most;
  for (std::uint32_t a = 0; a < kMostLeftOut; ++a) most.push_back(2 * a + 1);
  check(place, {Detector::ZeroForcing, 16, false, {40, 3, 41}, {most}});
}

GPU_TEST(CudaLeaveOut, KeepsAMatchedFiltersGain) {
  for (const bool half : {false, true})
    check(place, {Detector::Conjugate, 16, half, {8, 1, 9}, {{2}, {}, {6, 0, 1}}});
}

GPU_TEST(CudaLeaveOut, AntennasThatCombinersDoWithoutAreNotMissed) {
  check(place, {Detector::ZeroForcing, 1, false, {8, 4, 9}, {{5}, {5, 0}}, {5, 6}});
}

GPU_TEST(CudaLeaveOut, NothingIsKnownWhereTooManyAreMissing) {
  Antennas many;
  for (std::uint32_t a = 0; a <= kMostLeftOut; ++a) many.push_back(a);
  const Case cases[] = {{Detector::Mmse, 16, true, {4, 3, 5}, {{1, 2}, {}}},
                        {Detector::Conjugate, 1, false, {40, 3, 41}, {many, {}}}};
  for (const Case& of : cases) {
    const Operands in(of);
    const Found found = ::found(place, of, in);
    EXPECT_EQ(found.symbols, (std::vector<std::uint8_t>{1, 0}));
    for (std::uint32_t row = 0; row < kTiles * of.shape.users; ++row)
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
        EXPECT_EQ(get(found.s[row], lane), Value(0));
        EXPECT_EQ(found.lanes[row * kTileLanes + lane].noise, kPostNoiseCeiling);
        EXPECT_NE(get(found.s[kTiles * of.shape.users + row], lane), Value(0));
      }
  }
}

}  // namespace
