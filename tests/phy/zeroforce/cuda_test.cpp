// The kernels against those of the CPU, which zeroforce_test.cpp holds against formulas in double
// precision, and, where users cannot be told apart, against these formulas.
#include "phy/zeroforce/cuda.hpp"

#include <numeric>
#include <set>

#include "phy/zeroforce/cuda_case.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;
using namespace carillon::phy::cuda;
using namespace carillon::phy::cuda::zeroforce;
using array::Matrix;
using array::Tiles;
using test::Place;

constexpr auto kSurvey = [](auto& cta, const SurveyTask& task) { survey_block(cta, task); };
constexpr auto kGram = [](auto& cta, const GramTask& task) { gram_block(cta, task); };
constexpr auto kFactor = [](auto& cta, const FactorTask& task) { factor_block(cta, task); };
constexpr auto kWeigh = [](auto& cta, const WeighTask& task) { weigh_block(cta, task); };
constexpr auto kExpand = [](auto& cta, const ExpandTask& task) { expand_block(cta, task); };

void combine_at(Place& place, const CombineTask& task) {
  place.run(SurveyTask{task}, kSurvey, survey);
  place.run(GramTask{task}, kGram, gram);
  place.run(FactorTask{task}, kFactor, factor);
  place.run(WeighTask{task}, kWeigh, weigh);
}

struct Combined {
  std::vector<Tile> w;
  std::vector<float> post_noise;  // [tile][user][16]
  std::vector<std::uint32_t> flags;
};

/// All of it, to one combiner per subcarrier.
Combined combined(Place& place, const CombineTask& task) {
  combine_at(place, task);
  ExpandTask expanded{};
  expanded.of = task;
  expanded.group = 1;
  expanded.subcarriers = (task.first_tile + task.tiles) * kTileLanes;
  const std::size_t numbers = std::size_t{task.users} * expanded.subcarriers;
  expanded.post_noise = place.room<float>(numbers);
  place.run(expanded, kExpand, expand);
  return {place.get(task.w, (task.first_tile + task.tiles) * task.tile_stride),
          place.get(expanded.post_noise, numbers), place.get(task.flags, expanded.subcarriers)};
}

Combined combined(Place& place, Detector detector, float noise, const Channels& c) {
  const std::uint32_t slices = slices_for(c.shape.antennas, c.shape.users, c.tiles);
  return combined(place, task_of(place, detector, noise, c, slices));
}

Combined of_cpu(Detector detector, float noise, const Channels& c) {
  Tiles w(c.csi.size());
  AlignedArray<float> post_noise(std::size_t{c.tiles} * c.shape.users * kTileLanes);
  ZeroForceScratch scratch(c.shape.users);
  Combined result;
  for (std::uint32_t t = 0; t < c.tiles; ++t)
    result.flags.push_back(zeroforce_kernels().combine(
        detector, c.shape, noise, c.at(t), w.data() + t * c.block(),
        post_noise.data() + std::size_t{t} * c.shape.users * kTileLanes, scratch));
  result.w = copy_of(w);
  result.post_noise = copy_of(post_noise);
  return result;
}

std::uint32_t flagged(const Combined& c, std::uint32_t tile) {
  std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < kTileLanes; ++i) sum += c.flags[tile * kTileLanes + i] & kFlagged;
  return sum;
}

double noise_of(const Combined& c, const Channels& of, std::uint32_t user, std::uint32_t lane) {
  return c.post_noise[(lane / kTileLanes * of.shape.users + user) * kTileLanes + lane % kTileLanes];
}

Matrix weights_of(const Combined& c, const Channels& of, std::uint32_t lane) {
  return array::rows_of(of.shape, &c.w[lane / kTileLanes * of.block()], lane % kTileLanes);
}

Matrix channel_of(const Channels& of, std::uint32_t lane) {
  return array::transpose(array::rows_of(of.shape, of.at(lane / kTileLanes), lane % kTileLanes));
}

double distance(const Matrix& a, const Matrix& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) sum += std::norm(a.values[i] - b.values[i]);
  return std::sqrt(sum);
}

