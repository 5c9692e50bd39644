#include "phy/demap/demap.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "phy/crc/vectors.hpp"
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

TEST(Demap, agrees_with_the_reference_llrs_to_one_step) {
  const auto all = references();
  EXPECT_EQ(all.size(), 4U);
  for (const Isa isa : available_isas())
    for (const Reference& r : all) {
      const std::uint32_t Qm = bits_per_symbol(r.modulation);
      int exact = 0, total = 0;
      for (std::uint32_t n = 0; n < 3 * 256; n += kTileLanes) {
        std::int8_t planes[8][16];
        demap_kernels(isa).demap(r.modulation, tile_of(&r.y[n]), &r.noise[n], planes);
        for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
          for (std::uint32_t i = 0; i < Qm; ++i, ++total) {
            const float scaled = kLlrScale * r.llr[(n + lane) * Qm + i];
            const float expected = std::fmin(std::fmax(std::rint(scaled), -127.0F), 127.0F);
            exact += static_cast<float>(planes[i][lane]) == expected;
            EXPECT_NEAR(static_cast<float>(planes[i][lane]), expected, 1.0F)
                << Qm << " bits, symbol " << n + lane << ", bit " << i;
          }
      }
      EXPECT_GT(exact, total * 99 / 100);
    }
}

TEST(Demap, decides_the_transmitted_bits_of_a_clean_symbol_and_nothing_of_an_unknown_one) {
  const std::vector<float> quiet(16, 1e-4F), silent(16, 0.0F),
      unknown(16, std::numeric_limits<float>::infinity());
  for (const Isa isa : available_isas())
    for (const Reference& r : references()) {
      const std::uint32_t Qm = bits_per_symbol(r.modulation);
      for (std::uint32_t n = 0; n < 256; n += kTileLanes)
        for (const auto* noise : {&quiet, &silent, &unknown}) {
          std::int8_t planes[8][16];
          demap_kernels(isa).demap(r.modulation, tile_of(&r.x[n]), noise->data(), planes);
          for (std::uint32_t lane = 0; lane < kTileLanes; ++lane)
            for (std::uint32_t i = 0; i < Qm; ++i) {
              const int expected = noise == &unknown                      ? 0
                                   : lsb_bit(r.bits, (n + lane) * Qm + i) ? -127
                                                                          : 127;
              ASSERT_EQ(int{planes[i][lane]}, expected);
            }
        }
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
        for (const Isa isa : available_isas())
          EXPECT_NEAR(demap_kernels(isa).error_power(r.modulation, tile_of(&r.y[n]), mask),
                      expected, 1e-5 + 1e-4 * expected);
      }
    }
}

// Soft bits that spell a code block's e, as the tiles of an allocation that starts anywhere in a
// tile would bring them: the store is the transpose of select_bits.
struct Block {
  SoftMap map;
  std::vector<std::int8_t> e;  // wanted value of e[n]
  std::vector<std::uint8_t> flipped;
};

Block random_block(std::mt19937& random) {
  const auto pick = [&](std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random()) % (high - low + 1);
  };
  const LdpcCode code{static_cast<std::uint8_t>(pick(1, 2)), kLiftingSizes[pick(0, 25)]};
  const std::uint32_t N = code.length();
  const std::uint32_t Ncb = pick(0, 1) != 0 ? N : pick(N / 2, N);
  const std::uint32_t fillers = pick(0, code.info_bits() / 2), Qm = 2 * pick(1, 4);
  Block block;
  block.map = match_rate(code, fillers, Ncb, pick(0, 3), Qm, pick(1, 2 * N / Qm) * Qm);
  for (std::uint32_t n = 0; n < block.map.E; ++n) {
    block.e.push_back(static_cast<std::int8_t>(static_cast<int>(pick(0, 254)) - 127));
    block.flipped.push_back(static_cast<std::uint8_t>(pick(0, 1)));
  }
  return block;
}

// Stores the block in tiles whose first lane is `offset`, in random order of tiles.
void store_block(Isa isa, const Block& block, std::uint32_t offset, std::int8_t* soft,
                 std::mt19937& random) {
  const std::uint32_t count = block.map.plane_stride, tiles = tiles_for(offset + count);
  const std::uint32_t start = static_cast<std::uint32_t>(random()) % tiles;
  for (std::uint32_t step = 0; step < tiles; ++step) {
    const std::uint32_t tile = (start + step) % tiles;
    const std::uint32_t first = tile == 0 ? offset : 0;
    const std::uint32_t end = std::min(kTileLanes, offset + count - tile * kTileLanes);
    const std::uint32_t re = tile * kTileLanes + first - offset;
    std::int8_t planes[8][16];
    std::uint16_t signs[8] = {};
    for (std::uint32_t i = 0; i < block.map.bits; ++i)
      for (std::uint32_t lane = 0; lane < kTileLanes; ++lane) {
        if (lane < first || lane >= end) {
          planes[i][lane] = 99;
          signs[i] |= static_cast<std::uint16_t>((random() & 1) << lane);
          continue;
        }
        const std::size_t n = i * count + re + lane - first;
        const bool flip = block.flipped[n] != 0;
        planes[i][lane] = static_cast<std::int8_t>(flip ? -block.e[n] : block.e[n]);
        signs[i] |= static_cast<std::uint16_t>(flip << lane);
      }
    demap_kernels(isa).store(block.map, re, first, end - first, planes, signs, soft);
  }
}

TEST(Store, followed_by_recover_is_the_transpose_of_select_bits) {
  for (const Isa isa : available_isas()) {
    std::mt19937 random(13);
    int direct = 0, repeated = 0;
    for (int trial = 0; trial < 1500; ++trial) {
      const Block block = random_block(random);
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
      store_block(isa, block, static_cast<std::uint32_t>(random() % 16), soft, random);
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

TEST(Store, of_some_lanes_writes_only_their_places) {
  const LdpcCode code{2, 64};
  const SoftMap map = match_rate(code, 0, code.length(), 0, 4, 1600);
  std::int8_t planes[8][16];
  for (auto& plane : planes)
    for (auto& soft : plane) soft = 5;
  const std::uint16_t signs[8] = {};
  for (const Isa isa : available_isas())
    for (std::uint32_t first = 0; first < 16; ++first)
      for (std::uint32_t count = 1; first + count <= 16; ++count) {
        std::vector<std::int8_t> soft(code.length(), 77);
        demap_kernels(isa).store(map, 100, first, count, planes, signs, soft.data());
        for (std::uint32_t n = 0; n < 1600; ++n) {
          const std::uint32_t j = n % 400;
          ASSERT_EQ(int{soft[n]}, j >= 100 && j < 100 + count ? 5 : 77);
        }
      }
}

}  // namespace
}  // namespace carillon::phy
