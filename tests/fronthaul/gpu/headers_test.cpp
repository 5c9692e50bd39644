// What is in front of samples: only what is as long as it should be, and for us, is believed.
#include "fronthaul/gpu/headers.hpp"

#include <array>

#include "base/random.hpp"
#include "support/ethernet.hpp"
#include "support/test.hpp"

namespace carillon::fronthaul::gpu {
namespace {

using test::Bytes;
using test::frame_of;
using test::kHere;

const Bytes kDatagram(640, std::byte{5});

Headers read(const Bytes& frame, std::size_t frame_bytes) {
  return read_headers({frame.data(), std::min<std::size_t>(frame.size(), kBeforeSamples)},
                      frame_bytes, kHere);
}
Headers read(const Bytes& frame) { return read(frame, frame.size()); }

TEST(Headers, ADatagramForUsIsAsLongAsItWasSent) {
  for (const std::size_t bytes : {0U, 1U, 17U, 18U, 63U, 64U, 65U, 640U, 8768U}) {
    const Headers found = read(frame_of(Bytes(bytes, std::byte{9})));
    EXPECT_EQ(found.misfit, Misfit::None) << bytes;
    EXPECT_EQ(found.bytes, bytes);
    EXPECT_TRUE(found.summed);
  }
  EXPECT_FALSE(read(frame_of(kDatagram, kHere, {.summed = false})).summed);
}

TEST(Headers, WhatIsLongerThanItsHeadersTellIsPadded) {
  Bytes frame = frame_of(kDatagram);
  frame.resize(frame.size() + 20);
  EXPECT_EQ(read(frame).bytes, 640U);
}

TEST(Headers, SamplesThatAreNotInTheirPlaceAreRecognised) {
  const Bytes tag{std::byte{0x81}, std::byte{0}, std::byte{0}, std::byte{5}};
  EXPECT_EQ(read(frame_of(kDatagram, kHere, {.tag = tag})).misfit, Misfit::NotIpv4);
  for (const std::size_t words : {1U, 2U, 10U})
    EXPECT_EQ(read(frame_of(kDatagram, kHere, {.options = Bytes(4 * words)})).misfit,
              Misfit::Options);
  for (const auto fragment : std::array<std::uint16_t, 4>{0x2000, 0x2001, 0x0001, 0x1fff})
    EXPECT_EQ(read(frame_of(kDatagram, kHere, {.fragment = fragment})).misfit, Misfit::Fragment);
  EXPECT_EQ(read(frame_of(kDatagram, kHere, {.fragment = 0x4000})).misfit, Misfit::None)
      << "that it must not be divided is no harm";
}

TEST(Headers, AnothersDatagramIsAStranger) {
  auto other = kHere;
  other.port ^= 1;
  EXPECT_EQ(read(frame_of(kDatagram, other)).misfit, Misfit::Stranger);
  other = kHere;
  other.address ^= 1;
  EXPECT_EQ(read(frame_of(kDatagram, other)).misfit, Misfit::Stranger);
  other = kHere;
  other.peer_address ^= 1;
  EXPECT_EQ(read(frame_of(kDatagram, other)).misfit, Misfit::Stranger);
  other = kHere;
  other.peer_port ^= 1;
  EXPECT_EQ(read(frame_of(kDatagram, other)).misfit, Misfit::Stranger);
  Bytes tcp = frame_of(kDatagram);
  tcp[kEthernetBytes + 9] = std::byte{6};
  EXPECT_EQ(read(tcp).misfit, Misfit::Stranger);
}

TEST(Headers, NoLengthIsBelievedThatAnotherContradicts) {
  const Bytes good = frame_of(kDatagram);
  const auto with = [&](std::size_t at, std::uint32_t value) {
    Bytes frame = good;
    test::put_half(frame, at, value);
    return read(frame).misfit;
  };
  const std::size_t total = kEthernetBytes + 2, udp = kEthernetBytes + kIpv4Bytes + 4;
  for (const std::uint32_t value : {0U, 27U, 667U, 669U, 0xffffU})
    EXPECT_EQ(with(total, value), Misfit::Length) << value;
  for (const std::uint32_t value : {0U, 7U, 647U, 649U, 0xffffU})
    EXPECT_EQ(with(udp, value), Misfit::Length) << value;
  EXPECT_EQ(read(good, good.size() - 1).misfit, Misfit::Length) << "cut off";
  for (std::size_t bytes = 0; bytes < kNetworkBytes; ++bytes)
    EXPECT_EQ(read(good, bytes).misfit, Misfit::Short) << bytes;
}

TEST(Headers, ABitThatHasTurnedInTheIpv4HeaderIsNoticed) {
  const Bytes good = frame_of(kDatagram);
  for (std::size_t bit = 0; bit < 8 * kIpv4Bytes; ++bit) {
    Bytes frame = good;
    frame[kEthernetBytes + bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    EXPECT_NE(read(frame).misfit, Misfit::None) << "bit " << bit;
  }
}

// Whatever is believed has this very layout, whatever the bytes.
TEST(Headers, OfForgedBytesOnlyWhatFitsIsBelieved) {
  Random random(11);
  const Bytes good = frame_of(kDatagram);
  std::size_t believed = 0;
  for (int round = 0; round < 200'000; ++round) {
    Bytes frame = good;
    for (std::uint64_t i = 0, count = random.next() % 4; i < count; ++i)
      frame[random.next() % kBeforeSamples] = static_cast<std::byte>(random.next());
    const std::size_t bytes = random.next() % 8 == 0 ? random.next() % 2000 : frame.size();
    const Headers found = read(frame, bytes);
    if (found.misfit != Misfit::None) {
      EXPECT_EQ(found.bytes, 0U);
      continue;
    }
    ++believed;
    ASSERT_LE(found.bytes + kNetworkBytes, bytes);
    EXPECT_EQ(frame[12], std::byte{8});
    EXPECT_EQ(frame[13], std::byte{0});
    EXPECT_EQ(frame[14], std::byte{0x45});
    EXPECT_EQ(test::complement({frame.data() + kEthernetBytes, kIpv4Bytes}), 0U);
  }
  EXPECT_GT(believed, 1000U);
}

}  // namespace
}  // namespace carillon::fronthaul::gpu
