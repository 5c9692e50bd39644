// The ring of blocks: nothing is lost, overtaken or overwritten.
#include "fronthaul/gpu/ring.hpp"

#include <cstring>
#include <stdexcept>
#include <thread>

#include "support/test.hpp"

namespace {

using namespace carillon::fronthaul::gpu;

TEST(BlockRing, SlotsComeInTurnAndComeAgain) {
  BlockRing ring(3, 4096);
  for (std::uint32_t n = 0; n < 10; ++n) {
    const auto slot = ring.claim();
    ASSERT_TRUE(slot.has_value());
    EXPECT_EQ(*slot, n % 3);
    EXPECT_TRUE(ring.claim() == slot) << "until it is published";
    EXPECT_FALSE(ring.oldest().has_value());
    ring.publish();
    EXPECT_TRUE(ring.oldest() == slot);
    ring.retire();
  }
  EXPECT_EQ(ring.published(), 10U);
  EXPECT_EQ(ring.overflows(), 0U);
}

TEST(BlockRing, IsFullAfterItsSlotsAndSaysHowOften) {
  BlockRing ring(2, 64);
  for (int n = 0; n < 2; ++n) {
    EXPECT_TRUE(ring.claim().has_value());
    ring.publish();
  }
  EXPECT_FALSE(ring.claim().has_value());
  EXPECT_FALSE(ring.claim().has_value());
  EXPECT_EQ(ring.overflows(), 2U);
  EXPECT_EQ(*ring.oldest(), 0U);
  ring.retire();
  EXPECT_EQ(*ring.claim(), 0U);
  EXPECT_EQ(*ring.oldest(), 1U);
}

TEST(BlockRing, ItsMemoryIsWholePagesAndItsPartsDoNotMeet) {
  for (const std::uint32_t slots : {1U, 3U, 64U}) {
    for (const std::size_t bytes : {std::size_t{64}, std::size_t{4096}, std::size_t{1} << 20}) {
      BlockRing ring(slots, bytes);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(ring.memory()) % 4096, 0U);
      EXPECT_EQ(ring.memory_bytes() % 4096, 0U);
      std::memset(ring.payload(0), 0xff, slots * bytes);
      for (std::uint32_t slot = 0; slot < slots; ++slot) EXPECT_EQ(ring.meta()[slot].samples, 0U);
      EXPECT_EQ(ring.published(), 0U);
      const auto* const end = static_cast<std::byte*>(ring.memory()) + ring.memory_bytes();
      EXPECT_TRUE(reinterpret_cast<std::byte*>(ring.meta() + slots) < end);
    }
  }
}

TEST(BlockRing, RefusesShapesThatNoGpuCouldRead) {
  EXPECT_THROW(BlockRing(0, 64), std::invalid_argument);
  EXPECT_THROW(BlockRing(1, 0), std::invalid_argument);
  EXPECT_THROW(BlockRing(1, 100), std::invalid_argument);
}

TEST(BlockRing, WhoSeesABlockPublishedSeesAllOfIt) {
  BlockRing ring(4, 64);
  constexpr std::uint64_t kBlocks = 20'000;
  const std::jthread filling([&] {
    for (std::uint64_t n = 0; n < kBlocks;) {
      const auto slot = ring.claim();
      if (!slot) {
        std::this_thread::yield();
        continue;
      }
      ring.meta()[*slot].sequence = n;
      std::memcpy(ring.payload(*slot), &n, sizeof n);
      ring.publish();
      ++n;
    }
  });
  for (std::uint64_t n = 0; n < kBlocks;) {
    const auto slot = ring.oldest();
    if (!slot) {
      std::this_thread::yield();
      continue;
    }
    std::uint64_t found = 0;
    std::memcpy(&found, ring.payload(*slot), sizeof found);
    EXPECT_EQ(found, n);
    EXPECT_EQ(ring.meta()[*slot].sequence, n);
    ring.retire();
    ++n;
  }
}

}  // namespace
