#include "phy/equalize/leave_out.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "phy/equalize/equalize.hpp"
#include "phy/zeroforce/array.hpp"
#include "support/test.hpp"

namespace {

using namespace carillon;
using namespace carillon::phy;
using namespace carillon::phy::testing;

constexpr float kNoise = 0.02F;

struct Combined {
  Tiles w, s;
  std::vector<float> post_noise;
};

Combined combine(Detector detector, ArrayShape shape, const Tiles& csi, const Tiles& y) {
  Combined c{Tiles(block_of(shape)), Tiles(shape.users),
             std::vector<float>(shape.users * kTileLanes)};
  ZeroForceScratch scratch(shape.users);
  zeroforce_kernels().combine(detector, shape, kNoise, csi.data(), c.w.data(), c.post_noise.data(),
                              scratch);
  equalize_kernels().per_group(shape, {}, c.w.data(), y.data(), c.s.data());
  return c;
}

// Against the combiner of the other antennas.
void check(Detector detector, ArrayShape shape, const std::vector<std::uint32_t>& missing) {
  const Tiles whole = random_block(shape, 1);
  Tiles y = random_tiles(shape.antennas, 2), csi(whole.size());
  std::copy(whole.begin(), whole.end(), csi.begin());
  for (const auto a : missing) {
    y[a] = {};
    for (std::uint32_t k = 0; k < shape.users; ++k) csi[k * shape.antenna_stride + a] = {};
  }
  const Combined expected = combine(detector, shape, csi, y);
  Combined got = combine(detector, shape, whole, y);
  Tiles columns(missing.size() * shape.users), channels(missing.size() * shape.users);
  for (std::size_t m = 0; m < missing.size(); ++m)
    for (std::uint32_t k = 0; k < shape.users; ++k) {
      const std::size_t at = k * shape.antenna_stride + missing[m];
      columns[m * shape.users + k] = got.w[at];
      channels[m * shape.users + k] = whole[at];
    }
  leave_out(detector, shape.users, static_cast<std::uint32_t>(missing.size()), kNoise,
            channels.data(), columns.data(), got.s.data(), got.post_noise.data());
  for (std::uint32_t k = 0; k < shape.users; ++k)
    for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
      const float noise = expected.post_noise[k * kTileLanes + lane];
      EXPECT_LE(std::abs(get(got.s[k], lane) - get(expected.s[k], lane)),
                1e-3 * std::sqrt(noise / kNoise))
          << shape.antennas << "x" << shape.users << " user " << k;
      EXPECT_LE(std::abs(got.post_noise[k * kTileLanes + lane] / noise - 1), 1e-3);
    }
}

TEST(LeaveOut, YieldsWhatTheOtherAntennasCombinerDoes) {
  for (const auto detector : {Detector::ZeroForcing, Detector::Mmse}) {
    check(detector, {4, 2, 5}, {1});
    check(detector, {8, 4, 9}, {7, 0});
    check(detector, {8, 1, 9}, {0, 1, 2, 3, 4, 5, 6});
    check(detector, {64, 16, 65}, {3, 63, 17, 20, 0});
  }
}

TEST(LeaveOut, KeepsAMatchedFiltersGain) {
  constexpr ArrayShape shape{8, 1, 9};
  check(Detector::Conjugate, shape, {2});
  check(Detector::Conjugate, shape, {6, 0, 1});
}

TEST(LeaveOut, NothingIsKnownOfWhatIsNoNumber) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  for (const auto detector : {Detector::ZeroForcing, Detector::Mmse, Detector::Conjugate}) {
    const Tiles channels = random_tiles(2, 5);
    Tiles columns = random_tiles(2, 6), s = random_tiles(2, 7);
    std::vector<float> noise(2 * kTileLanes, 0.1F);
    noise[3] = kNaN;
    leave_out(detector, 2, 1, kNoise, channels.data(), columns.data(), s.data(), noise.data());
    EXPECT_EQ(noise[3], kPostNoiseCeiling);
    EXPECT_TRUE(std::ranges::none_of(noise, [](float of) { return std::isnan(of); }));
  }
}

TEST(LeaveOut, NothingIsKnownOfWhatIsErased) {
  Tiles s = random_tiles(3, 4);
  std::vector<float> noise(3 * kTileLanes, 0.1F);
  erase(2, s.data(), noise.data());
  for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
    EXPECT_EQ(get(s[1], lane), Value(0));
    EXPECT_NE(get(s[2], lane), Value(0));
    EXPECT_EQ(noise[kTileLanes + lane], kPostNoiseCeiling);
    EXPECT_EQ(noise[2 * kTileLanes + lane], 0.1F);
  }
}

}  // namespace
