#include "phy/modulate/modulate.hpp"

#include <random>
#include <vector>

#include "phy/crc/vectors.hpp"
#include "phy/transport/transport.hpp"
#include "support/isas.hpp"
#include "support/test.hpp"

namespace carillon::phy {
namespace {

using test::lsb_bit;

// 256 symbols' bits b(j Qm + i) as planes: bit i 256 + j, as the kernels take them.
std::vector<std::uint8_t> planes_of(const std::vector<std::uint8_t>& bits, std::uint32_t Qm) {
  std::vector<std::uint8_t> planes(256 * Qm / 8 + kCodedPadding);
  for (std::uint32_t j = 0; j < 256; ++j)
    for (std::uint32_t i = 0; i < Qm; ++i) {
      const std::uint32_t n = i * 256 + j;
      planes[n / 8] |= static_cast<std::uint8_t>(lsb_bit(bits, j * Qm + i) << n % 8);
    }
  return planes;
}

TEST(Modulate, maps_bits_to_the_reference_points_from_any_element_to_any_lanes) {
  int cases = 0;
  for (test::Vectors vectors("demap.bin"); !vectors.done(); ++cases) {
    const std::uint32_t Qm = vectors.word();
    const auto bits = vectors.bits(256 * Qm);
    const auto points = vectors.array<Complex>(256);
    vectors.array<float>(3 * 256 * (3 + Qm));
    const auto planes = planes_of(bits, Qm);
    const std::uint16_t signs[8] = {};
    for (const Isa isa : test::tested_isas())
      for (std::uint32_t first = 0; first < 16; ++first)
        for (std::uint32_t count = 1; first + count <= 16; ++count)
          for (std::uint32_t re = 0; re + count <= 256; re += 17) {
            Tile tile;
            for (std::uint32_t lane = 0; lane < 16; ++lane) tile.re[lane] = tile.im[lane] = 7;
            modulate_kernels(isa).modulate(static_cast<Modulation>(Qm), planes.data(), 256 * Qm, re,
                                           first, count, signs, 1, &tile);
            for (std::uint32_t lane = 0; lane < 16; ++lane) {
              const bool written = lane >= first && lane < first + count;
              const Complex expected = written ? points[re + lane - first] : Complex{7, 7};
              ASSERT_TRUE(std::abs(tile.re[lane] - expected.re) < 1e-6F &&
                          std::abs(tile.im[lane] - expected.im) < 1e-6F);
            }
          }
  }
  EXPECT_EQ(cases, 4);
}

TEST(Modulate, a_sign_flips_its_bit_in_its_lane) {
  std::mt19937 random(17);
  for (const std::uint32_t Qm : {2U, 4U, 6U, 8U}) {
    std::vector<std::uint8_t> coded(16 * Qm / 8 + kCodedPadding), flipped(coded.size());
    std::uint16_t signs[8] = {};
    const std::uint16_t none[8] = {};
    for (auto& byte : coded) byte = static_cast<std::uint8_t>(random());
    for (std::uint32_t i = 0; i < Qm; ++i) {
      signs[i] = static_cast<std::uint16_t>(random());
      flipped[2 * i] = static_cast<std::uint8_t>(coded[2 * i] ^ signs[i]);
      flipped[2 * i + 1] = static_cast<std::uint8_t>(coded[2 * i + 1] ^ signs[i] >> 8);
    }
    for (const Isa isa : test::tested_isas()) {
      Tile a, b;
      const auto& kernels = modulate_kernels(isa);
      const auto modulation = static_cast<Modulation>(Qm);
      kernels.modulate(modulation, coded.data(), 16 * Qm, 0, 0, 16, signs, 1, &a);
      kernels.modulate(modulation, flipped.data(), 16 * Qm, 0, 0, 16, none, 1, &b);
      for (std::uint32_t lane = 0; lane < 16; ++lane) {
        EXPECT_EQ(a.re[lane], b.re[lane]);
        EXPECT_EQ(a.im[lane], b.im[lane]);
      }
    }
  }
}

}  // namespace
}  // namespace carillon::phy
