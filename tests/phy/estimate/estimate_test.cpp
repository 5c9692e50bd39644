// The reference below is the definition in double precision: interpolate, hold, average.
#include "phy/estimate/estimate.hpp"

#include <algorithm>
#include <complex>
#include <random>
#include <stdexcept>
#include <vector>

#include "base/aligned.hpp"
#include "phy/estimate/held.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;
using Value = std::complex<double>;

constexpr std::uint32_t kSubcarriers[] = {1, 5, 16, 31, 48, 113, 624, 1193, 1200};

std::vector<Value> random_row(std::uint32_t subcarriers) {
  std::mt19937 random(subcarriers);
  std::normal_distribution<float> normal;
  std::vector<Value> row(subcarriers);
  for (Value& value : row) value = {normal(random), normal(random)};
  return row;
}

// A pilot row as receive_pilot() leaves it, other users' values on the other subcarriers included.
AlignedArray<Tile> tiles_of(const std::vector<Value>& row) {
  AlignedArray<Tile> tiles(tiles_for(static_cast<std::uint32_t>(row.size())));
  for (std::size_t k = 0; k < row.size(); ++k) {
    tiles[k / 16].re[k % 16] = static_cast<float>(row[k].real());
    tiles[k / 16].im[k % 16] = static_cast<float>(row[k].imag());
  }
  return tiles;
}

std::vector<Value> reference(const std::vector<Value>& row, std::uint32_t comb,
                             std::uint32_t offset, std::uint32_t group) {
  const auto size = static_cast<std::uint32_t>(row.size());
  std::vector<Value> channel(size), means;
  for (std::uint32_t k = 0; k < size; ++k) {
    std::uint32_t left = offset;
    while (left + comb <= k) left += comb;
    const double share = static_cast<double>(k - left) / comb;
    if (k < offset)
      channel[k] = row[offset];
    else if (left + comb >= size)
      channel[k] = row[left];
    else
      channel[k] = (1 - share) * row[left] + share * row[left + comb];
  }
  for (std::uint32_t first = 0; first < size; first += group) {
    const std::uint32_t end = std::min(first + group, size);
    Value sum = 0;
    for (std::uint32_t k = first; k < end; ++k) sum += channel[k];
    means.push_back(sum / static_cast<double>(end - first));
  }
  return means;
}

double worst_error(const EstimateKernels& kernels, const std::vector<Value>& row,
                   std::uint32_t comb, std::uint32_t offset, std::uint32_t group) {
  constexpr std::size_t kStride = 3;
  const auto subcarriers = static_cast<std::uint32_t>(row.size());
  const EstimatePlan plan(subcarriers, comb, offset, group);
  const std::uint32_t count = csi_tiles(subcarriers, group);
  AlignedArray<Tile> csi(count * kStride);
  for (Tile& tile : csi)
    for (std::uint32_t i = 0; i < kTileLanes; ++i) tile.re[i] = tile.im[i] = 77;
  kernels.estimate(plan, tiles_of(row).data(), csi.data(), kStride);

  std::vector<Value> expected = reference(row, comb, offset, group);
  expected.resize(count * kTileLanes);  // tail lanes are zero
  double worst = 0;
  for (std::uint32_t n = 0; n < expected.size(); ++n) {
    const Tile& tile = csi[n / 16 * kStride];
    worst = std::max(worst, std::abs(Value(tile.re[n % 16], tile.im[n % 16]) - expected[n]));
  }
  for (std::size_t t = 0; t < csi.size(); ++t)
    EXPECT_TRUE(t % kStride == 0 || (csi[t].re[0] == 77 && csi[t].im[15] == 77))
        << "tile " << t << " is not ours";
  return worst;
}

TEST(Estimate, EqualsTheDefinitionForAllCombsOffsetsAndGroups) {
  for (const Isa isa : test::tested_isas())
    for (const std::uint32_t subcarriers : kSubcarriers) {
      const std::vector<Value> row = random_row(subcarriers);
      for (std::uint32_t comb = 1; comb <= 16; ++comb)
        for (std::uint32_t offset = 0; offset < std::min(comb, subcarriers); ++offset)
          for (std::uint32_t group = 1; group <= 16; ++group) {
            if (subcarriers > 200 && (comb + offset + group) % 5 != 0) continue;
            EXPECT_LE(worst_error(estimate_kernels(isa), row, comb, offset, group), 1e-6)
                << to_string(isa) << " S " << subcarriers << " comb " << comb << " offset "
                << offset << " group " << group;
          }
    }
}

