#include "phy/zeroforce/zeroforce.hpp"

#include "phy/half.hpp"
#include "phy/zeroforce/array.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;
using namespace carillon::phy::testing;

constexpr ArrayShape kShapes[] = {{1, 1, 1},    {2, 1, 4},    {3, 2, 3},      {5, 3, 7},
                                  {7, 6, 9},    {8, 8, 9},    {16, 8, 17},    {33, 5, 33},
                                  {64, 16, 65}, {67, 17, 71}, {128, 32, 129}, {256, 128, 257}};

struct Combined {
  Tiles w;
  AlignedArray<float> post_noise;
  std::uint32_t flagged;

  double noise(std::uint32_t user, std::uint32_t lane) const {
    return post_noise[user * kTileLanes + lane];
  }
};

Combined combine(Isa isa, Detector detector, ArrayShape shape, float noise, const Tiles& csi) {
  Combined c{filled(block_of(shape), kNan), AlignedArray<float>(shape.users * kTileLanes), 0};
  ZeroForceScratch scratch(shape.users + 3);
  for (Tile& tile : scratch.matrix) tile = filled(1, kNan)[0];
  c.flagged = zeroforce_kernels(isa).combine(detector, shape, noise, csi.data(), c.w.data(),
                                             c.post_noise.data(), scratch);
  return c;
}

bool finite(ArrayShape shape, const Combined& c) {
  for (std::size_t i = 0; i < c.w.size(); ++i)
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
      if (i % shape.antenna_stride < shape.antennas &&
          !(std::isfinite(c.w[i].re[lane]) && std::isfinite(c.w[i].im[lane])))
        return false;
  for (const float variance : c.post_noise)
    if (!(variance >= kPostNoiseFloor && variance <= kPostNoiseCeiling)) return false;
  return true;
}

// The combiner by its formula; diag(WH) = 1. Users' own power counts 1 + loading times.
Matrix reference_combiner(Detector detector, double noise, const Matrix& h, double loading = 0) {
  const Matrix adjoint = conjugate_transpose(h);
  Matrix w = adjoint;
  if (detector != Detector::Conjugate) {
    Matrix gram = adjoint * h;
    for (std::size_t k = 0; k < gram.rows; ++k) {
      gram(k, k) *= 1 + loading;
      if (detector == Detector::Mmse) gram(k, k) += noise;
    }
    w = inverse(gram) * adjoint;
  }
  const Matrix gains = w * h;
  for (std::size_t k = 0; k < w.rows; ++k)
    for (std::size_t a = 0; a < w.columns; ++a) w(k, a) /= gains(k, k);
  return w;
}

// Noise and interference by their definition.
std::vector<double> reference_noise(const Matrix& w, const Matrix& h, double noise) {
  const Matrix yields = w * h;
  std::vector<double> variances(w.rows);
  for (std::size_t k = 0; k < w.rows; ++k) {
    for (std::size_t a = 0; a < w.columns; ++a) variances[k] += noise * std::norm(w(k, a));
    for (std::size_t j = 0; j < w.rows; ++j)
      if (j != k) variances[k] += std::norm(yields(k, j));
  }
  return variances;
}

