#include "fronthaul/buffer_stock.hpp"

#include <algorithm>
#include <atomic>
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
      : memory(BufferStock::bytes(count, 128)), stock(memory.data(), count, 128, true) {}
  AlignedArray<std::byte> memory;
  BufferStock stock;
};

TEST(BufferStock, GivesEachBufferOnceAndThenNone) {
  OwnedPool owned(5);
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 5; ++i) seen.insert(owned.stock.acquire());
  EXPECT_EQ(seen.size(), 5U);
  EXPECT_EQ(*seen.rbegin(), 4U);
  EXPECT_EQ(owned.stock.acquire(), kNoBuffer);
  EXPECT_EQ(owned.stock.available(), 0U);
}

TEST(BufferStock, BuffersAreAlignedAndDoNotOverlap) {
  OwnedPool owned(3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(owned.stock[i]) % 64, 0U);
    EXPECT_EQ(owned.stock[i] - owned.stock[0], 128 * static_cast<std::ptrdiff_t>(i));
  }
  EXPECT_LE(owned.stock[2] + 128, owned.memory.end());
}

TEST(BufferStock, TakesSeveralBackAtOnceAndIgnoresWhatDoesNotExist) {
  OwnedPool owned(4);
  const std::uint32_t a = owned.stock.acquire(), b = owned.stock.acquire();
  const std::uint32_t returned[] = {kNoBuffer, a, 77, b, kNoBuffer};
  owned.stock.release(returned);
  EXPECT_EQ(owned.stock.available(), 4U);
  owned.stock.release({});
  EXPECT_EQ(owned.stock.available(), 4U);
}

TEST(BufferStock, AnEmptyStockHasNothingToGive) {
  OwnedPool owned(0);
  EXPECT_EQ(owned.stock.acquire(), kNoBuffer);
}

TEST(BufferStock, ThreadsNeverShareABuffer) {
  OwnedPool owned(8);
  std::atomic<int> clashes{0};
  const auto work = [&](std::uint8_t mark) {
    for (int i = 0; i < 20000; ++i) {
      const std::uint32_t taken[] = {owned.stock.acquire(), owned.stock.acquire()};
      for (const auto buffer : taken)
        if (buffer != kNoBuffer) *owned.stock[buffer] = std::byte{mark};
      for (const auto buffer : taken)
        if (buffer != kNoBuffer && *owned.stock[buffer] != std::byte{mark}) ++clashes;
      owned.stock.release(taken);
    }
  };
  std::thread one(work, 1), two(work, 2), three(work, 3);
  one.join();
  two.join();
  three.join();
  EXPECT_EQ(clashes.load(), 0);
  EXPECT_EQ(owned.stock.available(), 8U);
}

TEST(BufferStock, WhatAHolderHadCanBeReclaimedWhileOthersGoOn) {
  OwnedPool owned(8);
  for (int i = 0; i < 3; ++i) owned.stock.note(owned.stock.acquire(), 1);
  const std::uint32_t kept = owned.stock.acquire();
  owned.stock.note(kept, 2);
  owned.stock.note(kNoBuffer, 1);
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done.load()) {
      const std::uint32_t buffer = owned.stock.acquire();
      owned.stock.note(buffer, 0);
      owned.stock.release({&buffer, 1});
    }
  });
  owned.stock.reclaim(1);
  done.store(true);
  other.join();
  EXPECT_EQ(owned.stock.available(), 7U);
  owned.stock.reclaim(1);
  EXPECT_EQ(owned.stock.available(), 7U);
  owned.stock.release({&kept, 1});
  EXPECT_EQ(owned.stock.available(), 8U);
}

struct OwnedRing {
  explicit OwnedRing(std::size_t wanted)
      : memory(Ring<std::uint64_t>::bytes(wanted)), ring(memory.data(), wanted, true) {}
  // As one does who is killed before it has filled or freed what it claimed.
  void claim_to_push() { ++reinterpret_cast<std::atomic<std::uint64_t>&>(memory[0]); }
  void claim_to_pop() { ++reinterpret_cast<std::atomic<std::uint64_t>&>(memory[kCacheLine]); }