// User u's at u·kUserStride; whatever else lies there stays as it is.
TEST(Estimate, AllUsersOfASymbolEqualTheDefinition) {
  constexpr std::size_t kStride = 70, kUserStride = 4;
  for (const Isa isa : test::tested_isas())
    for (const std::uint32_t subcarriers : kSubcarriers)
      for (std::uint32_t comb = 1; comb <= std::min(16U, subcarriers); ++comb)
        for (const std::uint32_t group : {1U, 2U, 7U, 12U, 16U})
          for (const std::uint32_t users : {1U, comb / 2 + 1, comb}) {
            const std::vector<Value> row = random_row(subcarriers);
            const CombPlan plan(subcarriers, comb, group);
            ASSERT_EQ(plan.comb(), comb);
            const std::uint32_t count = csi_tiles(subcarriers, group);
            AlignedArray<Tile> csi(count * kStride);
            for (Tile& tile : csi)
              for (std::uint32_t i = 0; i < kTileLanes; ++i) tile.re[i] = tile.im[i] = 77;
            estimate_kernels(isa).estimate_all(plan, tiles_of(row).data(), users, csi.data(),
                                               kUserStride, kStride);
            double worst = 0;
            for (std::uint32_t u = 0; u < users; ++u) {
              std::vector<Value> expected = reference(row, comb, u, group);
              expected.resize(count * kTileLanes);
              for (std::uint32_t n = 0; n < expected.size(); ++n) {
                Tile& tile = csi[n / 16 * kStride + u * kUserStride];
                worst = std::max(worst,
                                 std::abs(Value(tile.re[n % 16], tile.im[n % 16]) - expected[n]));
                tile.re[n % 16] = tile.im[n % 16] = 77;
              }
            }
            EXPECT_LE(worst, 1e-6) << to_string(isa) << " S " << subcarriers << " comb " << comb
                                   << " group " << group << " users " << users;
            for (const Tile& tile : csi) ASSERT_TRUE(tile.re[0] == 77 && tile.im[15] == 77);
          }
}

TEST(Estimate, IsExactForAChannelLinearInFrequency) {
  std::vector<Value> row(1193);
  for (std::size_t k = 0; k < row.size(); ++k)
    row[k] = {0.5 + 0.001 * static_cast<double>(k), 1 - 0.002 * static_cast<double>(k)};
  constexpr std::uint32_t kStart = 16, kEnd = 1168;  // clear of the held edges
  for (const Isa isa : test::tested_isas())
    for (std::uint32_t comb = 1; comb <= 16; ++comb) {
      const EstimatePlan plan(1193, comb, comb - 1, 1);
      AlignedArray<Tile> csi(plan.tiles());
      estimate_kernels(isa).estimate(plan, tiles_of(row).data(), csi.data(), 1);
      for (std::uint32_t k = kStart; k < kEnd; ++k) {
        EXPECT_NEAR(csi[k / 16].re[k % 16], row[k].real(), 1e-6) << "comb " << comb << " k " << k;
        EXPECT_NEAR(csi[k / 16].im[k % 16], row[k].imag(), 1e-6) << "comb " << comb << " k " << k;
      }
    }
}

TEST(Estimate, HoldsTheEdges) {
  const std::vector<Value> row = random_row(100);
  for (const Isa isa : test::tested_isas()) {
    const EstimatePlan plan(100, 16, 9, 1);  // pilots at 9, 25, …, 89
    AlignedArray<Tile> csi(plan.tiles());
    const AlignedArray<Tile> tiles = tiles_of(row);
    estimate_kernels(isa).estimate(plan, tiles.data(), csi.data(), 1);
    for (std::uint32_t k = 0; k <= 9; ++k) EXPECT_EQ(csi[0].re[k], tiles[0].re[9]);
    for (std::uint32_t k = 89; k < 100; ++k) EXPECT_EQ(csi[k / 16].im[k % 16], tiles[5].im[9]);
  }
}

// Independent noise of unit variance at the pilots: its gain is the sum of squares of the response
// to each.
TEST(Estimate, KnowsHowMuchNoiseItLeaves) {
  for (const std::uint32_t comb : {1U, 3U, 16U})
    for (const std::uint32_t group : {1U, 5U, 16U}) {
      const std::uint32_t offset = comb / 2, subcarriers = 113;
      double sum = 0;
      for (std::uint32_t pilot = offset; pilot < subcarriers; pilot += comb) {
        std::vector<Value> row(subcarriers);
        row[pilot] = 1;
        for (const Value& value : reference(row, comb, offset, group)) sum += std::norm(value);
      }
      const double groups = (subcarriers + group - 1) / group;
      const EstimatePlan plan(subcarriers, comb, offset, group);
      EXPECT_NEAR(static_cast<double>(plan.noise_gain()), sum / groups, 1e-5);
    }
}