void check_against_formula(Detector detector, float noise) {
  for (const ArrayShape shape : kShapes) {
    const Tiles csi = random_block(shape, shape.antennas);
    // A large array's reference takes a while; its lanes go through the same code.
    const std::uint32_t step = shape.users > 32 ? 11 : shape.users > 16 ? 5 : 1;
    for (std::uint32_t lane = 0; lane < kTileLanes; lane += step) {
      const Matrix h = transpose(rows_of(shape, csi.data(), lane));
      const Matrix gram = conjugate_transpose(h) * h;
      const Matrix expected = reference_combiner(detector, noise, h);
      // Rounding errors grow with the condition number of the Gram matrix, and with the inverse of
      // the gain that Mmse divides by.
      double magnified = 10;
      if (detector != Detector::Conjugate) magnified += norm(gram) * norm(inverse(gram));
      if (detector == Detector::Mmse)
        for (std::size_t k = 0; k < gram.rows; ++k)
          magnified = std::max(magnified, 3 * noise / gram(k, k).real());
      const double tolerance = 3e-7 * magnified;
      const std::vector<double> variances = reference_noise(expected, h, noise);
      for (const Isa isa : test::tested_isas()) {
        const Combined c = combine(isa, detector, shape, noise, csi);
        EXPECT_EQ(c.flagged, 0U) << shape.antennas << "x" << shape.users;
        const Matrix w = rows_of(shape, c.w.data(), lane);
        Matrix error = w;
        for (std::size_t i = 0; i < w.values.size(); ++i) error.values[i] -= expected.values[i];
        EXPECT_LE(norm(error) / norm(expected), tolerance)
            << to_string(isa) << shape.antennas << "x" << shape.users << "lane" << lane;
        for (std::uint32_t k = 0; k < shape.users; ++k)
          EXPECT_NEAR(c.noise(k, lane) / variances[k], 1, tolerance)
              << to_string(isa) << shape.antennas << "x" << shape.users << "user" << k;
      }
    }
  }
}

TEST(ZeroForce, ZeroForcingIsThePseudoInverse) {
  check_against_formula(Detector::ZeroForcing, 0.1F);
}
TEST(ZeroForce, MmseIsUnbiasedAndKnowsItsInterference) {
  check_against_formula(Detector::Mmse, 0.3F);
}
TEST(ZeroForce, MmseHoldsWhereNoiseIsFarAboveTheSignal) {
  check_against_formula(Detector::Mmse, 1e4F);
}
TEST(ZeroForce, ConjugateIsTheMatchedFilter) { check_against_formula(Detector::Conjugate, 0.2F); }

TEST(ZeroForce, TimesTheChannelItIsTheIdentity) {
  for (const ArrayShape shape : {ArrayShape{16, 8, 17}, ArrayShape{64, 16, 65}}) {
    const Tiles csi = random_block(shape, 5);
    for (const Isa isa : test::tested_isas()) {
      const Combined c = combine(isa, Detector::ZeroForcing, shape, 0, csi);
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
        Matrix yields =
            rows_of(shape, c.w.data(), lane) * transpose(rows_of(shape, csi.data(), lane));
        for (std::uint32_t k = 0; k < shape.users; ++k) yields(k, k) -= 1;
        EXPECT_LE(norm(yields), 1e-4) << to_string(isa);
      }
    }
  }
}

TEST(ZeroForce, NoiseAfterCombiningIsTheReferenceVectors) {
  const auto all = reference_vectors();
  EXPECT_EQ(all.size(), 8U);
  for (const Vectors& v : all)
    for (const Isa isa : test::tested_isas())
      for (const bool mmse : {false, true}) {
        const Combined c = combine(isa, mmse ? Detector::Mmse : Detector::ZeroForcing, shape_of(v),
                                   v.noise, channel_tiles(v));
        const auto& expected = mmse ? v.mmse_noise : v.zf_noise;
        for (std::uint32_t n = 0; n < v.subcarriers; ++n)
          for (std::uint32_t k = 0; k < v.users; ++k)
            EXPECT_NEAR(c.noise(k, n) / expected[n * v.users + k], 1, 2e-4)
                << v.antennas << to_string(isa) << (mmse ? "MMSE" : "ZF");
        // The lanes past the last subcarrier have no channel.
        EXPECT_EQ(c.flagged, kTileLanes - v.subcarriers);
      }
}

