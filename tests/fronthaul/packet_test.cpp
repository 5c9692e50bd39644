#include "fronthaul/packet.hpp"

#include <array>
#include <cstring>

#include "support/fronthaul.hpp"

namespace carillon::fronthaul {
namespace {

const Layout kLayout = test::small_layout();
constexpr std::uint32_t kBytes = 64 + 4 * 144;

Reject verdict(PacketIds ids, std::size_t bytes, Carries way = Carries::Uplink) {
  return check(ids, bytes, kLayout, way);
}

TEST(Packet, HeaderIsSixtyFourLittleEndianBytesOfFrameSymbolCellAntenna) {
  std::array<std::byte, 64> packet{};
  write_ids({0x04030201, 0x08070605, 0x0c0b0a09, 0x100f0e0d}, packet.data());
  for (int i = 0; i < 16; ++i) EXPECT_EQ(static_cast<int>(packet[i]), i + 1);
  for (int i = 16; i < 64; ++i) EXPECT_EQ(static_cast<int>(packet[i]), 0);
  EXPECT_TRUE(read_ids(packet) == (PacketIds{0x04030201, 0x08070605, 0x0c0b0a09, 0x100f0e0d}));
}

TEST(Packet, HeaderIsReadAtAnyAlignment) {
  std::array<std::byte, 80> bytes{};
  const PacketIds ids{5, 1, 7, 3};
  write_ids(ids, bytes.data() + 3);
  EXPECT_TRUE(read_ids({bytes.data() + 3, 64}) == ids);
}

TEST(Packet, AHeaderCutShortReadsAsZeros) {
  std::array<std::byte, 63> bytes;
  bytes.fill(std::byte{0xff});
  EXPECT_TRUE(read_ids(bytes) == PacketIds{});
}

TEST(Packet, GoodOnesPassInTheirOwnDirectionOnly) {
  EXPECT_EQ(verdict({1, 1, 7, 3}, kBytes), Reject::None);
  EXPECT_EQ(verdict({1, 0, 7, 0}, 64 + 4 * 150), Reject::None);
  EXPECT_EQ(verdict({1, 4, 7, 3}, kBytes, Carries::Downlink), Reject::None);
  EXPECT_EQ(verdict({1, 4, 7, 3}, kBytes), Reject::Symbol);
  EXPECT_EQ(verdict({1, 1, 7, 3}, kBytes, Carries::Downlink), Reject::Symbol);
  EXPECT_EQ(verdict({1, 3, 7, 3}, kBytes), Reject::Symbol);  // guard
}

TEST(Packet, EveryWrongFieldHasItsOwnReason) {
  EXPECT_EQ(verdict({1, 1, 8, 3}, kBytes), Reject::Cell);
  EXPECT_EQ(verdict({1, 1, 7, 4}, kBytes), Reject::Antenna);
  EXPECT_EQ(verdict({1, 1, 7, 0xffffffff}, kBytes), Reject::Antenna);
  EXPECT_EQ(verdict({1, 6, 7, 3}, kBytes), Reject::Symbol);
  EXPECT_EQ(verdict({1, 0xffffffff, 7, 3}, kBytes), Reject::Symbol);
}

TEST(Packet, OnlyTheSymbolsExactLengthPasses) {
  for (std::size_t bytes = 0; bytes < 2 * kBytes; ++bytes)
    EXPECT_EQ(verdict({1, 1, 7, 3}, bytes), bytes == kBytes ? Reject::None : Reject::Length);
  EXPECT_EQ(verdict({1, 0, 7, 3}, kBytes), Reject::Length);  // the first symbol is longer
}

TEST(Packet, BuffersShowADatagramThatIsTooLong) {
  EXPECT_GT(kLayout.buffer_bytes(), kLayout.most_packet_bytes());
  EXPECT_EQ(kLayout.buffer_bytes() % 64, 0U);
  EXPECT_EQ(kLayout.most_packet_bytes(), 64U + 4 * 150);
}

}  // namespace
}  // namespace carillon::fronthaul