// The definition of GroupDeviation.
struct Deviation {
  double power = 0, squares = 0;
  std::vector<Value> along = std::vector<Value>(16);
};

Deviation deviation(const std::vector<Value>& row, std::uint32_t comb, std::uint32_t offset,
                    std::uint32_t group) {
  const std::vector<Value> channel = reference(row, comb, offset, 1),
                           means = reference(row, comb, offset, group);
  Deviation sum;
  for (std::uint32_t k = 0; k < channel.size(); ++k) {
    const Value mean = means[k / group], off = channel[k] - mean;
    sum.power += std::norm(mean);
    sum.squares += std::norm(off);
    sum.along[k % group] += off * std::conj(mean);
  }
  return sum;
}

void expect_same(const GroupDeviation& measured, const Deviation& expected, double within) {
  EXPECT_NEAR(static_cast<double>(measured.power), expected.power, within);
  EXPECT_NEAR(static_cast<double>(measured.squares), expected.squares, within);
  for (std::uint32_t i = 0; i < 16; ++i)
    EXPECT_LE(std::abs(Value(measured.along_re[i], measured.along_im[i]) - expected.along[i]),
              within);
}

TEST(Estimate, DeviationWithinGroupsEqualsTheDefinition) {
  constexpr std::size_t kStride = 3;
  for (const Isa isa : test::tested_isas())
    for (const std::uint32_t subcarriers : {5U, 31U, 113U, 624U})
      for (const std::uint32_t comb : {1U, 3U, 16U})
        for (std::uint32_t group = 1; group <= 16; ++group) {
          const std::uint32_t offset = std::min(comb / 2, subcarriers - 1);
          const std::vector<Value> row = random_row(subcarriers);
          const EstimatePlan plan(subcarriers, comb, offset, group);
          AlignedArray<Tile> csi(csi_tiles(subcarriers, group) * kStride);
          const AlignedArray<Tile> tiles = tiles_of(row);
          const EstimateKernels& kernels = estimate_kernels(isa);
          kernels.estimate(plan, tiles.data(), csi.data(), kStride);
          expect_same(kernels.deviation(plan, tiles.data(), csi.data(), kStride),
                      deviation(row, comb, offset, group), 1e-5 * subcarriers);
        }
}

TEST(Estimate, KnowsWhatDeviationNoiseMakes) {
  for (const std::uint32_t comb : {1U, 3U, 16U})
    for (const std::uint32_t group : {1U, 5U, 16U}) {
      const std::uint32_t offset = comb / 2, subcarriers = 113;
      Deviation sum;
      for (std::uint32_t pilot = offset; pilot < subcarriers; pilot += comb) {
        std::vector<Value> row(subcarriers);
        row[pilot] = 1;
        const Deviation one = deviation(row, comb, offset, group);
        sum.power += one.power;
        sum.squares += one.squares;
        for (std::uint32_t i = 0; i < 16; ++i) sum.along[i] += one.along[i];
      }
      expect_same(EstimatePlan(subcarriers, comb, offset, group).deviation_plan().per_noise, sum,
                  1e-3);
    }
}

// The definition of what change() sums.
struct Changes {
  double power = 0, squares[2] = {};  // bends, steps
  Value along[2] = {};
};

Changes changes(const std::vector<Value>& row, std::uint32_t comb, std::uint32_t offset) {
  Changes sum;
  for (std::uint32_t k = offset + comb; k + comb < row.size(); k += comb) {
    const Value x[2] = {row[k] - (row[k - comb] + row[k + comb]) / 2.0, row[k + comb] - row[k]};
    sum.power += std::norm(row[k]);
    for (int i = 0; i < 2; ++i) {
      sum.squares[i] += std::norm(x[i]);
      sum.along[i] += x[i] * std::conj(row[k]);
    }
  }
  return sum;
}

void expect_same(const GroupDeviation& measured, const Changes& expected, double within) {
  EXPECT_NEAR(static_cast<double>(measured.pilot_power), expected.power, within);
  const PilotChange* const found[] = {&measured.bend, &measured.step};
  for (int i = 0; i < 2; ++i) {
    EXPECT_NEAR(static_cast<double>(found[i]->squares), expected.squares[i], within);
    EXPECT_LE(std::abs(Value(found[i]->along[0], found[i]->along[1]) - expected.along[i]), within);
  }
}

