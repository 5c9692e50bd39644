#include "phy/gold/gold.hpp"

#include <vector>

#include "phy/crc/vectors.hpp"
#include "support/test.hpp"

namespace carillon::phy {
namespace {

using test::lsb_bit;

TEST(Gold, agrees_with_the_reference_vectors_from_any_start) {
  int cases = 0;
  for (test::Vectors vectors("gold.bin"); !vectors.done(); ++cases) {
    const std::uint32_t c_init = vectors.word(), bits = vectors.word();
    const auto expected = vectors.bits(bits);
    std::vector<std::uint8_t> out(bits / 8 + 1);
    for (const std::size_t first : {0, 1, 63, 64, 1000, 19990}) {
      gold(c_init, first, bits - first, out.data());
      for (std::size_t n = first; n < bits; ++n)
        if (lsb_bit(out, n - first) != lsb_bit(expected, n)) {
          EXPECT_EQ(n, first) << "first difference, from " << first;
          break;
        }
    }
  }
  EXPECT_EQ(cases, 6);
}

TEST(Gold, writes_whole_bytes_and_nothing_after_them) {
  for (std::size_t bits = 1; bits < 200; ++bits) {
    std::vector<std::uint8_t> out(40, 0xEE);
    gold(99, 5, bits, out.data());
    EXPECT_EQ(out[(bits + 7) / 8], 0xEE);
    const int last = out[(bits - 1) / 8];
    EXPECT_EQ(last >> ((bits - 1) % 8 + 1), 0);
  }
}

TEST(Gold, planes_hold_every_symbols_bits_in_lanes) {
  const std::uint32_t c_init = data_scrambling_seed(4660, 42);
  const std::size_t symbols = 333;
  for (const std::uint32_t bits : {2U, 4U, 6U, 8U}) {
    std::vector<std::uint8_t> sequence((symbols * bits + 7) / 8);
    gold(c_init, 0, symbols * bits, sequence.data());
    const std::size_t plane_bytes = gold_plane_bytes(symbols);
    std::vector<std::uint8_t> planes(plane_bytes * bits);
    gold_planes(c_init, bits, symbols, planes.data(), plane_bytes);
    for (const std::uint32_t first : {0U, 5U, 15U})
      for (std::size_t element = 0; element < symbols; ++element) {
        std::uint16_t signs[8];
        lane_signs(planes.data(), plane_bytes, bits, element, first, signs);
        for (std::uint32_t i = 0; i < bits; ++i)
          for (std::uint32_t lane = first; lane < 16; ++lane) {
            const std::size_t j = element + lane - first;
            if (j >= symbols) continue;
            ASSERT_EQ((signs[i] >> lane & 1) != 0, lsb_bit(sequence, j * bits + i));
          }
      }
  }
}

}  // namespace
}  // namespace carillon::phy