TEST(ZeroForce, WeakUsersAreSeparatedFromStrongOnes) {
  // 30 dB between neighbours, the strong ones first or last.
  const ArrayShape shape{64, 16, 65};
  for (const bool strong_first : {false, true}) {
    Tiles csi = random_block(shape, 11);
    for (std::uint32_t k = 0; k < shape.users; ++k)
      if ((k < 8) != strong_first)
        for (std::uint32_t a = 0; a < shape.antennas; ++a)
          for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
            Tile& tile = csi[k * shape.antenna_stride + a];
            put(tile, lane, get(tile, lane) * std::sqrt(1e-3));
          }
    for (const Isa isa : test::tested_isas()) {
      const Combined c = combine(isa, Detector::ZeroForcing, shape, 1e-6F, csi);
      EXPECT_EQ(c.flagged, 0U);
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
        Matrix yields =
            rows_of(shape, c.w.data(), lane) * transpose(rows_of(shape, csi.data(), lane));
        for (std::uint32_t k = 0; k < shape.users; ++k) yields(k, k) -= 1;
        EXPECT_LE(norm(yields), 2e-4) << to_string(isa);  // 256QAM needs 2e-2
      }
    }
  }
}

TEST(ZeroForce, PaddingIsLeftAlone) {
  const ArrayShape shape{5, 3, 8};
  const Tiles csi = random_block(shape, 1);
  for (const Isa isa : test::tested_isas())
    for (const Detector detector : {Detector::ZeroForcing, Detector::Mmse, Detector::Conjugate}) {
      const Combined c = combine(isa, detector, shape, 0.1F, csi);
      EXPECT_TRUE(finite(shape, c));
      for (std::uint32_t i = 0; i < block_of(shape); ++i)
        EXPECT_EQ(std::isnan(c.w[i].re[7]), i % shape.antenna_stride >= shape.antennas);
    }
}

// Channels of users that cannot be told apart, in every lane.
struct Inseparable {
  const char* name;
  ArrayShape shape;
  void (*spoil)(ArrayShape shape, Tiles& csi, std::uint32_t lane);
};

void copy_user(ArrayShape shape, Tiles& csi, std::uint32_t lane, std::uint32_t from,
               std::uint32_t to, double difference) {
  for (std::uint32_t a = 0; a < shape.antennas; ++a) {
    Tile& tile = csi[to * shape.antenna_stride + a];
    put(tile, lane, get(csi[from * shape.antenna_stride + a], lane) + difference * get(tile, lane));
  }
}

constexpr Inseparable kInseparable[] = {
    {"two users with the same channel",
     {16, 4, 17},
     [](ArrayShape shape, Tiles& csi, std::uint32_t lane) {
       copy_user(shape, csi, lane, 0, 2, 0);
     }},
    {"two users with nearly the same channel",
     {64, 16, 65},
     [](ArrayShape shape, Tiles& csi, std::uint32_t lane) {
       copy_user(shape, csi, lane, 3, 15, 1e-3);
     }},
    {"as many users as antennas, one of which is dead",
     {8, 8, 9},
     [](ArrayShape shape, Tiles& csi, std::uint32_t lane) {
       for (std::uint32_t k = 0; k < shape.users; ++k)
         put(csi[k * shape.antenna_stride + 5], lane, 0);
     }},
    {"all users at one place",
     {8, 5, 9},
     [](ArrayShape shape, Tiles& csi, std::uint32_t lane) {
       for (std::uint32_t k = 1; k < shape.users; ++k) copy_user(shape, csi, lane, 0, k, 0);
     }},
    // Each user is told apart from those before it, but the differences multiply up to 10^35: the
    // inverse would leave the range of a float.
    {"a chain of users, each close to the last",
     {64, 16, 65},
     [](ArrayShape shape, Tiles& csi, std::uint32_t lane) {
       for (std::uint32_t k = shape.users - 1; k > 0; --k)
         for (std::uint32_t a = 0; a < shape.antennas; ++a)
           put(csi[k * shape.antenna_stride + a], lane,
               {a == k - 1 ? 1.0
                : a == k   ? 0.006
                           : 0.0,
                0.0});
       for (std::uint32_t a = 0; a < shape.antennas; ++a) put(csi[a], lane, a == 0 ? 1.0 : 0.0);
     }}};

