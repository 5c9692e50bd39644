#include "dataflow/ring.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/test.hpp"
#include "support/watched.hpp"

namespace carillon::dataflow {
namespace {

TEST(MirroredMemory, LiesTwiceAtNeighbouringAddresses) {
  const MirroredMemory memory(5000);
  EXPECT_EQ(memory.bytes(), 8192U);
  std::memset(memory.data() + memory.bytes() - 3, 7, 6);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(memory.data()[i], std::byte{7});
    EXPECT_EQ(memory.data()[memory.bytes() + i], std::byte{7});
    EXPECT_EQ(memory.data()[memory.bytes() - 1 - i], std::byte{7});
  }
  EXPECT_EQ(memory.data()[3], std::byte{0});
}

TEST(Ring, HasRoomForWhatItsSlowestReaderHasLeft) {
  Ring ring(8, 1000, 2);
  EXPECT_EQ(ring.capacity(), 1024U);
  ring.write(1000);
  ring.take(0, 900);
  EXPECT_EQ(ring.room(), 24U);
  EXPECT_EQ(ring.available(0), 100U);
  EXPECT_EQ(ring.available(1), 1000U);
  ring.take(1, 500);
  EXPECT_EQ(ring.room(), 524U);
}

TEST(Ring, RefusesItemsThatDoNotDivideAPage) {
  EXPECT_THROW(Ring(12, 100, 1), std::invalid_argument);
  EXPECT_THROW(Ring(8, 0, 1), std::invalid_argument);
  EXPECT_THROW(Ring(8, std::uint64_t{1} << 60, 1), std::invalid_argument);
}

// Windows of odd sizes, all in one piece wherever they begin.
TEST(Ring, BringsEverythingToEveryReaderInOrder) {
  constexpr std::uint32_t kItems = test::kWatched ? 100'000 : 2'000'000;
  Ring ring(4, 1, 2);
  const auto reads = [&](std::size_t reader, std::uint64_t most) {
    std::uint32_t expected = 0;
    std::uint64_t wrong = 0;
    while (expected < kItems) {
      const std::uint64_t count = std::min(most, ring.available(reader));
      if (count == 0) {
        std::this_thread::yield();
        continue;
      }
      std::vector<std::uint32_t> window(count);
      std::memcpy(window.data(), ring.items(reader), 4 * count);
      for (const std::uint32_t item : window) wrong += item != expected++;
      ring.take(reader, count);
    }
    EXPECT_EQ(wrong, 0U);
  };
  std::thread one(reads, 0, 333), two(reads, 1, 1000);
  for (std::uint32_t next = 0; next < kItems;) {
    const std::uint64_t count =
        std::min<std::uint64_t>({ring.room(), 1 + next % 777, kItems - next});
    if (count == 0) {
      std::this_thread::yield();
      continue;
    }
    std::vector<std::uint32_t> window(count);
    for (std::uint32_t& item : window) item = next++;
    std::memcpy(ring.place(), window.data(), 4 * count);
    ring.write(count);
  }
  one.join();
  two.join();
}

}  // namespace
}  // namespace carillon::dataflow
