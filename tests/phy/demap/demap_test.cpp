#include "phy/demap/demap.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "phy/crc/vectors.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

namespace carillon::phy {
namespace {

using test::lsb_bit;

struct Reference {
  Modulation modulation;
  std::vector<std::uint8_t> bits;
  std::vector<Complex> x, y;  // [256], [3][256]
  std::vector<float> noise;   // [3][256]
  std::vector<float> llr;     // [3][256][Qm], max-log
};

std::vector<Reference> references() {
  std::vector<Reference> all;
  for (test::Vectors vectors("demap.bin"); !vectors.done();) {
    Reference r;
    const std::uint32_t Qm = vectors.word();
    r.modulation = static_cast<Modulation>(Qm);
    r.bits = vectors.bits(256 * Qm);
    r.x = vectors.array<Complex>(256);
    r.y = vectors.array<Complex>(3 * 256);
    r.noise = vectors.array<float>(3 * 256);
    r.llr = vectors.array<float>(3 * 256 * Qm);
    all.push_back(r);
  }
  return all;
}

Tile tile_of(const Complex* symbols) {
  Tile tile;
  for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
    tile.re[lane] = symbols[lane].re;
    tile.im[lane] = symbols[lane].im;
  }
  return tile;
}

/// Soft bits in e order of as many symbols as there are variances: bit i of symbol n at
/// [i * symbols + n].
std::vector<std::int8_t> demapped(Isa isa, Modulation modulation, const Complex* symbols,
                                  const std::vector<float>& noise) {
  const auto count = static_cast<std::uint32_t>(noise.size());
  const std::uint32_t Qm = bits_per_symbol(modulation);
  std::vector<Complex> padded(symbols, symbols + count);
  padded.resize(tiles_for(count) * kTileLanes);
  std::vector<Tile> tiles;
  for (std::uint32_t n = 0; n < count; n += kTileLanes) tiles.push_back(tile_of(&padded[n]));
  std::vector<float> variances = noise;
  variances.resize(padded.size(), 1.0F);
  const std::vector<std::uint16_t> signs(tiles.size() + 1);
  const SoftMap as_sent{.E = count * Qm,
                        .plane_stride = count,
                        .bits = static_cast<std::uint8_t>(Qm),
                        .direct = false};
  std::vector<std::int8_t> soft(count * Qm);
  demap_kernels(isa).demap(modulation, {.map = as_sent,
                                        .count = count,
                                        .s = tiles.data(),
                                        .noise = variances.data(),
                                        .signs = signs.data(),
                                        .soft = soft.data()});
  return soft;
}

std::vector<float> every(std::size_t count, float noise) {
  return std::vector<float>(count, noise);
}

/// The max-log LLR in double precision, its slope limited as the contract says.
double reference_llr(Modulation modulation, double y, double noise, std::uint32_t level) {
  const int half = 1 << (bits_per_symbol(modulation) / 2 - 1);
  const double a = half_distance(modulation);
  double nearest[2] = {1e300, 1e300};
  for (int point = -2 * half + 1; point < 2 * half; point += 2) {
    // 38.211 5.1: bit 0 is the sign, each next one says on which side of the middle |x| lies.
    double x = point;
    int reach = half;
    for (std::uint32_t i = 0; i < level; ++i, reach /= 2) x = reach - std::abs(x);
    double& best = nearest[x < 0 ? 1 : 0];
    best = std::min(best, (y / a - point) * (y / a - point));
  }
  const double slope = std::min(4 * kLlrScale * a * a / noise, double{kMostLlrSlope});
  return slope / 4 * (nearest[1] - nearest[0]);
}

std::int8_t rounded(double llr) {
  return static_cast<std::int8_t>(std::rint(std::min(std::max(llr, -127.0), 127.0)));
}

TEST(Demap, agrees_with_the_reference_llrs_to_one_step) {
  const auto all = references();
  EXPECT_EQ(all.size(), 4U);
  for (const Isa isa : test::tested_isas())
    for (const Reference& r : all) {
      const std::uint32_t Qm = bits_per_symbol(r.modulation), count = 3 * 256;
      int exact = 0, total = 0;
      const auto soft = demapped(isa, r.modulation, r.y.data(), r.noise);
      for (std::uint32_t n = 0; n < count; ++n)
        for (std::uint32_t i = 0; i < Qm; ++i, ++total) {
          const std::int8_t expected = rounded(kLlrScale * r.llr[n * Qm + i]);
          exact += soft[i * count + n] == expected;
          EXPECT_NEAR(soft[i * count + n], expected, 1)
              << Qm << " bits, symbol " << n << ", bit " << i;
        }
      EXPECT_GT(exact, total * 98 / 100) << Qm << "bits";
    }
}

// From noise far above the symbols to almost none.
TEST(Demap, is_max_log_at_every_signal_to_noise_ratio) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal(0, std::sqrt(0.5));
  constexpr std::uint32_t kCount = 32;
  for (const Modulation modulation :
       {Modulation::Qpsk, Modulation::Qam16, Modulation::Qam64, Modulation::Qam256}) {
    const std::uint32_t Qm = bits_per_symbol(modulation);
    const int side = 1 << Qm / 2;
    for (int db = -10; db <= 40; ++db) {
      const bool less = (modulation == Modulation::Qam64 && db < -5) ||
                        (modulation == Modulation::Qam256 && db < 12);
      const double noise = std::pow(10, -db / 10.0);
      for (int trial = 0; trial < 20; ++trial) {
        std::vector<Complex> y;
        const auto part = [&] {
          const double point = 2 * (static_cast<int>(random()) & (side - 1)) + 1 - side;
          return static_cast<float>(point * half_distance(modulation) +
                                    std::sqrt(noise) * normal(random));
        };
        for (std::uint32_t n = 0; n < kCount; ++n) {
          const float re = part();
          y.push_back({re, part()});
        }
        const auto variance = static_cast<float>(noise);
        std::vector<double> expected;
        for (std::uint32_t i = 0; i < Qm; ++i)
          for (const Complex& value : y)
            expected.push_back(
                reference_llr(modulation, i % 2 == 0 ? value.re : value.im, variance, i / 2));
        for (const Isa isa : test::tested_isas()) {
          const auto soft = demapped(isa, modulation, y.data(), every(kCount, variance));
          for (std::size_t at = 0; at < expected.size(); ++at) {
            const int actual = soft[at], exact = rounded(expected[at]);
            if (less && std::abs(actual) < std::abs(exact))
              ASSERT_GE(actual * exact, 0) << db << " dB: " << expected[at];
            else
              EXPECT_NEAR(actual, exact, 1) << Qm << " bits at " << db << " dB: " << expected[at];
          }
        }
      }
    }
  }
}

