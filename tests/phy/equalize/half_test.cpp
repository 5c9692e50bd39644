// Equalization in half precision: exactly its definition where the machine multiplies so, and what
// that costs beside single precision, by the definition, on any machine.
#include "phy/half.hpp"
#include "phy/groups.hpp"

#include <cstdio>

#include "phy/equalize/equalize.hpp"
#include "phy/zeroforce/array.hpp"
#include "phy/zeroforce/zeroforce.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;
using namespace carillon::phy::testing;

constexpr ArrayShape kShapes[] = {{1, 1, 1},   {5, 3, 7},    {8, 8, 9},    {16, 7, 17},
                                  {33, 9, 34}, {63, 13, 64}, {64, 16, 65}, {130, 5, 131}};

using HalfTiles = AlignedArray<HalfTile>;

HalfTiles halves(const Tiles& tiles, float factor) {
  HalfTiles all(tiles.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
      all[i].at[lane] = {bits_of(tiles[i].re[lane] * factor), bits_of(tiles[i].im[lane] * factor)};
  return all;
}

struct HalfCombiner {
  HalfCombiner(ArrayShape shape, const Tiles& w) : tiles(block_of(shape)), scale(shape.users) {
    zeroforce_kernels().halve(shape, w.data(), tiles.data(), scale.data());
  }
  HalfTiles tiles;
  std::vector<float> scale;
};

double part(HalfComplex x, bool imaginary) { return from_half(imaginary ? x.im : x.re); }

// One component of Σ w·y of some antennas, the products with y's real and with its imaginary part
// summed in half precision each.
struct HalfSum {
  double straight = 0, turned = 0;

  void add(HalfComplex w, HalfComplex y, bool imaginary) {
    straight = to_half(straight + static_cast<long double>(part(w, imaginary)) * from_half(y.re));
    turned = to_half(turned + static_cast<long double>(part(w, !imaginary)) * from_half(y.im));
  }
  void join(const HalfSum& other) {
    straight = to_half(straight + other.straight);
    turned = to_half(turned + other.turned);
  }
  double value(bool imaginary) const {
    return to_half(imaginary ? straight + turned : straight - turned);
  }
};

// By definition: antennas with even and with odd numbers apart, joined after 32, then in single
// precision.
template <typename W>
float product(ArrayShape shape, W&& w, const HalfTiles& y, std::uint32_t lane, bool imaginary) {
  float sum = 0;
  for (std::uint32_t first = 0; first < shape.antennas; first += 32) {
    HalfSum parts[2];
    for (std::uint32_t a = first; a < std::min(first + 32, shape.antennas); ++a)
      parts[a % 2].add(w(a), y[a].at[lane], imaginary);
    parts[0].join(parts[1]);
    sum += static_cast<float>(parts[0].value(imaginary));
  }
  return sum;
}

// The same of the rounded operands in double precision, and the sum of magnitudes.
template <typename W>
Value exact_product(ArrayShape shape, W&& w, const HalfTiles& y, std::uint32_t lane,
                    double& magnitude) {
  Value sum = 0;
  magnitude = 0;
  for (std::uint32_t a = 0; a < shape.antennas; ++a) {
    const HalfComplex left = w(a), right = y[a].at[lane];
    const Value term = Value(from_half(left.re), from_half(left.im)) *
                       Value(from_half(right.re), from_half(right.im));
    sum += term;
    magnitude += std::abs(term);
  }
  return sum;
}

template <typename W>
void check_lane(Isa isa, ArrayShape shape, W&& w, const HalfTiles& y, float scale, const Tile& s,
                std::uint32_t lane) {
  if (isa >= Isa::Avx512Fp16) {
    EXPECT_EQ(s.re[lane], scale * product(shape, w, y, lane, false)) << shape.antennas;
    EXPECT_EQ(s.im[lane], scale * product(shape, w, y, lane, true)) << shape.antennas;
    return;
  }
  double magnitude = 0;
  const Value sum = exact_product(shape, w, y, lane, magnitude);
  EXPECT_LE(std::abs(get(s, lane) - static_cast<double>(scale) * sum), 1e-6 * scale * magnitude)
      << shape.antennas << "x" << shape.users << "lane" << lane;
}

TEST(EqualizeHalf, EachSubcarrierIsMultipliedByItsCombiner) {
  for (const ArrayShape shape : kShapes) {
    const HalfCombiner w(shape, random_block(shape, 1));
    const HalfTiles y = halves(random_tiles(shape.antennas, 2), kHalfScale);
    for (const Isa isa : test::tested_isas()) {
      Tiles s = filled(shape.users + 1, kNan);
      equalize_kernels(isa).per_group_half(shape, {}, w.tiles.data(), w.scale.data(), y.data(),
                                           s.data());
      for (std::uint32_t k = 0; k < shape.users; ++k)
        for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
          check_lane(
              isa, shape,
              [&](std::uint32_t a) { return w.tiles[k * shape.antenna_stride + a].at[lane]; }, y,
              w.scale[k], s[k], lane);
      EXPECT_TRUE(std::isnan(s[shape.users].re[0]));
    }
  }
}

TEST(EqualizeHalf, GroupsAreAsIfEachSubcarrierHadItsOwn) {
  for (const ArrayShape shape : {ArrayShape{5, 3, 7}, ArrayShape{18, 9, 19}}) {
    const HalfCombiner w(shape, random_block(shape, 1));
    const HalfTiles y = halves(random_tiles(shape.antennas, 2), kHalfScale);
    for (const Isa isa : test::tested_isas())
      for_groups([&](LaneGroups of) {
        Tiles groups(shape.users), each(shape.users);
        equalize_kernels(isa).per_group_half(shape, of, w.tiles.data(), w.scale.data(), y.data(),
                                             groups.data());
        equalize_kernels(isa).per_group_half(shape, {}, spread(of, w.tiles).data(), w.scale.data(),
                                             y.data(), each.data());
        expect_same(groups, each);
      });
  }
}

TEST(EqualizeHalf, ATileMayShareOneCombiner) {
  for (const ArrayShape shape : kShapes) {
    std::vector<Complex> scalars;
    for (const Tile& tile : random_block(shape, 1)) scalars.push_back({tile.re[5], tile.im[5]});
    std::vector<HalfComplex> w(scalars.size());
    std::vector<float> scale(shape.users);
    zeroforce_kernels().halve_scalar(shape, scalars.data(), w.data(), scale.data());
    const HalfTiles y = halves(random_tiles(shape.antennas, 2), kHalfScale);
    for (const Isa isa : test::tested_isas()) {
      Tiles s = filled(shape.users + 1, kNan);
      equalize_kernels(isa).per_tile_half(shape, w.data(), scale.data(), y.data(), s.data());
      for (std::uint32_t k = 0; k < shape.users; ++k)
        for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
          check_lane(
              isa, shape, [&](std::uint32_t a) { return w[k * shape.antenna_stride + a]; }, y,
              scale[k], s[k], lane);
      EXPECT_TRUE(std::isnan(s[shape.users].re[0]));
    }
  }
}

TEST(EqualizeHalf, SaturatedSamplesDoNotOverflow) {
  const ArrayShape shape{64, 4, 65};
  // All of a 4096-point symbol's energy in one subcarrier, in phase at all antennas.
  Tiles w(block_of(shape)), y(shape.antennas);
  for (Tile& tile : w)
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) put(tile, lane, {1.9999, -1.9999});
  for (Tile& tile : y)
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) put(tile, lane, {64, 64});
  const HalfCombiner half(shape, w);
  const HalfTiles received = halves(y, kHalfScale);
  for (const Isa isa : test::tested_isas()) {
    Tiles s(shape.users);
    equalize_kernels(isa).per_group_half(shape, {}, half.tiles.data(), half.scale.data(),
                                         received.data(), s.data());
    const double sum = 64 * 1.9999 * 128;
    for (const Tile& tile : s) {
      EXPECT_NEAR(tile.re[3], sum, 2e-3 * sum) << to_string(isa);
      EXPECT_NEAR(tile.im[3], 0, 2e-3 * sum) << to_string(isa);
    }
  }
}

