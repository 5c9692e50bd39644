#include "phy/precode/precode.hpp"

#include "phy/groups.hpp"
#include "phy/zeroforce/array.hpp"
#include "phy/zeroforce/zeroforce.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;
using namespace carillon::phy::testing;

constexpr ArrayShape kShapes[] = {{1, 1, 1},    {5, 3, 7},      {8, 8, 9},      {18, 7, 19},
                                  {64, 16, 65}, {128, 32, 129}, {256, 128, 257}};

void check_lane(ArrayShape shape, const Matrix& w, const Tiles& s, const Tiles& x,
                std::uint32_t lane) {
  for (std::uint32_t a = 0; a < shape.antennas; ++a) {
    Value sum = 0;
    double magnitude = 0;
    for (std::uint32_t k = 0; k < shape.users; ++k) {
      const Value term = w(k, a) * get(s[k], lane);
      sum += term;
      magnitude += std::abs(term);
    }
    EXPECT_LE(std::abs(get(x[a], lane) - sum), 1e-6 * magnitude)
        << shape.antennas << "x" << shape.users << "antenna" << a << "lane" << lane;
  }
}

TEST(Precode, EachSubcarrierIsMultipliedByItsPrecoder) {
  for (const ArrayShape shape : kShapes) {
    const Tiles w = random_block(shape, 1), s = random_tiles(shape.users, 2);
    for (const Isa isa : test::tested_isas()) {
      Tiles x = filled(shape.antennas + 1, kNan);
      precode_kernels(isa).per_group(shape, {}, w.data(), s.data(), x.data());
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
        check_lane(shape, rows_of(shape, w.data(), lane), s, x, lane);
      EXPECT_TRUE(std::isnan(x[shape.antennas].re[0]));
    }
  }
}

TEST(Precode, ATileMayShareOnePrecoder) {
  for (const ArrayShape shape : kShapes) {
    const Tiles w = random_block(shape, 1), s = random_tiles(shape.users, 2);
    std::vector<Complex> scalars;
    for (const Tile& tile : w) scalars.push_back({tile.re[5], tile.im[5]});
    for (const Isa isa : test::tested_isas()) {
      Tiles x = filled(shape.antennas + 1, kNan);
      precode_kernels(isa).per_tile(shape, scalars.data(), s.data(), x.data());
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
        check_lane(shape, rows_of(shape, w.data(), 5), s, x, lane);
      EXPECT_TRUE(std::isnan(x[shape.antennas].re[0]));
    }
  }
}

TEST(Precode, UsersHearTheirOwnSymbolThroughTheTransposedChannel) {
  const ArrayShape shape{64, 16, 65};
  const Tiles csi = random_block(shape, 3), s = random_tiles(shape.users, 4);
  for (const Isa isa : test::tested_isas()) {
    Tiles w(block_of(shape)), x(shape.antennas);
    AlignedArray<float> post_noise(shape.users * kTileLanes);
    ZeroForceScratch scratch(shape.users);
    zeroforce_kernels(isa).combine(Detector::ZeroForcing, shape, 0, csi.data(), w.data(),
                                   post_noise.data(), scratch);
    precode_kernels(isa).per_group(shape, {}, w.data(), s.data(), x.data());
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
      for (std::uint32_t k = 0; k < shape.users; ++k) {
        Value heard = 0;
        for (std::uint32_t a = 0; a < shape.antennas; ++a)
          heard += get(csi[k * shape.antenna_stride + a], lane) * get(x[a], lane);
        EXPECT_LE(std::abs(heard - get(s[k], lane)), 1e-4) << to_string(isa);
      }
  }
}

TEST(Precode, GroupsAreAsIfEachSubcarrierHadItsOwn) {
  for (const ArrayShape shape : {ArrayShape{5, 3, 7}, ArrayShape{18, 9, 19}}) {
    const Tiles w = random_block(shape, 1), in = random_tiles(shape.users, 2);
    for (const Isa isa : test::tested_isas())
      for_groups([&](LaneGroups of) {
        Tiles groups(shape.antennas), each(shape.antennas);
        precode_kernels(isa).per_group(shape, of, w.data(), in.data(), groups.data());
        precode_kernels(isa).per_group(shape, {}, spread(of, w).data(), in.data(), each.data());
        expect_same(groups, each);
      });
  }
}

}  // namespace