bool finite(const Combined& c, const Channels& of) {
  for (std::size_t i = 0; i < c.w.size(); ++i)
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
      if (i % of.shape.antenna_stride < of.shape.antennas &&
          !(std::isfinite(c.w[i].re[lane]) && std::isfinite(c.w[i].im[lane])))
        return false;
  for (const float variance : c.post_noise)
    if (!(variance >= kPostNoiseFloor && variance <= kPostNoiseCeiling)) return false;
  return true;
}

/// What rounding errors are multiplied by on the way from the channel to its inverse.
double magnified(Detector detector, float noise, const Matrix& h) {
  if (detector == Detector::Conjugate) return 10;
  Matrix gram = array::conjugate_transpose(h) * h;
  const double own = gram(0, 0).real();
  if (detector == Detector::Mmse)
    for (std::size_t k = 0; k < gram.rows; ++k) gram(k, k) += noise;
  return 10 + array::norm(gram) * array::norm(array::inverse(gram)) +
         (detector == Detector::Mmse ? 3 * noise / own : 0);
}

void compare(const Combined& found, Detector detector, float noise, const Channels& c,
             std::uint32_t lane_step) {
  const Combined expected = of_cpu(detector, noise, c);
  EXPECT_TRUE(finite(found, c));
  for (std::uint32_t t = 0; t < c.tiles; ++t) {
    EXPECT_EQ(flagged(found, t), expected.flags[t]) << c.shape.antennas << "x" << c.shape.users;
  }
  for (std::uint32_t lane = 0; lane < c.tiles * kTileLanes; lane += lane_step) {
    const double tolerance = 5e-7 * magnified(detector, noise, channel_of(c, lane));
    const Matrix w = weights_of(found, c, lane), wanted = weights_of(expected, c, lane);
    EXPECT_LE(distance(w, wanted) / array::norm(wanted), tolerance)
        << c.shape.antennas << "x" << c.shape.users << " lane " << lane;
    for (std::uint32_t k = 0; k < c.shape.users; ++k)
      EXPECT_NEAR(noise_of(found, c, k, lane) / noise_of(expected, c, k, lane), 1, tolerance)
          << c.shape.antennas << "x" << c.shape.users << " lane " << lane << " user " << k;
  }
}

void compare(Place& place, Detector detector, float noise, const Channels& c,
             std::uint32_t lane_step) {
  compare(combined(place, detector, noise, c), detector, noise, c, lane_step);
}

constexpr Detector kDetectors[] = {Detector::ZeroForcing, Detector::Mmse, Detector::Conjugate};
constexpr ArrayShape kShapes[] = {{1, 1, 1},   {2, 1, 4},   {3, 2, 3},    {5, 3, 7},
                                  {7, 6, 9},   {8, 8, 9},   {9, 4, 11},   {16, 8, 17},
                                  {33, 5, 33}, {35, 9, 36}, {64, 16, 65}, {39, 17, 40}};

GPU_TEST(CudaZeroForce, CombinesAsTheCpuDoes) {
  for (const ArrayShape shape : kShapes)
    for (const Detector detector : kDetectors)
      compare(place, detector, 0.3F, random_channels(shape, 2, shape.antennas),
              shape.users > 8 ? 5 : 1);
}

GPU_TEST(CudaZeroForce, CombinesLargeArraysAsTheCpuDoes) {
  compare(place, Detector::ZeroForcing, 0.1F, random_channels({70, 33, 71}, 1, 2), 7);
  compare(place, Detector::Mmse, 2.0F, random_channels({67, 65, 68}, 1, 3), 15);
}

GPU_TEST(CudaZeroForce, CombinesTheLargestArrayAsTheCpuDoes) {
  const Channels c = random_channels({140, 128, 141}, 1, 4);
  compare(place, Detector::Mmse, 20.0F, c, kTileLanes);
}

GPU_TEST(CudaZeroForce, NoiseFarAboveTheSignalIsHeld) {
  compare(place, Detector::Mmse, 1e4F, random_channels({16, 8, 17}, 1, 5), 1);
}

