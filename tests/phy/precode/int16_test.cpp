// Precoding in 16-bit integers, against sums in double precision.
#include <cstdio>
#include <utility>

#include "phy/equalize/equalize.hpp"
#include "phy/int16.hpp"
#include "phy/precode/precode.hpp"
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

Integers integers_of(Isa isa, ArrayShape shape, const Tiles& w) {
  return {zeroforce_kernels(isa).quantize_columns, shape, shape.antennas, w};
}

void check_lane(ArrayShape shape, const Matrix& w, const Tiles& s, const Tiles& x,
                std::uint32_t lane) {
  for (std::uint32_t a = 0; a < shape.antennas; ++a) {
    Int16Sum expected;
    for (std::uint32_t k = 0; k < shape.users; ++k) expected.add(w(k, a), get(s[k], lane));
    EXPECT_LE(std::abs(get(x[a], lane) - expected.sum), expected.bound())
        << shape.antennas << "x" << shape.users << " antenna " << a << " lane " << lane;
  }
}

// Each lane with its own precoder, and all with that of lane 5.
void check(ArrayShape shape, const Tiles& w, const Tiles& s) {
  for (const Isa isa : test::tested_isas()) {
    const Integers integers = integers_of(isa, shape, w);
    Tiles x = filled(shape.antennas + 1, kNan);
    precode_kernels(isa).per_group_int16(shape, {}, integers.tiles.data(),
                                         integers.lane_scale.data(), s.data(), x.data());
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
      check_lane(shape, rows_of(shape, w.data(), lane), s, x, lane);
    EXPECT_TRUE(std::isnan(x[shape.antennas].re[0]));

    x = filled(shape.antennas + 1, kNan);
    precode_kernels(isa).per_tile_int16(shape, integers.scalars.data(), integers.scale.data(),
                                        s.data(), x.data());
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
      check_lane(shape, rows_of(shape, w.data(), 5), s, x, lane);
    EXPECT_TRUE(std::isnan(x[shape.antennas].re[0]));
  }
}

TEST(PrecodeInt16, SumsAreAsNearAsTheRoundedFactors) {
  for (const ArrayShape shape : kShapes)
    check(shape, random_block(shape, 1), random_tiles(shape.users, 2));
}

TEST(PrecodeInt16, GroupsAreAsIfEachSubcarrierHadItsOwn) {
  for (const ArrayShape shape : {ArrayShape{5, 3, 7}, ArrayShape{18, 9, 19}})
    for (const Isa isa : test::tested_isas()) {
      const Integers of_groups = integers_of(isa, shape, random_block(shape, 1));
      const Tiles in = random_tiles(shape.users, 2);
      for_groups([&](LaneGroups of) {
        AlignedArray<float> scale(of_groups.lane_scale.size());
        std::copy(of_groups.lane_scale.begin(), of_groups.lane_scale.end(), scale.begin());
        Tiles groups(shape.antennas), each(shape.antennas);
        const auto& kernels = precode_kernels(isa);
        kernels.per_group_int16(shape, of, of_groups.tiles.data(), scale.data(), in.data(),
                                groups.data());
        kernels.per_group_int16(shape, {}, spread(of, of_groups.tiles).data(),
                                spread(of, scale).data(), in.data(), each.data());
        expect_same(groups, each);
      });
    }
}

// All users in phase at an antenna, and one that takes all power.
TEST(PrecodeInt16, NoSumOverflows) {
  const ArrayShape shape{130, 128, 131};
  for (const std::uint32_t loud : {shape.users, 1U}) {
    Tiles w(block_of(shape)), s(shape.users);
    for (std::uint32_t k = 0; k < loud; ++k)
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
        const Value turned = std::polar(1.0, 0.3 * k + lane);
        put(s[k], lane, turned);
        for (std::uint32_t a = 0; a < shape.antennas; ++a)
          put(w[k * shape.antenna_stride + a], lane, 1e3 * std::conj(turned));
      }
    check(shape, w, s);
  }
}

// Without noise, what a user hears differs from its symbol by rounding only.
double worst_error_db(ArrayShape shape, bool far) {
  Tiles csi = random_block(shape, 3);
  for (std::uint32_t k = shape.users / 2; far && k < shape.users; ++k)
    for (std::uint32_t a = 0; a < shape.antennas; ++a)
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
        Tile& tile = csi[k * shape.antenna_stride + a];
        put(tile, lane, get(tile, lane) * std::pow(10, -1.5));
      }
  Tiles w(block_of(shape)), x(shape.antennas);
  const Tiles s = random_tiles(shape.users, 4);
  AlignedArray<float> post_noise(std::size_t{shape.users} * kTileLanes);
  ZeroForceScratch scratch(shape.users);
  zeroforce_kernels().combine(Detector::ZeroForcing, shape, 0, csi.data(), w.data(),
                              post_noise.data(), scratch);
  const Integers integers = integers_of(active_isa(), shape, w);
  precode_kernels().per_group_int16(shape, {}, integers.tiles.data(), integers.lane_scale.data(),
                                    s.data(), x.data());
  double worst = 0;
  for (std::uint32_t k = 0; k < shape.users; ++k) {
    double error = 0, power = 0;
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
      Value heard = 0;
      for (std::uint32_t a = 0; a < shape.antennas; ++a)
        heard += get(csi[k * shape.antenna_stride + a], lane) * get(x[a], lane);
      error += std::norm(heard - get(s[k], lane));
      power += std::norm(get(s[k], lane));
    }
    worst = std::max(worst, error / power);
  }
  return 10 * std::log10(worst);
}

TEST(PrecodeInt16, CostsLessThanATenthOfADecibelWhereItSuffices) {
  constexpr ArrayShape shapes[] = {{16, 8, 17},    {20, 16, 21}, {64, 16, 65},
                                   {128, 32, 129}, {64, 60, 65}, {256, 128, 257}};
  const std::pair<Modulation, double> noise_db[] = {{Modulation::Qpsk, -5},
                                                    {Modulation::Qam16, -12},
                                                    {Modulation::Qam64, -20},
                                                    {Modulation::Qam256, -28.5}};
  for (const ArrayShape shape : shapes)
    for (const bool far : {false, true}) {
      const double error_db = worst_error_db(shape, far);
      std::printf("%ux%u%s: error %.1f dB\n", shape.antennas, shape.users,
                  far ? ", half of the users 30 dB below" : "", error_db);
      for (const auto& [modulation, noise] : noise_db)
        if (suffices(Rounding::Int16, shape.antennas, shape.users, modulation)) {
          EXPECT_LT(10 * std::log10(1 + std::pow(10, (error_db - noise) / 10)), 0.1)
              << shape.antennas << "x" << shape.users;
        }
    }
}

}  // namespace
