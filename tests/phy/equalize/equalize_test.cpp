#include "phy/equalize/equalize.hpp"

#include "phy/groups.hpp"
#include "phy/zeroforce/array.hpp"
#include "phy/zeroforce/zeroforce.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;
using namespace carillon::phy::testing;

constexpr ArrayShape kShapes[] = {{1, 1, 1},    {5, 3, 7},      {8, 8, 9},      {16, 7, 17},
                                  {64, 16, 65}, {128, 32, 129}, {256, 128, 257}};

// Every lane's sum in double precision, against the sum of magnitudes.
void check_lane(ArrayShape shape, const Matrix& w, const Tiles& y, const Tiles& s,
                std::uint32_t lane) {
  for (std::uint32_t k = 0; k < shape.users; ++k) {
    Value sum = 0;
    double magnitude = 0;
    for (std::uint32_t a = 0; a < shape.antennas; ++a) {
      const Value term = w(k, a) * get(y[a], lane);
      sum += term;
      magnitude += std::abs(term);
    }
    EXPECT_LE(std::abs(get(s[k], lane) - sum), 1e-6 * magnitude)
        << shape.antennas << "x" << shape.users << "user" << k << "lane" << lane;
  }
}

TEST(Equalize, EachSubcarrierIsMultipliedByItsCombiner) {
  for (const ArrayShape shape : kShapes) {
    const Tiles w = random_block(shape, 1), y = random_tiles(shape.antennas, 2);
    for (const Isa isa : test::tested_isas()) {
      Tiles s = filled(shape.users + 1, kNan);
      equalize_kernels(isa).per_group(shape, {}, w.data(), y.data(), s.data());
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
        check_lane(shape, rows_of(shape, w.data(), lane), y, s, lane);
      EXPECT_TRUE(std::isnan(s[shape.users].re[0]));
    }
  }
}

TEST(Equalize, ATileMayShareOneCombiner) {
  for (const ArrayShape shape : kShapes) {
    const Tiles w = random_block(shape, 1), y = random_tiles(shape.antennas, 2);
    std::vector<Complex> scalars;
    for (const Tile& tile : w) scalars.push_back({tile.re[5], tile.im[5]});
    for (const Isa isa : test::tested_isas()) {
      Tiles s = filled(shape.users + 1, kNan);
      equalize_kernels(isa).per_tile(shape, scalars.data(), y.data(), s.data());
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
        check_lane(shape, rows_of(shape, w.data(), 5), y, s, lane);
      EXPECT_TRUE(std::isnan(s[shape.users].re[0]));
    }
  }
}

TEST(Equalize, SymbolsAreTheReferenceVectors) {
  for (const Vectors& v : reference_vectors()) {
    const ArrayShape shape = shape_of(v);
    const Tiles csi = channel_tiles(v), y = received_tiles(v);
    for (const Isa isa : test::tested_isas())
      for (const bool mmse : {false, true}) {
        Tiles w(block_of(shape)), s(shape.users);
        AlignedArray<float> post_noise(shape.users * kTileLanes);
        ZeroForceScratch scratch(shape.users);
        zeroforce_kernels(isa).combine(mmse ? Detector::Mmse : Detector::ZeroForcing, shape,
                                       v.noise, csi.data(), w.data(), post_noise.data(), scratch);
        equalize_kernels(isa).per_group(shape, {}, w.data(), y.data(), s.data());
        const auto& expected = mmse ? v.mmse : v.zf;
        for (std::uint32_t n = 0; n < v.subcarriers; ++n)
          for (std::uint32_t k = 0; k < v.users; ++k) {
            const Value reference = expected[n * v.users + k];
            EXPECT_LE(std::abs(get(s[k], n) - reference), 1e-4 * (1 + std::abs(reference)))
                << to_string(isa) << v.antennas << (mmse ? "MMSE" : "ZF");
          }
      }
  }
}

TEST(Equalize, GroupsAreAsIfEachSubcarrierHadItsOwn) {
  for (const ArrayShape shape : {ArrayShape{5, 3, 7}, ArrayShape{18, 9, 19}}) {
    const Tiles w = random_block(shape, 1), in = random_tiles(shape.antennas, 2);
    for (const Isa isa : test::tested_isas())
      for_groups([&](LaneGroups of) {
        Tiles groups(shape.users), each(shape.users);
        equalize_kernels(isa).per_group(shape, of, w.data(), in.data(), groups.data());
        equalize_kernels(isa).per_group(shape, {}, spread(of, w).data(), in.data(), each.data());
        expect_same(groups, each);
      });
  }
}

}  // namespace