GPU_TEST(CudaZeroForce, NoiseAfterCombiningIsTheReferenceVectors) {
  for (const array::Vectors& v : array::reference_vectors()) {
    if (v.users > 32) continue;  // larger ones take too long emulated
    const Channels c{array::shape_of(v), 1, array::channel_tiles(v)};
    for (const bool mmse : {false, true}) {
      const Combined found =
          combined(place, mmse ? Detector::Mmse : Detector::ZeroForcing, v.noise, c);
      const auto& expected = mmse ? v.mmse_noise : v.zf_noise;
      for (std::uint32_t n = 0; n < v.subcarriers; ++n)
        for (std::uint32_t k = 0; k < v.users; ++k)
          EXPECT_NEAR(noise_of(found, c, k, n) / expected[n * v.users + k], 1, 2e-4) << v.antennas;
      EXPECT_EQ(flagged(found, 0), kTileLanes - v.subcarriers);  // lanes without a channel
    }
  }
}

// Whatever the slices and the range of tiles, and nothing else is written.
GPU_TEST(CudaZeroForce, RangesAndSlicesMakeTheSameCombiners) {
  const ArrayShape shape{37, 9, 39};
  const Channels c = random_channels(shape, 3, 8);
  const Combined whole = combined(place, task_of(place, Detector::Mmse, 0.2F, c, 1));
  for (const std::uint32_t slices : {1U, 2U, 5U}) {
    CombineTask task = task_of(place, Detector::Mmse, 0.2F, c, slices);
    task.first_tile = 1;
    task.tiles = 1;
    combine_at(place, task);
    const std::vector<Tile> w = place.get(task.w, c.csi.size());
    const auto flags = place.get(task.flags, std::size_t{3} * kTileLanes);
    EXPECT_EQ(std::accumulate(flags.begin(), flags.end(), 0U), 0U);
    for (std::size_t i = 0; i < w.size(); ++i)
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
        const bool ours = i / c.block() == 1 && i % shape.antenna_stride < shape.antennas;
        EXPECT_EQ(std::isnan(w[i].re[lane]), !ours);
        if (!ours) continue;
        EXPECT_NEAR(w[i].re[lane], whole.w[i].re[lane], 3e-6) << slices;
      }
  }
}

void copy_user(const Channels& c, Tile* csi, std::uint32_t lane, std::uint32_t from,
               std::uint32_t to, double apart) {
  for (std::uint32_t a = 0; a < c.shape.antennas; ++a) {
    Tile& tile = csi[to * c.shape.antenna_stride + a];
    const array::Value own = array::get(tile, lane);
    array::put(tile, lane, array::get(csi[from * c.shape.antenna_stride + a], lane) + apart * own);
  }
}

struct Inseparable {
  const char* name;
  ArrayShape shape;
  void (*spoil)(const Channels&, Tile*, std::uint32_t lane);
};
const Inseparable kInseparable[] = {
    {"two users with the same channel",
     {16, 4, 17},
     [](const Channels& c, Tile* csi, std::uint32_t lane) { copy_user(c, csi, lane, 0, 2, 0); }},
    {"two users with nearly the same channel",
     {64, 16, 65},
     [](const Channels& c, Tile* csi, std::uint32_t lane) {
       copy_user(c, csi, lane, 3, 15, 1e-3);
     }},
    {"as many users as antennas, one of which is dead",
     {8, 8, 9},
     [](const Channels& c, Tile* csi, std::uint32_t lane) {
       for (std::uint32_t k = 0; k < 8; ++k) array::put(csi[k * 9 + 5], lane, 0);
       (void)c;
     }},
    {"all users at one place",
     {8, 5, 9},
     [](const Channels& c, Tile* csi, std::uint32_t lane) {
       for (std::uint32_t k = 1; k < 5; ++k) copy_user(c, csi, lane, 0, k, 0);
     }},
    // Each user is told apart from those before it, but the differences multiply up to 10^35.
    {"a chain of users, each close to the last",
     {64, 16, 65},
     [](const Channels& c, Tile* csi, std::uint32_t lane) {
       for (std::uint32_t k = 0; k < 16; ++k)
         for (std::uint32_t a = 0; a < 64; ++a) {
           const double own = k == 0 ? 1 : 0.006, last = k == 0 ? 0 : 1;
           array::put(csi[k * c.shape.antenna_stride + a], lane,
                      a == k       ? own
                      : a + 1 == k ? last
                                   : 0);
         }
     }}};

