#include "phy/crc/crc.hpp"

#include <random>
#include <vector>

#include "phy/crc/vectors.hpp"
#include "support/test.hpp"

namespace carillon::phy {
namespace {

using test::msb_bit;

// Long division, straight from 38.212 5.1.
std::uint32_t divide(Crc kind, const std::vector<std::uint8_t>& message, std::size_t bits) {
  const std::uint32_t generator = kind == Crc::Crc16    ? 0x11021
                                  : kind == Crc::Crc24A ? 0x1864CFB
                                                        : 0x1800063;
  const std::uint32_t width = crc_bits(kind);
  std::uint32_t remainder = 0;
  for (std::size_t n = 0; n < bits + width; ++n) {
    remainder = remainder << 1 | (n < bits && msb_bit(message, n) ? 1U : 0U);
    if ((remainder >> width) != 0) remainder ^= generator;
  }
  return remainder;
}

std::vector<std::uint8_t> random_bytes(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

TEST(Crc, agrees_with_the_reference_vectors) {
  int cases = 0;
  for (test::Vectors vectors("crc.bin"); !vectors.done(); ++cases) {
    const Crc kind = static_cast<Crc>(vectors.word());
    const std::uint32_t bits = vectors.word(), parity = vectors.word();
    EXPECT_EQ(crc(kind, vectors.bits(bits).data(), bits), parity) << bits << " bits";
  }
  EXPECT_EQ(cases, 21);
}

TEST(Crc, agrees_with_long_division_for_every_length) {
  const auto message = random_bytes(400, 1);
  for (const Crc kind : {Crc::Crc16, Crc::Crc24A, Crc::Crc24B})
    for (std::size_t bits = 1; bits <= 8 * message.size(); bits += bits < 1400 ? 1 : 37)
      EXPECT_EQ(crc(kind, message.data(), bits), divide(kind, message, bits)) << bits << " bits";
}

TEST(Crc, of_a_message_with_its_parity_is_zero_and_not_zero_after_any_bit_flips) {
  for (const Crc kind : {Crc::Crc16, Crc::Crc24A, Crc::Crc24B}) {
    auto message = random_bytes(150, 2);
    const std::uint32_t width = crc_bits(kind), parity = crc(kind, message.data(), 8 * 140);
    for (std::uint32_t i = 0; i < width / 8; ++i)
      message[140 + i] = static_cast<std::uint8_t>(parity >> (width - 8 - 8 * i));
    const std::size_t bits = 8 * 140 + width;
    EXPECT_EQ(crc(kind, message.data(), bits), 0U);
    for (std::size_t n = 0; n < bits; ++n) {
      message[n / 8] ^= static_cast<std::uint8_t>(0x80 >> n % 8);
      EXPECT_NE(crc(kind, message.data(), bits), 0U) << "bit " << n;
      message[n / 8] ^= static_cast<std::uint8_t>(0x80 >> n % 8);
    }
  }
}

TEST(Crc, none_has_no_parity) {
  const std::uint8_t byte = 0xA5;
  EXPECT_EQ(crc(Crc::None, &byte, 8), 0U);
  EXPECT_EQ(crc_bits(Crc::None), 0U);
}

}  // namespace
}  // namespace carillon::phy