// ---- the price

constexpr std::uint32_t kSubcarriers = kTileLanes;

// Independent Rayleigh fading, amplitudes as given, received at about -26 dB of full scale.
struct Air {
  Air(ArrayShape shape, const std::vector<double>& power_db, std::uint32_t points_per_axis)
      : shape(shape), csi(random_block(shape, 3)), y(shape.antennas), sent(shape.users) {
    for (std::uint32_t k = 0; k < shape.users; ++k)
      for (std::uint32_t a = 0; a < shape.antennas; ++a)
        for (std::uint32_t n = 0; n < kSubcarriers; ++n) {
          Tile& tile = csi[k * shape.antenna_stride + a];
          put(tile, n, get(tile, n) * 0.05 * std::pow(10, power_db[k] / 20));
        }
    std::mt19937 generator(4);
    const double power = 2.0 * (points_per_axis * points_per_axis - 1) / 3;
    const auto coordinate = [&] {
      return (2.0 * static_cast<double>(generator() % points_per_axis) + 1 - points_per_axis) /
             std::sqrt(power);
    };
    for (Tile& tile : sent)
      for (std::uint32_t n = 0; n < kSubcarriers; ++n) put(tile, n, {coordinate(), coordinate()});
    for (std::uint32_t a = 0; a < shape.antennas; ++a)
      for (std::uint32_t n = 0; n < kSubcarriers; ++n) {
        Value sum = 0;
        for (std::uint32_t k = 0; k < shape.users; ++k)
          sum += get(csi[k * shape.antenna_stride + a], n) * get(sent[k], n);
        put(y[a], n, sum);
      }
  }