// The combiner by its formula with every user's own power counted 1 + kLoading times.
Matrix loaded_combiner(Detector detector, double noise, const Matrix& h) {
  const Matrix adjoint = array::conjugate_transpose(h);
  Matrix gram = adjoint * h;
  for (std::size_t k = 0; k < gram.rows; ++k) {
    gram(k, k) *= 1 + static_cast<double>(kLoading);
    if (detector == Detector::Mmse) gram(k, k) += noise;
  }
  Matrix w = array::inverse(gram) * adjoint;
  const Matrix gains = w * h;
  for (std::size_t k = 0; k < w.rows; ++k)
    for (std::size_t a = 0; a < w.columns; ++a) w(k, a) /= gains(k, k);
  return w;
}

double variance_of(const Matrix& w, const Matrix& h, double noise, std::uint32_t user) {
  const Matrix yields = w * h;
  double sum = 0;
  for (std::size_t a = 0; a < w.columns; ++a) sum += noise * std::norm(w(user, a));
  for (std::size_t j = 0; j < w.rows; ++j)
    if (j != user) sum += std::norm(yields(user, j));
  return sum;
}

// What rounding adds to the Gram matrix counts as much as that much loading: some percent differ,
// and twice as many of a variance. A GPU's rsqrtf alone, within 2^-22.9, makes it a fifth of these.
void expect_loaded(Place& place, const Inseparable& of, Detector detector, float noise) {
  constexpr double kTolerance = 0.15;  // 0.6 dB
  constexpr std::uint32_t kStep = 5;   // between the lanes that are spoiled
  Channels c = random_channels(of.shape, 1, 2);
  for (std::uint32_t lane = 0; lane < kTileLanes; lane += kStep) of.spoil(c, c.csi.data(), lane);
  const Combined found = combined(place, detector, noise, c);
  EXPECT_TRUE(finite(found, c)) << of.name;
  for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
    EXPECT_EQ(found.flags[lane], lane % kStep == 0 ? kFlagged | kRegularised : 0U) << of.name;
  for (std::uint32_t lane = 0; lane < kTileLanes; lane += kStep) {
    const Matrix h = channel_of(c, lane), wanted = loaded_combiner(detector, noise, h);
    EXPECT_LE(distance(weights_of(found, c, lane), wanted) / array::norm(wanted), kTolerance)
        << of.name;
    for (std::uint32_t k = 0; k < c.shape.users; ++k) {
      const double variance = variance_of(wanted, h, noise, k);
      EXPECT_NEAR(noise_of(found, c, k, lane), variance, 2 * kTolerance * variance + 1e-7)
          << of.name << ", user " << k;
    }
  }
}

GPU_TEST(CudaZeroForce, UsersThatCannotBeToldApartAreFlaggedAndRegularised) {
  for (const Inseparable& of : kInseparable) {
    for (const Detector detector : {Detector::ZeroForcing, Detector::Mmse})
      for (const float noise : {0.0F, 1e-6F}) expect_loaded(place, of, detector, noise);
    expect_loaded(place, of, Detector::ZeroForcing, 1e-2F);  // so much would load Mmse by itself
  }
}