// Against the formula in double precision. What rounding adds to the Gram matrix counts as much as
// that much loading: some percent differ.
void expect_regularised(const Inseparable& c, Detector detector, float noise) {
  constexpr double kTolerance = 0.15;  // 0.6 dB
  constexpr std::uint32_t kStep = 5;   // between the lanes that are spoiled
  Tiles csi = random_block(c.shape, 2);
  for (std::uint32_t lane = 0; lane < kTileLanes; lane += kStep) c.spoil(c.shape, csi, lane);
  std::vector<Combined> combined;
  for (const Isa isa : test::tested_isas()) {
    combined.push_back(combine(isa, detector, c.shape, noise, csi));
    EXPECT_TRUE(finite(c.shape, combined.back())) << c.name;
    EXPECT_EQ(combined.back().flagged, 4U) << c.name;
  }
  for (std::uint32_t lane = 0; lane < kTileLanes; lane += kStep) {
    const Matrix h = transpose(rows_of(c.shape, csi.data(), lane));
    const Matrix expected = reference_combiner(detector, noise, h, kLoading);
    const std::vector<double> variances = reference_noise(expected, h, noise);
    for (const Combined& actual : combined) {
      Matrix error = rows_of(c.shape, actual.w.data(), lane);
      for (std::size_t i = 0; i < error.values.size(); ++i) error.values[i] -= expected.values[i];
      EXPECT_LE(norm(error) / norm(expected), kTolerance) << c.name;
      for (std::uint32_t k = 0; k < c.shape.users; ++k)
        EXPECT_NEAR(actual.noise(k, lane), variances[k], kTolerance * variances[k] + 1e-7)
            << c.name << ", user " << k;
    }
  }
}

TEST(ZeroForce, UsersThatCannotBeToldApartAreFlaggedAndRegularised) {
  for (const Inseparable& c : kInseparable)
    for (const Detector detector : {Detector::ZeroForcing, Detector::Mmse})
      for (const float noise : {0.0F, 1e-6F}) expect_regularised(c, detector, noise);
}

TEST(ZeroForce, TheOthersAreSeparatedFromUsersThatCannotBe) {
  const ArrayShape shape{16, 4, 17};
  Tiles csi = random_block(shape, 2);
  for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) copy_user(shape, csi, lane, 0, 2, 0);
  for (const Isa isa : test::tested_isas()) {
    const Combined c = combine(isa, Detector::ZeroForcing, shape, 1e-3F, csi);
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
      for (std::uint32_t k = 0; k < shape.users; ++k)
        if (k % 2 == 0)
          EXPECT_GE(c.noise(k, lane), 0.9);  // what is lost says so
        else
          EXPECT_LE(c.noise(k, lane), 1e-3);
  }
}

TEST(ZeroForce, OneLanesUsersDoNotChangeAnotherLanesCombiner) {
  const ArrayShape shape{64, 16, 65};
  const Tiles good = random_block(shape, 2);
  Tiles csi = random_block(shape, 2);
  copy_user(shape, csi, 3, 0, 2, 0);
  for (std::uint32_t a = 0; a < shape.antennas; ++a) put(csi[a], 4, 0);
  for (const Isa isa : test::tested_isas()) {
    const Combined expected = combine(isa, Detector::Mmse, shape, 1e-6F, good),
                   c = combine(isa, Detector::Mmse, shape, 1e-6F, csi);
    EXPECT_EQ(c.flagged, 2U);
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
      if (lane == 3 || lane == 4) continue;
      EXPECT_TRUE(rows_of(shape, c.w.data(), lane).values ==
                  rows_of(shape, expected.w.data(), lane).values);
      for (std::uint32_t k = 0; k < shape.users; ++k)
        EXPECT_EQ(c.noise(k, lane), expected.noise(k, lane));
    }
  }
}