  ArrayShape shape;
  Tiles csi, y, sent;
};

double decibels(double ratio) { return 10 * std::log10(ratio); }

struct Error {  // of the worst user; exact: sums of half precision's products
  double single_db, half_db, exact_db, int16_db;
};

// Without noise, a user's symbols differ from what it sent by rounding only.
Error worst_error(const Air& air) {
  const ArrayShape shape = air.shape;
  Tiles w(block_of(shape)), s(shape.users);
  AlignedArray<float> post_noise(std::size_t{shape.users} * kTileLanes);
  ZeroForceScratch scratch(shape.users);
  zeroforce_kernels().combine(Detector::ZeroForcing, shape, 0, air.csi.data(), w.data(),
                              post_noise.data(), scratch);
  equalize_kernels().per_group(shape, {}, w.data(), air.y.data(), s.data());
  const HalfCombiner half(shape, w);
  const HalfTiles y = halves(air.y, kHalfScale);
  AlignedArray<Int16Tile> integers(w.size());
  std::vector<float> scale(post_noise.size());
  Tiles in_integers(shape.users);
  zeroforce_kernels().quantize_rows(shape, w.data(), integers.data(), scale.data());
  equalize_kernels().per_group_int16(shape, {}, integers.data(), scale.data(), air.y.data(),
                                     in_integers.data());
  double worst_single = 0, worst_half = 0, worst_exact = 0, worst_int16 = 0;
  for (std::uint32_t k = 0; k < shape.users; ++k) {
    double single_error = 0, half_error = 0, exact_error = 0, int16_error = 0;
    for (std::uint32_t n = 0; n < kSubcarriers; ++n) {
      const auto row = [&](std::uint32_t a) {
        return half.tiles[k * shape.antenna_stride + a].at[n];
      };
      const Value got(half.scale[k] * product(shape, row, y, n, false),
                      half.scale[k] * product(shape, row, y, n, true));
      half_error += std::norm(got - get(air.sent[k], n));
      single_error += std::norm(get(s[k], n) - get(air.sent[k], n));
      int16_error += std::norm(get(in_integers[k], n) - get(air.sent[k], n));
      double magnitude = 0;
      const Value exact = exact_product(shape, row, y, n, magnitude);
      exact_error += std::norm(static_cast<double>(half.scale[k]) * exact - get(air.sent[k], n));
    }
    worst_half = std::max(worst_half, half_error / kSubcarriers);
    worst_single = std::max(worst_single, single_error / kSubcarriers);
    worst_exact = std::max(worst_exact, exact_error / kSubcarriers);
    worst_int16 = std::max(worst_int16, int16_error / kSubcarriers);
  }
  return {decibels(worst_single), decibels(worst_half), decibels(worst_exact),
          decibels(worst_int16)};
}