TEST(Demap, decides_the_transmitted_bits_of_a_clean_symbol_and_nothing_of_an_unknown_one) {
  constexpr float kUnknown = std::numeric_limits<float>::infinity();
  for (const Isa isa : test::tested_isas())
    for (const Reference& r : references()) {
      const std::uint32_t Qm = bits_per_symbol(r.modulation);
      for (const float noise : {1e-4F, 0.0F, 1e-40F, 1e8F, kUnknown}) {
        const auto soft = demapped(isa, r.modulation, r.x.data(), every(256, noise));
        for (std::uint32_t n = 0; n < 256; ++n)
          for (std::uint32_t i = 0; i < Qm; ++i) {
            const int expected = noise > 1 ? 0 : lsb_bit(r.bits, n * Qm + i) ? -127 : 127;
            ASSERT_EQ(int{soft[i * 256 + n]}, expected) << Qm << " bits, noise " << noise;
          }
      }
    }
}

TEST(Demap, knows_nothing_of_a_symbol_whose_noise_is_no_variance) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const Isa isa : test::tested_isas())
    for (const Reference& r : references())
      for (const float noise : {kNaN, -kNaN, -1e-40F, -0.1F, -1e8F, -kInfinity}) {
        std::vector<float> variances = every(256, 0.01F);
        for (std::uint32_t n = 0; n < 256; n += 3) variances[n] = noise;
        const auto soft = demapped(isa, r.modulation, r.x.data(), variances);
        for (std::uint32_t n = 0; n < 256; ++n)
          for (std::uint32_t i = 0; i < bits_per_symbol(r.modulation); ++i)
            ASSERT_EQ(soft[i * 256 + n] == 0, n % 3 == 0) << noise << " symbol " << n;
      }
}

