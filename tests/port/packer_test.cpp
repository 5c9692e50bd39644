#include "port/packer.hpp"

#include <algorithm>
#include <vector>

#include "base/random.hpp"
#include "support/test.hpp"

using namespace carillon;
using port::Packer;
using port::Unpacker;
using Bytes = std::vector<std::uint8_t>;

namespace {

Bytes packet(std::size_t length, std::uint8_t first) {
  Bytes bytes(length);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::uint8_t>(first + i);
  return bytes;
}

std::vector<Bytes> unpack(Unpacker& unpacker, const Bytes& block) {
  std::vector<Bytes> packets;
  unpacker.push(block, [&](auto bytes) { packets.emplace_back(bytes.begin(), bytes.end()); });
  return packets;
}

}  // namespace

TEST(Packer, LaysPacketsOutAsWritten) {
  Packer packer(1000);
  ASSERT_TRUE(packer.push(packet(20, 1)));
  ASSERT_TRUE(packer.push(packet(21, 101)));
  Bytes block(38);
  ASSERT_TRUE(packer.fill(block));
  packer.sent();
  Bytes wanted{1, 0, 0, 0, 0, 0, 20, 0};
  for (int i = 0; i < 20; ++i) wanted.push_back(static_cast<std::uint8_t>(1 + i));
  for (const int byte : {21, 0, 101, 102, 103, 104, 105, 106, 107, 108})
    wanted.push_back(static_cast<std::uint8_t>(byte));
  EXPECT_TRUE(block == wanted);
  ASSERT_TRUE(packer.fill(block));
  packer.sent();
  EXPECT_EQ(block[0], 1U);
  EXPECT_EQ(block[2], 1U);     // the second block,
  EXPECT_EQ(block[4], 0xffU);  // in which no packet begins
  EXPECT_EQ(block[6], 109U);
  EXPECT_EQ(block[18], 121U);
  EXPECT_EQ(block[19], 0U);
  EXPECT_TRUE(packer.empty());
  EXPECT_FALSE(packer.fill(block));
}

TEST(Packer, WhatDidNotGoOutGoesOutAgain) {
  Packer packer(1000);
  for (std::uint8_t i = 0; i < 4; ++i) ASSERT_TRUE(packer.push(packet(30, i)));
  Bytes first(50), lost(50), again(50);
  ASSERT_TRUE(packer.fill(first));
  packer.sent();
  ASSERT_TRUE(packer.fill(lost));
  packer.unsent();
  ASSERT_TRUE(packer.fill(again));
  EXPECT_TRUE(lost == again);
}

TEST(Packer, HasRoomForSoMuch) {
  Packer packer(100);
  EXPECT_TRUE(packer.push(packet(60, 0)));
  EXPECT_FALSE(packer.push(packet(60, 0)));
  EXPECT_TRUE(packer.push(packet(40, 0)));
  EXPECT_EQ(packer.waiting(), 100U);
  Bytes block(200);
  EXPECT_TRUE(packer.fill(block));
  packer.sent();
  EXPECT_EQ(packer.waiting(), 0U);
  EXPECT_FALSE(packer.push(packet(19, 0)));  // no IP packet
}

// Blocks of all lengths, some of them lost: what arrives is what was sent, in order, and all that
// lacks had a part in a lost block. Another receiver, which loses none, knows what was in which.
TEST(Packer, ALostBlockTakesItsPacketsAlongAndNothingElse) {
  Random random(7, 0);
  const auto below = [&](std::uint64_t n) { return static_cast<std::size_t>(random.next() % n); };
  for (int round = 0; round < 200; ++round) {
    Packer packer(1 << 20);
    Unpacker unpacker, whole;
    std::vector<Bytes> sent, arrived;
    std::vector<bool> touched(101);
    std::size_t ended = 0;
    bool lost = false;
    while (sent.size() < 100 || !packer.empty()) {
      for (std::size_t n = below(4); n > 0 && sent.size() < 100; --n) {
        sent.push_back(packet(20 + below(400), static_cast<std::uint8_t>(sent.size())));
        ASSERT_TRUE(packer.push(sent.back()));
      }
      Bytes block(1 + below(600));
      if (!packer.fill(block)) {
        EXPECT_TRUE(packer.empty() || block.size() <= port::kPackHeader + 2);
        continue;
      }
      if (below(5) == 0) {
        packer.unsent();
        continue;
      }
      packer.sent();
      const bool goes_on = block[4] != 0 || block[5] != 0;  // a packet from the block before
      if (lost && goes_on) touched[ended] = true;
      lost = round % 4 != 0 && below(10) == 0;
      const std::size_t first = ended;
      ended += unpack(whole, block).size();
      if (lost)
        std::fill(touched.begin() + static_cast<std::ptrdiff_t>(first),
                  touched.begin() + static_cast<std::ptrdiff_t>(ended), true);
      else
        for (const Bytes& got : unpack(unpacker, block)) arrived.push_back(got);
      EXPECT_TRUE(unpack(unpacker, Bytes(40)).empty());  // padding between
    }
    EXPECT_EQ(ended, 100U);
    std::size_t next = 0;
    for (std::size_t i = 0; i < sent.size(); ++i) {
      const bool here = next < arrived.size() && arrived[next] == sent[i];
      EXPECT_TRUE(here || touched[i]) << "packet" << i;
      next += here;
    }
    EXPECT_EQ(next, arrived.size());
  }
}

TEST(Packer, WhateverBytesComeNothingBeyondThemIsRead) {
  Random random(8, 0);
  Unpacker unpacker;
  for (int round = 0; round < 20'000; ++round) {
    Bytes block(static_cast<std::size_t>(random.next() % 80));
    for (auto& byte : block)
      byte = static_cast<std::uint8_t>(random.next() % 3 == 0 ? random.next() : random.next() % 3);
    for (const Bytes& got : unpack(unpacker, block)) EXPECT_GE(got.size(), 20U);
  }
}