// What error at this level adds to noise at that level.
double cost_db(double error_db, double noise_db) {
  return decibels(1 + std::pow(10, (error_db - noise_db) / 10));
}

// About what 38.214's highest rates of QPSK … 256QAM need for a block error rate of 1 %.
constexpr struct {
  const char* name;
  Modulation modulation;
  std::uint32_t points_per_axis;
  double snr_db;
} kModulations[] = {{"QPSK", Modulation::Qpsk, 2, 5},
                    {"16QAM", Modulation::Qam16, 4, 12},
                    {"64QAM", Modulation::Qam64, 8, 20},
                    {"256QAM", Modulation::Qam256, 16, 28.5}};

std::vector<double> near_far(std::uint32_t users) {
  std::vector<double> power_db(users, 0);
  std::fill(power_db.begin() + users / 2, power_db.end(), -30);
  return power_db;
}

TEST(EqualizeHalf, SufficesTheLessTheMoreUsersThereAreForTheAntennas) {
  EXPECT_TRUE(suffices(Rounding::HalfSums, 64, 16, Modulation::Qam64));
  EXPECT_TRUE(suffices(Rounding::HalfSums, 128, 32, Modulation::Qam64));
  EXPECT_FALSE(suffices(Rounding::HalfSums, 256, 128, Modulation::Qam64));
  EXPECT_TRUE(suffices(Rounding::HalfSums, 256, 128, Modulation::Qam16));
  EXPECT_FALSE(suffices(Rounding::HalfSums, 64, 16, Modulation::Qam256));
  EXPECT_FALSE(suffices(Rounding::HalfSums, 8, 8, Modulation::Qpsk));
  EXPECT_TRUE(suffices(Rounding::Half, 256, 128, Modulation::Qam64));
  EXPECT_TRUE(suffices(Rounding::Half, 64, 16, Modulation::Qam256));
  EXPECT_FALSE(suffices(Rounding::Half, 64, 48, Modulation::Qam64));
  EXPECT_TRUE(suffices(Rounding::Int16, 128, 32, Modulation::Qam256));
  EXPECT_FALSE(suffices(Rounding::Int16, 256, 128, Modulation::Qam256));
  EXPECT_TRUE(suffices(Rounding::Int16, 256, 128, Modulation::Qam64));
  EXPECT_FALSE(suffices(Rounding::Int16, 8, 8, Modulation::Qpsk));
}

TEST(EqualizeHalf, CostsLessThanATenthOfADecibelWhereItSuffices) {
  constexpr ArrayShape shapes[] = {{8, 2, 9},      {64, 4, 65},  {16, 8, 17},  {64, 16, 65},
                                   {128, 32, 129}, {20, 16, 21}, {64, 60, 65}, {256, 128, 257}};
  for (const ArrayShape shape : shapes)
    for (const bool far : {false, true})
      for (const auto& m : kModulations) {
        if (!far && shape.antennas > 64) continue;  // like smaller ones, in much longer time
        const auto power_db = far ? near_far(shape.users) : std::vector<double>(shape.users, 0);
        const Error error = worst_error(Air(shape, power_db, m.points_per_axis));
        const double cost = cost_db(error.half_db, -m.snr_db);
        std::printf(
            "%ux%u%s, %s: error %.1f dB in single precision, %.1f dB in half: %.3f dB; "
            "%.1f dB with exact sums; %.1f dB in 16-bit integers: %.3f dB\n",
            shape.antennas, shape.users, far ? ", half of the users 30 dB below" : "", m.name,
            error.single_db, error.half_db, cost, error.exact_db, error.int16_db,
            cost_db(error.int16_db, -m.snr_db));
        const auto expect_cheap = [&](Rounding rounding, double error_db) {
          if (suffices(rounding, shape.antennas, shape.users, m.modulation)) {
            EXPECT_LT(cost_db(error_db, -m.snr_db), 0.1)
                << shape.antennas << "x" << shape.users << m.name << static_cast<int>(rounding);
          }
        };
        expect_cheap(Rounding::HalfSums, error.half_db);
        expect_cheap(Rounding::Half, error.exact_db);
        expect_cheap(Rounding::Int16, error.int16_db);
      }
}

}  // namespace