TEST(Demap, saturates_far_outside_the_constellation) {
  for (const Isa isa : test::tested_isas())
    for (const Reference& r : references())
      for (const float far : {3.0F, 100.0F, 1e4F}) {
        const std::vector<Complex> y(kTileLanes, {far, -far});
        const auto soft = demapped(isa, r.modulation, y.data(), every(kTileLanes, 0.01F));
        for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
          for (std::uint32_t i = 0; i < bits_per_symbol(r.modulation); ++i)
            // Two signs, then ones, which say that the magnitude is beyond each middle.
            ASSERT_EQ(int{soft[i * kTileLanes + lane]}, i == 0 ? 127 : -127) << far << " bit " << i;
      }
}

TEST(Demap, error_power_is_the_distance_to_the_nearest_point_in_the_wanted_lanes) {
  for (const Reference& r : references())
    for (std::uint32_t n = 0; n < 3 * 256; n += kTileLanes) {
      double power[16];
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
        // Real and imaginary levels are the same and all occur, though not every pair of them does.
        double re = 1e9, im = 1e9;
        for (const Complex& point : r.x) {
          re = std::fmin(re, std::abs(double{r.y[n + lane].re} - point.re));
          im = std::fmin(im, std::abs(double{r.y[n + lane].im} - point.im));
        }
        power[lane] = re * re + im * im;
      }
      for (const std::uint32_t mask : {0xFFFFU, 0U, 0x0FF0U, 0x8001U, 0x1234U}) {
        double expected = 0;
        for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
          if ((mask >> lane & 1) != 0) expected += power[lane];
        for (const Isa isa : test::tested_isas())
          EXPECT_NEAR(demap_kernels(isa).error_power(r.modulation, tile_of(&r.y[n]), mask),
                      expected, 1e-5 + 1e-4 * expected);
      }
    }
}

// A code block's symbols and what scrambling flips, in tiles of an allocation that starts anywhere
// in a tile.
struct Block {
  SoftMap map;
  std::uint32_t offset;  // lane of the first element
  std::vector<Tile> tiles;
  std::vector<float> noise;
  std::vector<std::uint16_t> signs;
  std::vector<std::int8_t> e;  // wanted value of e[n]

  std::uint32_t tile_count() const { return static_cast<std::uint32_t>(tiles.size()); }
  SoftRun run(std::uint32_t re, std::uint32_t count, std::int8_t* soft) const {
    const std::uint32_t tile = (offset + re) / kTileLanes;
    return {.map = map,
            .re = re,
            .first = (offset + re) % kTileLanes,
            .count = count,
            .s = &tiles[tile],
            .noise = &noise[tile * kTileLanes],
            .signs = &signs[tile],
            .sign_stride = tile_count(),
            .soft = soft};
  }
};

Block random_block(Isa isa, std::mt19937& random) {
  const auto pick = [&](std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random()) % (high - low + 1);
  };
  const LdpcCode code{static_cast<std::uint8_t>(pick(1, 2)), kLiftingSizes[pick(0, 25)]};
  const std::uint32_t N = code.length();
  const std::uint32_t Ncb = pick(0, 1) != 0 ? N : pick(N / 2, N);
  const std::uint32_t fillers = pick(0, code.info_bits() / 2), Qm = 2 * pick(1, 4);
  Block block;
  block.map = match_rate(code, fillers, Ncb, pick(0, 3), Qm, pick(1, 2 * N / Qm) * Qm);
  block.offset = pick(0, 15);
  const std::uint32_t count = block.map.plane_stride, tiles = tiles_for(block.offset + count);
  std::vector<Complex> y(tiles * kTileLanes);
  const auto part = [&] { return static_cast<float>(pick(0, 2000)) / 1000 - 1; };
  for (Complex& v : y) v = {part(), part()};
  block.noise = every(y.size(), 0.02F);
  for (std::size_t n = 0; n < y.size(); n += kTileLanes) block.tiles.push_back(tile_of(&y[n]));
  block.signs.resize(tiles * Qm + 1);
  for (auto& word : block.signs) word = static_cast<std::uint16_t>(random());
  block.e = demapped(isa, static_cast<Modulation>(Qm), &y[block.offset], every(count, 0.02F));
  for (std::uint32_t i = 0; i < Qm; ++i)
    for (std::uint32_t j = 0; j < count; ++j) {
      const std::uint32_t lane = block.offset + j;
      auto& soft = block.e[i * count + j];
      if ((block.signs[i * tiles + lane / kTileLanes] >> lane % kTileLanes & 1) != 0)
        soft = static_cast<std::int8_t>(-soft);
    }
  return block;
}