  AlignedArray<std::byte> memory;
  Ring<std::uint64_t> ring;
};

TEST(Ring, IsFirstInFirstOutAndSaysWhenItIsFullOrEmpty) {
  OwnedRing owned(4);
  std::uint64_t value = 0;
  EXPECT_FALSE(owned.ring.pop(value));
  EXPECT_TRUE(owned.ring.empty());
  for (std::uint64_t lap = 0; lap < 3; ++lap) {
    const auto capacity = Ring<std::uint64_t>::capacity_for(4);
    for (std::uint64_t i = 0; i < capacity; ++i) EXPECT_TRUE(owned.ring.push(lap * 100 + i));
    EXPECT_FALSE(owned.ring.push(999));
    for (std::uint64_t i = 0; i < capacity; ++i) {
      EXPECT_FALSE(owned.ring.empty());
      EXPECT_TRUE(owned.ring.pop(value));
      EXPECT_EQ(value, lap * 100 + i);
    }
    EXPECT_FALSE(owned.ring.pop(value));
    EXPECT_TRUE(owned.ring.empty());
  }
}

TEST(Ring, HoldsAtLeastWhatWasWanted) {
  for (std::size_t wanted = 1; wanted < 70; ++wanted)
    EXPECT_GE(Ring<std::uint64_t>::capacity_for(wanted), wanted);
}

TEST(Ring, GoesOnAfterProducersThatWereKilledAtIt) {
  OwnedRing owned(4);
  std::uint64_t value = 0;
  for (std::uint64_t lap = 0; lap < 20; ++lap) {
    EXPECT_TRUE(owned.ring.push(lap));
    owned.claim_to_push();
    EXPECT_TRUE(owned.ring.push(100 + lap));
    owned.claim_to_push();
    EXPECT_TRUE(owned.ring.pop(value));
    EXPECT_EQ(value, lap);
    EXPECT_FALSE(owned.ring.pop(value));  // what was claimed first is waited for
    owned.ring.fill_claimed(999);
    for (const std::uint64_t next : {std::uint64_t{999}, 100 + lap, std::uint64_t{999}}) {
      EXPECT_TRUE(owned.ring.pop(value));
      EXPECT_EQ(value, next);
    }
    owned.ring.fill_claimed(999);
    EXPECT_FALSE(owned.ring.pop(value));
    EXPECT_TRUE(owned.ring.empty());
  }
}

TEST(Ring, GoesOnAfterConsumersThatWereKilledAtIt) {
  OwnedRing owned(4);
  std::uint64_t value = 0;
  for (std::uint64_t lap = 0; lap < 20; ++lap) {
    std::uint64_t next = 0;
    while (owned.ring.push(next)) ++next;
    EXPECT_EQ(next, owned.ring.capacity());
    owned.claim_to_pop();
    EXPECT_TRUE(owned.ring.pop(value));
    owned.claim_to_pop();
    EXPECT_FALSE(owned.ring.push(next));  // what was claimed first is waited for
    std::vector<std::uint64_t> taken;
    for (int again = 0; again < 2; ++again)
      owned.ring.free_claimed([&](std::uint64_t one) { taken.push_back(one); });
    std::sort(taken.begin(), taken.end());
    EXPECT_TRUE((taken == std::vector<std::uint64_t>{0, 2}));
    for (std::uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(owned.ring.push(next++));
    EXPECT_FALSE(owned.ring.push(next));
    for (std::uint64_t i = 3; i < next; ++i) {
      EXPECT_TRUE(owned.ring.pop(value));
      EXPECT_EQ(value, i);
    }
    EXPECT_FALSE(owned.ring.pop(value));
    EXPECT_TRUE(owned.ring.empty());
  }
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