// A combiner scales as its channel's inverse; users whose power no float holds are lost, and the
// others do not notice.
TEST(ZeroForce, HugeAndTinyChannelsAreCombinedOrLost) {
  const ArrayShape shape{16, 4, 17};
  const Tiles csi = random_block(shape, 7);
  for (const Isa isa : test::tested_isas())
    for (const Detector detector : {Detector::ZeroForcing, Detector::Mmse, Detector::Conjugate}) {
      const Combined plain = combine(isa, detector, shape, 0, csi);
      const auto scaled = [&](float by, std::uint32_t users) {
        Tiles tiles = random_block(shape, 7);
        for (std::uint32_t i = 0; i < users * shape.antenna_stride; ++i)
          for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
            put(tiles[i], lane, get(tiles[i], lane) * Value(by));
        return combine(isa, detector, shape, 0, tiles);
      };
      for (const float by : {0x1p40F, 0x1p-40F}) {
        const Combined c = scaled(by, shape.users);
        EXPECT_EQ(c.flagged, 0U);
        for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
          Matrix w = rows_of(shape, c.w.data(), lane);
          for (Value& v : w.values) v *= by;
          EXPECT_TRUE(w.values == rows_of(shape, plain.w.data(), lane).values) << by;
        }
      }
      for (const float by : {1e18F, 1e25F, 1e37F, 1e-17F, 1e-30F, 1e-44F}) {
        const Combined c = scaled(by, 1);
        EXPECT_TRUE(finite(shape, c)) << by;
        EXPECT_EQ(c.flagged, kTileLanes) << by;
        for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
          EXPECT_EQ(c.noise(0, lane), kPostNoiseCeiling);
          EXPECT_EQ(c.w[1].re[lane], 0.0F);
          EXPECT_LE(c.noise(1, lane), detector == Detector::Conjugate ? 1.0 : 1e-6) << by;
        }
      }
    }
}

TEST(ZeroForce, AUserWithoutChannelCarriesNoInformation) {
  const ArrayShape shape{16, 4, 17};
  Tiles csi = random_block(shape, 3);
  for (std::uint32_t a = 0; a < shape.antennas; ++a)
    csi[2 * shape.antenna_stride + a] = filled(1, 0)[0];
  for (const Isa isa : test::tested_isas())
    for (const float noise : {0.0F, 0.1F})
      for (const Detector detector : {Detector::ZeroForcing, Detector::Mmse, Detector::Conjugate}) {
        const Combined c = combine(isa, detector, shape, noise, csi);
        EXPECT_TRUE(finite(shape, c));
        EXPECT_EQ(c.flagged, kTileLanes);
        for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
          EXPECT_GE(c.noise(2, lane), 1e6);
          EXPECT_EQ(c.w[2 * shape.antenna_stride].re[lane], 0.0F);
          EXPECT_LE(c.noise(1, lane), 10.0);
        }
      }
}

TEST(ZeroForce, SilenceIsFinite) {
  const ArrayShape shape{8, 8, 9};
  const Tiles csi = filled(block_of(shape), 0);
  for (const Isa isa : test::tested_isas())
    for (const float noise : {0.0F, 1.0F})
      for (const Detector detector : {Detector::ZeroForcing, Detector::Mmse, Detector::Conjugate}) {
        const Combined c = combine(isa, detector, shape, noise, csi);
        EXPECT_TRUE(finite(shape, c));
        EXPECT_EQ(c.flagged, kTileLanes);
      }
}