// Demaps the block in runs of random length, the second half of it first.
void demap_block(Isa isa, const Block& block, std::int8_t* soft, std::mt19937& random) {
  const std::uint32_t count = block.map.plane_stride;
  const auto runs = [&](std::uint32_t begin, std::uint32_t end) {
    while (begin < end) {
      const auto most = std::min(end - begin, 1 + static_cast<std::uint32_t>(random()) % 150);
      demap_kernels(isa).demap(static_cast<Modulation>(block.map.bits),
                               block.run(begin, most, soft));
      begin += most;
    }
  };
  runs(count / 2, count);
  runs(0, count / 2);
}

TEST(Demap, followed_by_recover_is_the_transpose_of_select_bits) {
  for (const Isa isa : test::tested_isas()) {
    std::mt19937 random(13);
    int direct = 0, repeated = 0;
    for (int trial = 0; trial < 1500; ++trial) {
      const Block block = random_block(isa, random);
      const SoftMap& map = block.map;
      // Where select_bits takes every e from: send one bit pattern for every bit of the place's
      // number.
      std::vector<std::uint32_t> place(map.E);
      for (std::uint32_t bit = 0; map.Ncb >> bit != 0; ++bit) {
        std::vector<std::uint8_t> codeword(map.Ncb / 8 + 1), e(map.E / 8 + 1);
        for (std::uint32_t d = 0; d < map.Ncb; ++d)
          codeword[d / 8] |= static_cast<std::uint8_t>((d >> bit & 1) << d % 8);
        select_bits(map, codeword.data(), e.data());
        for (std::uint32_t n = 0; n < map.E; ++n) place[n] |= std::uint32_t{lsb_bit(e, n)} << bit;
      }
      std::vector<int> expected(map.N);
      for (std::uint32_t n = 0; n < map.E; ++n) {
        int& sum = expected[place[n]];
        sum = std::min(std::max(sum + block.e[n], -127), 127);
      }

      constexpr std::int8_t kUntouched = 77;
      const std::uint32_t size = map.direct ? map.N : map.E;
      std::vector<std::int8_t> guarded(size + 64, kUntouched), d(map.N, 55);
      std::int8_t* soft = guarded.data() + 32;
      if (map.direct) std::fill_n(soft, size, std::int8_t{0});
      demap_block(isa, block, soft, random);
      for (std::uint32_t n = 0; n < 32; ++n) {
        ASSERT_EQ(guarded[n], kUntouched);
        ASSERT_EQ(guarded[32 + size + n], kUntouched);
      }
      if (map.direct)
        d.assign(soft, soft + size);
      else
        demap_kernels(isa).recover(map, soft, d.data());
      for (std::uint32_t n = 0; n < map.N; ++n)
        ASSERT_EQ(int{d[n]}, expected[n]) << "place " << n << ", trial " << trial;
      ++(map.direct ? direct : repeated);
    }
    EXPECT_GT(direct, 200);
    EXPECT_GT(repeated, 200);
  }
}

TEST(Demap, of_some_elements_writes_only_their_places) {
  const LdpcCode code{2, 64};
  const SoftMap map = match_rate(code, 0, code.length(), 0, 4, 1600);
  Block block;
  block.map = map;
  block.tiles.resize(40);
  block.noise = every(40 * kTileLanes, 1);
  block.signs.resize(40 * 4 + 1);
  for (const Isa isa : test::tested_isas())
    for (std::uint32_t first = 0; first < 16; ++first)
      for (std::uint32_t count = 1; count <= 50; ++count) {
        block.offset = first;
        std::vector<std::int8_t> soft(code.length(), 77);
        // Symbols at zero: the sign says nothing.
        demap_kernels(isa).demap(Modulation::Qam16, block.run(96, count, soft.data()));
        for (std::uint32_t n = 0; n < 1600; ++n) {
          const std::uint32_t j = n % 400;
          ASSERT_EQ(soft[n] != 77, j >= 96 && j < 96 + count);
        }
      }
}

}  // namespace
}  // namespace carillon::phy
