// Combiners and precoders in 16-bit integers.
#include "phy/zeroforce/array.hpp"
#include "phy/zeroforce/zeroforce.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;
using namespace carillon::phy::testing;

// Each component is the nearest multiple of the scale, which is the norm of the lane's `terms`
// entries, `stride` apart, over 32700.
void check_lane(const Tile* w, const Int16Tile* integers, std::size_t stride, std::uint32_t terms,
                std::uint32_t lane, double scale) {
  double energy = 0;
  for (std::uint32_t n = 0; n < terms; ++n) energy += std::norm(get(w[n * stride], lane));
  const bool silent = energy == 0;
  EXPECT_TRUE(silent || std::abs(scale - std::sqrt(energy) / 32700) < 1e-6 * scale) << energy;
  for (std::uint32_t n = 0; n < terms; ++n) {
    const Int16Complex got = integers[n * stride].at[lane];
    const Value error = get(w[n * stride], lane) - scale * Value(got.re, got.im);
    EXPECT_LE(std::abs(error.real()), 0.501 * scale) << n << " lane " << lane;
    EXPECT_LE(std::abs(error.imag()), 0.501 * scale) << n << " lane " << lane;
    EXPECT_TRUE(!silent || (got.re == 0 && got.im == 0));
  }
}

constexpr ArrayShape kShape{9, 5, 11};

// Users and antennas far apart in level, and a user and an antenna without a channel.
Tiles uneven_block() {
  Tiles w = random_block(kShape, 6);
  const double levels[] = {1, 0, 1e-12, 3e14, 0.37};
  for (std::uint32_t k = 0; k < kShape.users; ++k)
    for (std::uint32_t a = 0; a < kShape.antennas; ++a) {
      Tile& tile = w[k * kShape.antenna_stride + a];
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
        put(tile, lane, a == 3 ? 0 : levels[k] * std::exp2(-2.0 * a - lane) * get(tile, lane));
    }
  return w;
}

TEST(Quantize, GivesEachUsersLaneTheScaleOfItsNorm) {
  const Tiles w = uneven_block();
  for (const Isa isa : test::tested_isas()) {
    AlignedArray<Int16Tile> integers(w.size());
    std::vector<float> scale(std::size_t{kShape.users} * kTileLanes);
    zeroforce_kernels(isa).quantize_rows(kShape, w.data(), integers.data(), scale.data());
    for (std::uint32_t k = 0; k < kShape.users; ++k)
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
        const std::size_t row = k * kShape.antenna_stride;
        check_lane(&w[row], &integers[row], 1, kShape.antennas, lane, scale[k * kTileLanes + lane]);
      }
    EXPECT_EQ(integers[kShape.antennas].at[0].re, 0) << "padding is left alone";
  }
}

TEST(Quantize, GivesEachAntennasLaneTheScaleOfItsNorm) {
  const Tiles w = uneven_block();
  for (const Isa isa : test::tested_isas()) {
    AlignedArray<Int16Tile> integers(w.size());
    std::vector<float> scale(std::size_t{kShape.antennas} * kTileLanes);
    zeroforce_kernels(isa).quantize_columns(kShape, w.data(), integers.data(), scale.data());
    for (std::uint32_t a = 0; a < kShape.antennas; ++a)
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
        check_lane(&w[a], &integers[a], kShape.antenna_stride, kShape.users, lane,
                   scale[a * kTileLanes + lane]);
    EXPECT_EQ(integers[kShape.antennas].at[0].re, 0) << "padding is left alone";
  }
}

TEST(Quantize, GroupsOfSixteenBecomeOneScalarPerTile) {
  for (const ArrayShape shape : {ArrayShape{5, 3, 6}, ArrayShape{43, 3, 48}}) {
    const std::size_t stride = block_of(shape) + 3;
    AlignedArray<Int16Tile> groups(block_of(shape));
    std::mt19937 generator(1);
    for (Int16Tile& tile : groups)
      for (Int16Complex& x : tile.at)
        x = {static_cast<std::int16_t>(generator()), static_cast<std::int16_t>(generator())};
    for (const Isa isa : test::tested_isas())
      for (const std::uint32_t tiles : {1U, 7U, 16U}) {
        std::vector<Int16Complex> w(stride * kTileLanes, Int16Complex{7, 7});
        zeroforce_kernels(isa).expand_int16(shape, tiles, groups.data(), w.data(), stride);
        for (std::uint32_t tile = 0; tile < kTileLanes; ++tile)
          for (std::uint32_t user = 0; user < shape.users; ++user)
            for (std::uint32_t a = 0; a < shape.antenna_stride; ++a) {
              const std::size_t at = user * shape.antenna_stride + a;
              const Int16Complex got = w[tile * stride + at], from = groups[at].at[tile];
              const bool moved = tile < tiles && a < shape.antennas;
              EXPECT_TRUE(got.re == (moved ? from.re : 7) && got.im == (moved ? from.im : 7))
                  << to_string(isa) << " tile " << tile << " antenna " << a;
            }
      }
  }
}

TEST(SpreadLanes, GivesEachTileItsGroupsNumbers) {
  constexpr std::uint32_t kRows = 3;
  std::vector<float> groups(kRows * kTileLanes);
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = static_cast<float>(i);
  for (const std::uint32_t lanes : {1U, kTileLanes})
    for (const std::uint32_t tiles : {1U, 7U, 16U}) {
      std::vector<float> spread(kTileLanes * kRows * lanes, kNan);
      spread_lanes(kRows, tiles, groups.data(), spread.data(), lanes);
      for (std::uint32_t i = 0; i < spread.size(); ++i) {
        const std::uint32_t tile = i / lanes / kRows, row = i / lanes % kRows;
        EXPECT_TRUE(tile < tiles ? spread[i] == groups[row * kTileLanes + tile]
                                 : std::isnan(spread[i]))
            << i;
      }
    }
}

}  // namespace