TEST(Estimate, ChangeFromPilotToPilotEqualsTheDefinition) {
  for (const Isa isa : test::tested_isas())
    for (const std::uint32_t subcarriers : {5U, 31U, 113U, 624U, 1193U})
      for (std::uint32_t comb = 2; comb <= 16; ++comb)
        for (std::uint32_t offset = 0; offset < std::min(comb, subcarriers); ++offset) {
          const std::vector<Value> row = random_row(subcarriers);
          const EstimatePlan plan(subcarriers, comb, offset, 1);
          SCOPED_TRACE(::testing::Message() << to_string(isa) << " S " << subcarriers << " comb "
                                            << comb << " offset " << offset);
          expect_same(estimate_kernels(isa).change(plan, tiles_of(row).data()),
                      changes(row, comb, offset), 1e-5 * subcarriers);
        }
}

TEST(Estimate, KnowsWhatChangeNoiseMakes) {
  for (const std::uint32_t comb : {2U, 3U, 16U}) {
    const std::uint32_t offset = comb / 2, subcarriers = 113;
    Changes sum;
    for (std::uint32_t pilot = offset; pilot < subcarriers; pilot += comb) {
      std::vector<Value> row(subcarriers);
      row[pilot] = 1;
      const Changes one = changes(row, comb, offset);
      sum.power += one.power;
      for (int i = 0; i < 2; ++i) {
        sum.squares[i] += one.squares[i];
        sum.along[i] += one.along[i];
      }
    }
    expect_same(EstimatePlan(subcarriers, comb, offset, 1).deviation_plan().per_noise, sum, 1e-3);
  }
}

// Of a channel with the same bend everywhere, of which each subcarrier's error is known.
TEST(Estimate, KnowsByBendsWhatInterpolationLeaves) {
  const std::uint32_t subcarriers = 600;
  for (const Isa isa : test::tested_isas())
    for (const std::uint32_t comb : {2U, 3U, 8U, 16U}) {
      std::vector<Value> row(subcarriers);
      for (std::uint32_t k = 0; k < subcarriers; ++k) row[k] = 1e-5 * k * k;
      const EstimatePlan plan(subcarriers, comb, 0, 1);
      const AlignedArray<Tile> tiles = tiles_of(row);
      const GroupDeviation sum = estimate_kernels(isa).change(plan, tiles.data());
      const std::vector<Value> straight = reference(row, comb, 0, 1);
      double left = 0;
      for (std::uint32_t k = 0; k < (plan.pilots() - 1) * comb; ++k)
        left += std::norm(row[k] - straight[k]);
      const double bend = static_cast<double>(sum.bend.squares) / (plan.pilots() - 2);
      EXPECT_NEAR(static_cast<double>(plan.deviation_plan().between) * bend, left / subcarriers,
                  0.01 * left / subcarriers)
          << to_string(isa) << " comb " << comb;
    }
}

TEST(Estimate, HeldSharesAreSquaredDistances) {
  for (const std::uint32_t group : {1U, 3U, 16U})
    for (const std::uint32_t comb : {2U, 7U, 16U}) {
      const HeldBand band{113, comb, group};
      for (std::uint32_t user = 0; user < 2 * comb; ++user)
        for (std::uint32_t lane = 0; lane * group < 113; ++lane) {
          double sum = 0;
          std::uint32_t count = 0;
          for (std::uint32_t k = lane * group; k < std::min(113U, (lane + 1) * group); ++k) {
            std::uint32_t nearest = user % comb, last = nearest;
            while (last + comb < 113) last += comb;
            nearest = k < nearest ? nearest : std::min(k, last);
            const double away = static_cast<double>(std::max(k, nearest) - std::min(k, nearest));
            sum += away * away / comb / comb;
            ++count;
          }
          EXPECT_NEAR(static_cast<double>(band.share(lane, user)), sum / count, 1e-6);
          EXPECT_TRUE(sum == 0 || !band.inside(lane, 1));
        }
      EXPECT_TRUE(band.inside(60 / group, 1));
    }
}

TEST(Estimate, RefusesWhatItCannotSeparate) {
  EXPECT_THROW(EstimatePlan(0, 1, 0, 1), std::invalid_argument);
  EXPECT_THROW(EstimatePlan(100, 0, 0, 1), std::invalid_argument);
  EXPECT_THROW(EstimatePlan(100, 17, 0, 1), std::invalid_argument);
  EXPECT_THROW(EstimatePlan(100, 4, 4, 1), std::invalid_argument);
  EXPECT_THROW(EstimatePlan(5, 8, 5, 1), std::invalid_argument);
  EXPECT_THROW(EstimatePlan(100, 4, 0, 0), std::invalid_argument);
  EXPECT_THROW(EstimatePlan(100, 4, 0, 17), std::invalid_argument);
}

}  // namespace