// A Gram matrix whose users have more in common than they have: rounding does that. Loaded, its
// last pivot would still be negative.
GPU_TEST(CudaZeroForce, PivotsThatRoundingMadeTooSmallAreRaised) {
  constexpr std::uint32_t kUsers = 6;
  for (const std::uint32_t second : {1U, 5U}) {  // in the same block as the first user, or not
    const Channels c = random_channels({8, kUsers, 9}, 1, 1);
    CombineTask task = task_of(place, Detector::ZeroForcing, 0, c, 1);
    std::vector<SquareBlock> squares(kTileLanes * 3, SquareBlock{});
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
      const auto entry = [&](std::uint32_t i, std::uint32_t j) -> Complex& {
        return squares[lane * 3 + triangle(i / kSide) + j / kSide].at[i % kSide][j % kSide];
      };
      for (std::uint32_t k = 0; k < kUsers; ++k) entry(k, k) = {1, 0};
      entry(second, 0) = {0, 1 + 2 * kLoading};
    }
    task.squares = place.put(squares);
    place.run(FactorTask{task}, kFactor, factor);
    const auto inverse = place.get(task.squares, squares.size());
    const auto gains = place.get(task.gains, kTileLanes * kUsers);
    const auto flags = place.get(task.flags, kTileLanes);
    const float pivot = (1 + kLoading) * kLoading / 2;
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
      EXPECT_EQ(flags[lane], kFlagged | kRegularised);
      const Complex own = inverse[lane * 3 + triangle(second / kSide) + second / kSide]
                              .at[second % kSide][second % kSide];
      EXPECT_NEAR(own.re * pivot, 1, 1e-5);
      EXPECT_EQ(gains[lane * kUsers + second], 1 / kLeastLoadedGain);  // its gain would be negative
      EXPECT_NEAR(gains[lane * kUsers + 2], 1, 1e-4);
    }
  }
}

GPU_TEST(CudaZeroForce, ManyUsersAtOnePlaceAreFinite) {
  Channels c = random_channels({64, 64, 65}, 1, 2);
  for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
    for (std::uint32_t k = 1; k < 64; ++k) copy_user(c, c.csi.data(), lane, 0, k, 0);
  const Combined found = combined(place, Detector::ZeroForcing, 0.01F, c);
  EXPECT_TRUE(finite(found, c));
  EXPECT_EQ(flagged(found, 0), kTileLanes);
  for (const float variance : found.post_noise) EXPECT_GE(variance, 1);
}

GPU_TEST(CudaZeroForce, OneLanesUsersDoNotChangeAnothersCombiner) {
  const ArrayShape shape{16, 8, 17};  // several matrices in a block
  const Channels good = random_channels(shape, 1, 2);
  Channels c = random_channels(shape, 1, 2);
  copy_user(c, c.csi.data(), 3, 0, 2, 0);
  for (std::uint32_t a = 0; a < shape.antennas; ++a) array::put(c.csi[a], 4, 0);
  const Combined expected = combined(place, Detector::Mmse, 1e-6F, good);
  const Combined found = combined(place, Detector::Mmse, 1e-6F, c);
  EXPECT_EQ(flagged(found, 0), 2U);
  for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
    if (lane == 3 || lane == 4) continue;
    EXPECT_TRUE(weights_of(found, c, lane).values == weights_of(expected, c, lane).values);
    for (std::uint32_t k = 0; k < shape.users; ++k)
      EXPECT_EQ(noise_of(found, c, k, lane), noise_of(expected, c, k, lane));
  }
}

GPU_TEST(CudaZeroForce, NearAndFarUsersAreSeparated) {
  const ArrayShape shape{64, 16, 65};
  for (const double below : {1e-3, 1e-6})  // 30 and 60 dB
    for (const bool strong_first : {false, true}) {
      Channels c = random_channels(shape, 1, 11);
      for (std::uint32_t k = 0; k < shape.users; ++k)
        for (std::uint32_t a = 0; a < shape.antennas && (k < 8) != strong_first; ++a)
          for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
            Tile& tile = c.csi[k * shape.antenna_stride + a];
            array::put(tile, lane, array::get(tile, lane) * std::sqrt(below));
          }
      const Combined found = combined(place, Detector::ZeroForcing, 1e-9F, c);
      EXPECT_EQ(flagged(found, 0), 0U);
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
        Matrix yields = weights_of(found, c, lane) * channel_of(c, lane);
        for (std::uint32_t k = 0; k < shape.users; ++k) yields(k, k) -= 1;
        EXPECT_LE(array::norm(yields), below == 1e-3 ? 2e-4 : 5e-3);  // 256QAM needs 2e-2
      }
    }
}

