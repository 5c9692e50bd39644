// Combiners in 16-bit integers.
#include "phy/zeroforce/array.hpp"
#include "phy/zeroforce/zeroforce.hpp"
#include "support/test.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;
using namespace carillon::phy::testing;

// Each component's nearest multiple of the scale, which is the norm of the lane's row over 32700.
TEST(Quantize, GivesEachLaneOfARowTheScaleOfItsNorm) {
  const ArrayShape shape{9, 5, 11};
  Tiles w = random_block(shape, 6);
  const double levels[] = {1, 0, 1e-12, 3e14, 0.37};
  for (std::uint32_t k = 0; k < shape.users; ++k)
    for (std::uint32_t a = 0; a < shape.antennas; ++a) {
      Tile& tile = w[k * shape.antenna_stride + a];
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
        put(tile, lane, levels[k] * std::exp2(-2.0 * a - lane) * get(tile, lane));
    }
  for (const Isa isa : available_isas()) {
    AlignedArray<Int16Tile> integers(w.size());
    std::vector<float> scale(std::size_t{shape.users} * kTileLanes);
    zeroforce_kernels(isa).quantize(shape, w.data(), integers.data(), scale.data());
    for (std::uint32_t k = 0; k < shape.users; ++k)
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
        const std::size_t row = std::size_t{k} * shape.antenna_stride;
        const double unit = scale[k * kTileLanes + lane];
        double energy = 0;
        for (std::uint32_t a = 0; a < shape.antennas; ++a)
          energy += std::norm(get(w[row + a], lane));
        const bool silent = levels[k] == 0;
        EXPECT_TRUE(silent || std::abs(unit - std::sqrt(energy) / 32700) < 1e-6 * unit);
        for (std::uint32_t a = 0; a < shape.antennas; ++a) {
          const Int16Complex got = integers[row + a].at[lane];
          const Value error = get(w[row + a], lane) - unit * Value(got.re, got.im);
          EXPECT_LE(std::abs(error.real()), 0.501 * unit) << to_string(isa) << k << a << lane;
          EXPECT_LE(std::abs(error.imag()), 0.501 * unit) << to_string(isa) << k << a << lane;
          EXPECT_TRUE(!silent || (got.re == 0 && got.im == 0));
        }
      }
    EXPECT_EQ(integers[shape.antennas].at[0].re, 0) << "padding is left alone";
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
    std::vector<float> noise(shape.users * kTileLanes), group_scale(noise.size());
    for (std::size_t i = 0; i < noise.size(); ++i) {
      noise[i] = static_cast<float>(i);
      group_scale[i] = static_cast<float>(1000 + i);
    }
    for (const Isa isa : available_isas())
      for (const std::uint32_t tiles : {1U, 7U, 16U}) {
        std::vector<Int16Complex> w(stride * kTileLanes, Int16Complex{7, 7});
        std::vector<float> scale(shape.users * kTileLanes, kNan), post_noise(noise.size() * 16);
        zeroforce_kernels(isa).expand_int16(shape, tiles, groups.data(), group_scale.data(),
                                            w.data(), stride, scale.data(), noise.data(),
                                            post_noise.data());
        for (std::uint32_t tile = 0; tile < kTileLanes; ++tile)
          for (std::uint32_t user = 0; user < shape.users; ++user) {
            const bool there = tile < tiles;
            const std::size_t row = tile * shape.users + user;
            EXPECT_TRUE(there ? scale[row] == group_scale[user * kTileLanes + tile]
                              : std::isnan(scale[row]));
            EXPECT_EQ(post_noise[row * kTileLanes + 9],
                      there ? noise[user * kTileLanes + tile] : 0);
            for (std::uint32_t a = 0; a < shape.antenna_stride; ++a) {
              const std::size_t at = user * shape.antenna_stride + a;
              const Int16Complex got = w[tile * stride + at], from = groups[at].at[tile];
              const bool moved = there && a < shape.antennas;
              EXPECT_TRUE(got.re == (moved ? from.re : 7) && got.im == (moved ? from.im : 7))
                  << to_string(isa) << " tile " << tile << " antenna " << a;
            }
          }
      }
  }
}

}  // namespace
