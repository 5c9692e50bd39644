// Equalization in 16-bit integers, against sums in double precision.
#include "phy/int16.hpp"
#include "phy/equalize/equalize.hpp"
#include "phy/zeroforce/array.hpp"
#include "phy/zeroforce/zeroforce.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;
using namespace carillon::phy::testing;

constexpr ArrayShape kShapes[] = {{1, 1, 1},      {5, 3, 7},      {8, 8, 9},    {16, 7, 17},
                                  {33, 9, 34},    {63, 13, 64},   {64, 16, 65}, {130, 5, 131},
                                  {128, 32, 129}, {256, 128, 257}};

Integers integers_of(Isa isa, ArrayShape shape, const Tiles& w) {
  return {zeroforce_kernels(isa).quantize_rows, shape, shape.users, w};
}

void check_lane(ArrayShape shape, const Matrix& w, const Tiles& y, const Tiles& s,
                std::uint32_t lane) {
  for (std::uint32_t k = 0; k < shape.users; ++k) {
    Int16Sum expected;
    for (std::uint32_t a = 0; a < shape.antennas; ++a) expected.add(w(k, a), get(y[a], lane));
    EXPECT_LE(std::abs(get(s[k], lane) - expected.sum), expected.bound())
        << shape.antennas << "x" << shape.users << " user " << k << " lane " << lane;
  }
}

// Each lane with its own combiner, and all with that of lane 5.
void check(ArrayShape shape, const Tiles& w, const Tiles& y) {
  for (const Isa isa : test::tested_isas()) {
    const Integers integers = integers_of(isa, shape, w);
    Tiles s = filled(shape.users + 1, kNan);
    equalize_kernels(isa).per_group_int16(shape, {}, integers.tiles.data(),
                                          integers.lane_scale.data(), y.data(), s.data());
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
      check_lane(shape, rows_of(shape, w.data(), lane), y, s, lane);
    EXPECT_TRUE(std::isnan(s[shape.users].re[0]));

    s = filled(shape.users + 1, kNan);
    equalize_kernels(isa).per_tile_int16(shape, integers.scalars.data(), integers.scale.data(),
                                         y.data(), s.data());
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
      check_lane(shape, rows_of(shape, w.data(), 5), y, s, lane);
    EXPECT_TRUE(std::isnan(s[shape.users].re[0]));
  }
}

TEST(EqualizeInt16, SumsAreAsNearAsTheRoundedFactors) {
  for (const ArrayShape shape : kShapes)
    check(shape, random_block(shape, 1), random_tiles(shape.antennas, 2));
}

TEST(EqualizeInt16, NeitherLevelsNorTheSpreadBetweenLanesMatter) {
  const ArrayShape shape{16, 8, 17};
  for (const double level : {1e-12, 3e-4, 2e8, 1e15}) {
    Tiles w = random_block(shape, 3), y = random_tiles(shape.antennas, 4);
    for (Tile& tile : w)
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
        put(tile, lane, get(tile, lane) / level * std::exp2(lane));
    for (Tile& tile : y)
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
        put(tile, lane, get(tile, lane) * level * std::exp2(-1.0 * lane));
    check(shape, w, y);
  }
}

TEST(EqualizeInt16, GroupsAreAsIfEachSubcarrierHadItsOwn) {
  for (const ArrayShape shape : {ArrayShape{5, 3, 7}, ArrayShape{18, 9, 19}})
    for (const Isa isa : test::tested_isas()) {
      const Integers of_groups = integers_of(isa, shape, random_block(shape, 1));
      const Tiles in = random_tiles(shape.antennas, 2);
      for_groups([&](LaneGroups of) {
        AlignedArray<float> scale(of_groups.lane_scale.size());
        std::copy(of_groups.lane_scale.begin(), of_groups.lane_scale.end(), scale.begin());
        Tiles groups(shape.users), each(shape.users);
        const auto& kernels = equalize_kernels(isa);
        kernels.per_group_int16(shape, of, of_groups.tiles.data(), scale.data(), in.data(),
                                groups.data());
        kernels.per_group_int16(shape, {}, spread(of, of_groups.tiles).data(),
                                spread(of, scale).data(), in.data(), each.data());
        expect_same(groups, each);
      });
    }
}

// The largest sums there can be: all antennas in phase, and all energy in few of them.
TEST(EqualizeInt16, NoSumOverflows) {
  for (const ArrayShape shape : {ArrayShape{256, 4, 257}, ArrayShape{64, 9, 65}, {3, 2, 4}})
    for (const std::uint32_t loud : {shape.antennas, 1U, 2U})
      for (const Value phase : {Value(1, 0), Value(0, -1), Value(-0.6, 0.8)}) {
        Tiles w(block_of(shape)), y(shape.antennas);
        for (std::uint32_t a = 0; a < loud; ++a)
          for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
            const Value turned = std::polar(1.0, 0.1 * a + lane);
            put(y[a], lane, 1e4 * phase * turned);
            for (std::uint32_t k = 0; k < shape.users; ++k)
              put(w[k * shape.antenna_stride + a], lane, std::conj(turned));
          }
        check(shape, w, y);
      }
}

TEST(EqualizeInt16, OfNothingComesNothing) {
  const ArrayShape shape{8, 3, 9};
  const Tiles zero(block_of(shape)), w = random_block(shape, 1),
                                     y = random_tiles(shape.antennas, 2);
  for (const Isa isa : test::tested_isas())
    for (const bool no_combiner : {false, true}) {
      const Integers integers = integers_of(isa, shape, no_combiner ? zero : w);
      Tiles s = filled(shape.users, kNan);
      equalize_kernels(isa).per_group_int16(shape, {}, integers.tiles.data(),
                                            integers.lane_scale.data(),
                                            no_combiner ? y.data() : zero.data(), s.data());
      for (const Tile& tile : s)
        for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
          EXPECT_EQ(get(tile, lane), Value(0)) << to_string(isa);
    }
}

}  // namespace