GPU_TEST(CudaZeroForce, LostUsersAreLeftOutAndTheOthersDoNotNotice) {
  const ArrayShape shape{16, 5, 17};
  for (const Detector detector : kDetectors)
    for (const float noise : {0.0F, 0.1F})
      for (const double by : {0.0, 1e-17, 1e-44, 1e18, 1e37}) {
        Channels c = random_channels(shape, 1, 7);
        for (std::uint32_t a = 0; a < shape.antennas; ++a)
          for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
            Tile& tile = c.csi[2 * shape.antenna_stride + a];
            array::put(tile, lane, array::get(tile, lane) * by);
          }
        const Combined found = combined(place, detector, noise, c);
        const Combined expected = of_cpu(detector, noise, c);
        EXPECT_TRUE(finite(found, c)) << by;
        EXPECT_EQ(flagged(found, 0), kTileLanes) << by;
        for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
          EXPECT_EQ(found.flags[lane], kFlagged) << by;
          EXPECT_EQ(noise_of(found, c, 2, lane), kPostNoiseCeiling);
          const Matrix w = weights_of(found, c, lane), wanted = weights_of(expected, c, lane);
          EXPECT_LE(distance(w, wanted), 1e-4 * array::norm(wanted)) << by;
          for (std::uint32_t a = 0; a < shape.antennas; ++a)
            EXPECT_TRUE(w(2, a) == array::Value(0)) << by;
          for (std::uint32_t k = 0; k < shape.users; ++k)
            EXPECT_NEAR(noise_of(found, c, k, lane) / noise_of(expected, c, k, lane), 1, 1e-4);
        }
      }
}

GPU_TEST(CudaZeroForce, ADeadAntennaCostsNothing) {
  Channels c = random_channels({16, 8, 17}, 1, 4);
  for (std::uint32_t k = 0; k < 8; ++k)
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) array::put(c.csi[k * 17 + 5], lane, 0);
  compare(place, Detector::ZeroForcing, 0.1F, c, 1);
  const Combined found = combined(place, Detector::Mmse, 0, c);
  EXPECT_EQ(flagged(found, 0), 0U);
  for (std::uint32_t k = 0; k < 8; ++k) EXPECT_EQ(found.w[k * 17 + 5].re[3], 0.0F);
}

Channels without(const Channels& c, const std::vector<std::uint32_t>& antennas) {
  Channels left{c.shape, c.tiles, Tiles(c.csi.size())};
  std::copy(c.csi.begin(), c.csi.end(), left.csi.begin());
  for (const std::uint32_t a : antennas)
    for (std::uint32_t row = 0; row < c.tiles * c.shape.users; ++row)
      left.csi[row * c.shape.antenna_stride + a] = {};
  return left;
}

/// Where only one pilot of each of the antennas is missing.
Combined missing_pilots_of(Place& place, Detector detector, float noise, const Channels& c,
                           const std::vector<std::uint32_t>& antennas) {
  const std::uint32_t all = c.shape.antennas, pilots = 3;
  CombineTask task = task_of(place, detector, noise, c, slices_for(all, c.shape.users, c.tiles));
  std::vector<float> measured(std::size_t{pilots} * all, noise / task.noise_gain);
  for (const std::uint32_t a : antennas) measured[a % pilots * all + a] = -1;
  task.noise = place.put(measured);
  task.pilots = pilots;
  return combined(place, task);
}

GPU_TEST(CudaZeroForce, AnAntennaOfWhichAPilotIsMissingHasNoPart) {
  const auto check = [&](ArrayShape shape, const std::vector<std::uint32_t>& antennas) {
    const Channels c = random_channels(shape, 2, 12);
    for (const Detector detector : kDetectors) {
      const Combined found = missing_pilots_of(place, detector, 0.3F, c, antennas);
      compare(found, detector, 0.3F, without(c, antennas), shape.users > 8 ? 5 : 1);
      for (const std::uint32_t a : antennas)
        for (std::uint32_t k = 0; k < shape.users; ++k)
          EXPECT_EQ(found.w[k * shape.antenna_stride + a].re[3], 0.0F) << a;
    }
  };
  check({5, 3, 7}, {4, 0});
  check({16, 8, 17}, {5});
  check({64, 16, 65}, {0, 17, 63, 40});
  check({70, 33, 71}, {69, 1, 2});
}