TEST(ZeroForce, ADeadAntennaCostsNothingUntilTheArrayIsTooSmall) {
  for (const ArrayShape shape : {ArrayShape{16, 8, 17}, ArrayShape{8, 8, 9}}) {
    Tiles csi = random_block(shape, 4);
    for (std::uint32_t k = 0; k < shape.users; ++k)
      csi[k * shape.antenna_stride + 5] = filled(1, 0)[0];
    for (const Isa isa : test::tested_isas())
      for (const Detector detector : {Detector::ZeroForcing, Detector::Mmse}) {
        const bool enough = shape.antennas > shape.users;
        const Combined c = combine(isa, detector, shape, 0, csi);
        EXPECT_TRUE(finite(shape, c));
        EXPECT_EQ(c.flagged, enough ? 0U : kTileLanes);
        for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) EXPECT_EQ(c.w[5].re[lane], 0.0F);
      }
  }
}

TEST(ZeroForce, WithoutNoiseTheVarianceIsTheFloor) {
  const ArrayShape shape{16, 4, 17};
  const Tiles csi = random_block(shape, 6);
  for (const Isa isa : test::tested_isas())
    for (const Detector detector : {Detector::ZeroForcing, Detector::Mmse})
      for (const float variance : combine(isa, detector, shape, 0, csi).post_noise)
        EXPECT_EQ(variance, kPostNoiseFloor);
}

TEST(ZeroForce, SpreadGivesEverySubcarrierItsGroups) {
  constexpr std::uint32_t kRows = 3;
  std::vector<float> groups(kRows * kTileLanes);
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = static_cast<float>(i);
  for (const Isa isa : test::tested_isas())
    for (std::uint8_t group = 1; group < 16; ++group)
      for (std::uint8_t tile = 0; tile < group; ++tile) {
        std::vector<float> lanes(kRows * kTileLanes + 1, kNan);
        zeroforce_kernels(isa).spread_groups({group, tile}, kRows, groups.data(), lanes.data());
        for (std::uint32_t i = 0; i < kRows * kTileLanes; ++i)
          EXPECT_EQ(lanes[i], groups[i / 16 * 16 + (16U * tile + i % 16) / group])
              << to_string(isa) << " group " << +group << " tile " << +tile << " lane " << i % 16;
        EXPECT_TRUE(std::isnan(lanes.back()));
      }
}

TEST(ZeroForce, GroupsOfSixteenAreOneScalarPerTile) {
  for (const ArrayShape shape :
       {ArrayShape{5, 3, 6}, ArrayShape{16, 2, 17}, ArrayShape{43, 3, 48}}) {
    const std::size_t stride = block_of(shape) + 3;
    const Tiles groups = random_tiles(block_of(shape), 1);
    for (const Isa isa : test::tested_isas())
      for (const std::uint32_t tiles : {1U, 7U, 16U}) {
        std::vector<Complex> w(stride * kTileLanes, Complex{kNan, kNan});
        zeroforce_kernels(isa).expand_scalars(shape, tiles, groups.data(), w.data(), stride);
        for (std::uint32_t tile = 0; tile < kTileLanes; ++tile)
          for (std::uint32_t user = 0; user < shape.users; ++user) {
            const bool there = tile < tiles;
            for (std::uint32_t a = 0; a < shape.antenna_stride; ++a) {
              const std::size_t at = user * shape.antenna_stride + a;
              const Complex x = w[tile * stride + at];
              EXPECT_TRUE(there && a < shape.antennas
                              ? x.re == groups[at].re[tile] && x.im == groups[at].im[tile]
                              : std::isnan(x.re) && std::isnan(x.im))
                  << to_string(isa) << " tile " << tile << " antenna " << a;
            }
          }
      }
  }
}

