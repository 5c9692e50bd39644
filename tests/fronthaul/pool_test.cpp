#include "fronthaul/pool.hpp"

#include <set>
#include <thread>
#include <vector>

#include "base/aligned.hpp"
#include "fronthaul/ring.hpp"
#include "support/test.hpp"

namespace carillon::fronthaul {
namespace {

struct OwnedPool {
  explicit OwnedPool(std::uint32_t count)
      : memory(BufferPool::bytes(count, 128)), pool(memory.data(), count, 128, true) {}
  AlignedArray<std::byte> memory;
  BufferPool pool;
};

TEST(BufferPool, GivesEachBufferOnceAndThenNone) {
  OwnedPool owned(5);
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 5; ++i) seen.insert(owned.pool.acquire());
  EXPECT_EQ(seen.size(), 5U);
  EXPECT_EQ(*seen.rbegin(), 4U);
  EXPECT_EQ(owned.pool.acquire(), kNoBuffer);
  EXPECT_EQ(owned.pool.available(), 0U);
}

TEST(BufferPool, BuffersAreAlignedAndDoNotOverlap) {
  OwnedPool owned(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(owned.pool[i]) % 64, 0U);
    EXPECT_EQ(owned.pool[i] - owned.pool[0], 128 * static_cast<std::ptrdiff_t>(i));
  }
  EXPECT_LE(owned.pool[2] + 128, owned.memory.end());
}

TEST(BufferPool, TakesSeveralBackAtOnceAndIgnoresWhatDoesNotExist) {
  OwnedPool owned(4);
  const std::uint32_t a = owned.pool.acquire(), b = owned.pool.acquire();
  const std::uint32_t returned[] = {kNoBuffer, a, 77, b, kNoBuffer};
  owned.pool.release(returned);
  EXPECT_EQ(owned.pool.available(), 4U);
  owned.pool.release({});
  EXPECT_EQ(owned.pool.available(), 4U);
}

TEST(BufferPool, AnEmptyPoolHasNothingToGive) {
  OwnedPool owned(0);
  EXPECT_EQ(owned.pool.acquire(), kNoBuffer);
}

TEST(BufferPool, ThreadsNeverShareABuffer) {
  OwnedPool owned(8);
  std::atomic<int> clashes{0};
  const auto work = [&](std::uint8_t mark) {
    for (int i = 0; i < 20000; ++i) {
      const std::uint32_t taken[] = {owned.pool.acquire(), owned.pool.acquire()};
      for (const auto buffer : taken)
        if (buffer != kNoBuffer) *owned.pool[buffer] = std::byte{mark};
      for (const auto buffer : taken)
        if (buffer != kNoBuffer && *owned.pool[buffer] != std::byte{mark}) ++clashes;
      owned.pool.release(taken);
    }
  };
  std::thread one(work, 1), two(work, 2), three(work, 3);
  one.join();
  two.join();
  three.join();
  EXPECT_EQ(clashes.load(), 0);
  EXPECT_EQ(owned.pool.available(), 8U);
}

struct OwnedRing {
  explicit OwnedRing(std::size_t wanted)
      : memory(Ring<std::uint64_t>::bytes(wanted)), ring(memory.data(), wanted, true) {}
  AlignedArray<std::byte> memory;
  Ring<std::uint64_t> ring;
};

TEST(Ring, IsFirstInFirstOutAndSaysWhenItIsFullOrEmpty) {
  OwnedRing owned(4);
  std::uint64_t value = 0;
  EXPECT_FALSE(owned.ring.pop(value));
  for (std::uint64_t lap = 0; lap < 3; ++lap) {
    const auto capacity = Ring<std::uint64_t>::capacity_for(4);
    for (std::uint64_t i = 0; i < capacity; ++i) EXPECT_TRUE(owned.ring.push(lap * 100 + i));
    EXPECT_FALSE(owned.ring.push(999));
    for (std::uint64_t i = 0; i < capacity; ++i) {
      EXPECT_TRUE(owned.ring.pop(value));
      EXPECT_EQ(value, lap * 100 + i);
    }
    EXPECT_FALSE(owned.ring.pop(value));
  }
}

TEST(Ring, HoldsAtLeastWhatWasWanted) {
  for (std::size_t wanted = 1; wanted < 70; ++wanted)
    EXPECT_GE(Ring<std::uint64_t>::capacity_for(wanted), wanted);
}

TEST(Ring, SeveralProducersLoseNothingAndKeepTheirOrder) {
  OwnedRing owned(16);
  constexpr std::uint64_t kEach = 20000;
  const auto produce = [&](std::uint64_t name) {
    for (std::uint64_t i = 1; i <= kEach; ++i)
      while (!owned.ring.push(name << 32 | i)) std::this_thread::yield();
  };
  std::thread one(produce, 0), two(produce, 1);
  std::uint64_t last[2] = {0, 0}, disorder = 0;
  for (std::uint64_t got = 0; got < 2 * kEach;) {
    std::uint64_t value = 0;
    if (!owned.ring.pop(value)) {
      std::this_thread::yield();
      continue;
    }
    ++got;
    auto& seen = last[value >> 32];
    disorder += (value & 0xffffffff) != ++seen;
  }
  one.join();
  two.join();
  EXPECT_EQ(disorder, 0U);
}

}  // namespace
}  // namespace carillon::fronthaul