// Those who have no pilot then may be lost, the others need not be.
GPU_TEST(CudaZeroForce, AllAntennasHaveAPartWhereTooFewHaveAllPilots) {
  const Channels c = random_channels({9, 4, 11}, 2, 13);
  for (const Detector detector : kDetectors)
    compare(missing_pilots_of(place, detector, 0.3F, c, {0, 1, 3, 4, 6, 8}), detector, 0.3F, c, 1);
}

GPU_TEST(CudaZeroForce, SilenceIsFinite) {
  Channels c{{8, 8, 9}, 1, array::filled(72, 0)};
  for (const float noise : {0.0F, 1.0F})
    for (const Detector detector : kDetectors) {
      const Combined found = combined(place, detector, noise, c);
      EXPECT_TRUE(finite(found, c));
      EXPECT_EQ(flagged(found, 0), kTileLanes);
    }
}

GPU_TEST(CudaZeroForce, WithoutNoiseTheVarianceIsTheFloor) {
  const Channels c = random_channels({16, 4, 17}, 1, 6);
  for (const Detector detector : {Detector::ZeroForcing, Detector::Mmse})
    for (const float variance : combined(place, detector, 0, c).post_noise)
      EXPECT_EQ(variance, kPostNoiseFloor);
}

// --- index maps --------------------------------------------------------------------------------

TEST(CudaZeroForce, EveryThreadOfAProductHasItsOwnPlace) {
  for (const std::uint32_t edge : {8U, 16U, 32U}) {
    std::set<std::uint32_t> seen, rows;
    for (std::uint32_t thread = 0; thread < product_threads(edge); ++thread) {
      const ProductPlace at = product_place(edge, thread);
      EXPECT_LT(at.lane, kOctet);
      EXPECT_LT(at.row, edge / kSide);
      EXPECT_LT(at.column, edge / kSide);
      seen.insert((at.row * kMostEdge + at.column) * kOctet + at.lane);
    }
    EXPECT_EQ(seen.size(), product_threads(edge));
    for (std::uint32_t row = 0; row < edge; ++row) rows.insert(row_place(edge, row));
    EXPECT_EQ(rows.size(), edge);
    EXPECT_EQ(*rows.rbegin(), edge - 1);
  }
}

TEST(CudaZeroForce, TrianglesAreCountedRowByRow) {
  std::uint32_t index = 0;
  for (std::uint32_t row = 0; row < 40; ++row)
    for (std::uint32_t column = 0; column <= row; ++column, ++index) {
      EXPECT_EQ(triangle_place(index).row, row);
      EXPECT_EQ(triangle_place(index).column, column);
    }
}

TEST(CudaZeroForce, EveryArrayFitsABlock) {
  for (std::uint32_t users = 1; users <= kMostUsers; ++users)
    for (const std::uint32_t tiles : {1U, 5U, 75U, 256U}) {
      CombineTask task{};
      task.users = users;
      task.antennas = 256;
      task.tiles = tiles;
      task.slices = slices_for(256, users, tiles);
      EXPECT_LT((task.slices - 1) * slice_antennas(task), task.antennas);
      EXPECT_GE(task.slices * slice_antennas(task), task.antennas);
      const simt::Launch factored = launch_of(FactorTask{task});
      EXPECT_LE(factored.threads, kMostFactorThreads);
      EXPECT_LE(factored.shared_bytes, 48U * 1024);
      EXPECT_LE(launch_of(GramTask{task}).threads, kMostProductThreads);
      EXPECT_LE(launch_of(WeighTask{task}).shared_bytes, 48U * 1024);
      EXPECT_GE(factored.x * matrices_per_block(users), tiles * kTileLanes);
    }
}

}  // namespace