// The only power of two that takes the row's largest component to ¼…½, and each number's nearest.
void check_halved_row(ArrayShape shape, std::uint32_t user, const Tiles& w, std::uint32_t lanes,
                      const HalfComplex* half, float scale) {
  const Tile* row = &w[std::size_t{user} * shape.antenna_stride];
  float largest = 0;
  for (std::uint32_t a = 0; a < shape.antennas; ++a)
    for (std::uint32_t lane = 0; lane < lanes; ++lane)
      largest = std::max({largest, std::abs(row[a].re[lane]), std::abs(row[a].im[lane])});
  const double factor = 1 / (static_cast<double>(scale) * kHalfScale);
  EXPECT_EQ(std::exp2(std::round(std::log2(factor))), factor);
  EXPECT_TRUE(largest == 0 || (largest * factor >= 0.25 && largest * factor < 0.5)) << largest;
  for (std::uint32_t a = 0; a < shape.antennas; ++a)
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
      const HalfComplex got = half[(std::size_t{user} * shape.antenna_stride + a) * lanes + lane];
      EXPECT_EQ(got.re, bits_of(row[a].re[lane] * factor)) << user << a << lane;
      EXPECT_EQ(got.im, bits_of(row[a].im[lane] * factor)) << user << a << lane;
    }
}

TEST(ZeroForce, HalvesRowsByPowersOfTwo) {
  const ArrayShape shape{9, 5, 11};
  Tiles w = random_block(shape, 6);
  const double levels[] = {1, 0, 1e-12, 3e14, 0.37};
  for (std::uint32_t k = 0; k < shape.users; ++k)
    for (std::uint32_t a = 0; a < shape.antennas; ++a) {
      Tile& tile = w[k * shape.antenna_stride + a];
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
        put(tile, lane, levels[k] * std::exp2(-2.0 * a) * get(tile, lane));
    }
  std::vector<Complex> scalars;
  for (const Tile& tile : w) scalars.push_back({tile.re[0], tile.im[0]});
  for (const Isa isa : test::tested_isas()) {
    AlignedArray<HalfTile> tiles(w.size());
    std::vector<HalfComplex> half(w.size());
    std::vector<float> scale(shape.users), scalar_scale(shape.users);
    zeroforce_kernels(isa).halve(shape, w.data(), tiles.data(), scale.data());
    zeroforce_kernels(isa).halve_scalar(shape, scalars.data(), half.data(), scalar_scale.data());
    for (std::uint32_t k = 0; k < shape.users; ++k) {
      check_halved_row(shape, k, w, kTileLanes, tiles[0].at, scale[k]);
      check_halved_row(shape, k, w, 1, half.data(), scalar_scale[k]);
    }
    EXPECT_EQ(tiles[shape.antennas].at[0].re, 0) << "padding is left alone";
    EXPECT_EQ(half[shape.antennas].re, 0) << "padding is left alone";
  }
}

TEST(ZeroForce, AntennaPowerCountsEachLanesSubcarriers) {
  const ArrayShape shape{5, 3, 6};
  const Tiles w = random_block(shape, 8);
  std::vector<Complex> scalars;
  for (const Tile& tile : w) scalars.push_back({tile.re[0], tile.im[0]});
  for (const Isa isa : test::tested_isas())
    for (std::uint32_t lanes = 1; lanes <= kTileLanes; ++lanes) {
      std::vector<float> power(5, 2.0F), scalar_power(5, 3.0F), times(kTileLanes);
      for (std::uint32_t lane = 0; lane < lanes; ++lane) times[lane] = static_cast<float>(lane % 3);
      zeroforce_kernels(isa).antenna_power(shape, w.data(), times.data(), power.data());
      zeroforce_kernels(isa).antenna_power_scalar(shape, scalars.data(), lanes,
                                                  scalar_power.data());
      for (std::uint32_t a = 0; a < shape.antennas; ++a) {
        double sum = 2, scalar_sum = 3;
        for (std::uint32_t user = 0; user < shape.users; ++user) {
          const Tile& tile = w[user * shape.antenna_stride + a];
          for (std::uint32_t lane = 0; lane < lanes; ++lane)
            sum += lane % 3 * std::norm(get(tile, lane));
          scalar_sum += lanes * std::norm(get(tile, 0));
        }
        EXPECT_NEAR(power[a] / sum, 1, 1e-6);
        EXPECT_NEAR(scalar_power[a] / scalar_sum, 1, 1e-6);
      }
    }
}

}  // namespace
