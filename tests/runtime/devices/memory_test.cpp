// Blocks of a device's memory: what was promised is there, never twice, and comes back.
#include "runtime/devices/memory.hpp"

#include <array>
#include <map>
#include <vector>

#include "base/random.hpp"
#include "support/test.hpp"

namespace carillon::runtime {
namespace {

constexpr std::uint64_t kSizes[] = {1000, 256, 70'000};

TEST(DeviceMemory, HoldsAsManyBlocksAsItsBytesAllow) {
  DeviceMemory memory(10 * 1024 + 1, std::span(kSizes).first(1));
  const std::uint32_t four[] = {4}, three[] = {3};
  memory.reserve(four);
  EXPECT_TRUE(memory.fits(four));
  memory.reserve(four);
  EXPECT_FALSE(memory.fits(three));
  memory.release(0);
  EXPECT_TRUE(memory.fits(three));
  EXPECT_EQ(memory.in_use(), 0U);
}

TEST(DeviceMemory, WhatAClassHasItKeeps) {
  DeviceMemory memory(2048, std::span(kSizes).first(2));
  const std::uint32_t large[] = {2, 0}, small[] = {0, 1};
  memory.reserve(large);
  memory.release(0);
  memory.release(0);
  EXPECT_FALSE(memory.fits(small));
  EXPECT_TRUE(memory.fits(large));
}

struct Held {
  std::uint32_t of;
  DeviceMemory::Address at;
};

// Those that reserve take what they were promised, in any order and number, and give it back.
struct Owner {
  std::array<std::uint32_t, 3> reserved{};
  std::array<std::uint32_t, 3> taken{};
  std::vector<Held> blocks;
};

class Traffic {
 public:
  explicit Traffic(std::uint64_t seed) : random_(seed, 0) {}

  void step() {
    Owner& owner = owners_[random_.next() % owners_.size()];
    if (owner.reserved == std::array<std::uint32_t, 3>{})
      reserve(owner);
    else if (random_.uniform() < 0.7)
      take(owner);
    else
      leave(owner);
  }
  void leave_all() {
    for (Owner& owner : owners_) leave(owner);
  }
  const DeviceMemory& memory() const { return memory_; }
  std::uint32_t refused() const { return refused_; }

 private:
  void reserve(Owner& owner) {
    std::array<std::uint32_t, 3> blocks;
    for (std::uint32_t& count : blocks) count = static_cast<std::uint32_t>(random_.next() % 8);
    if (!memory_.fits(blocks)) {
      ++refused_;
      return;
    }
    memory_.reserve(blocks);
    owner.reserved = blocks;
  }

  void take(Owner& owner) {
    const auto of = static_cast<std::uint32_t>(random_.next() % 3);
    if (owner.taken[of] == owner.reserved[of]) return;
    ++owner.taken[of];
    const DeviceMemory::Address at = memory_.take(of);
    EXPECT_EQ(at % DeviceMemory::kAlignment, 0U);
    EXPECT_LE(at + kSizes[of], kBytes);
    const auto after = held_.lower_bound(at);
    EXPECT_TRUE(after == held_.end() || at + kSizes[of] <= after->first);
    EXPECT_TRUE(after == held_.begin() || std::prev(after)->second <= at);
    held_[at] = at + kSizes[of];
    owner.blocks.push_back({of, at});
  }

  void leave(Owner& owner) {
    for (const Held& block : owner.blocks) {
      held_.erase(block.at);
      memory_.give(block.of, block.at);
    }
    for (std::uint32_t of = 0; of < 3; ++of)
      for (std::uint32_t n = 0; n < owner.reserved[of]; ++n) memory_.release(of);
    owner = {};
  }

  static constexpr std::uint64_t kBytes = 1'500'000;
  Random random_;
  DeviceMemory memory_{kBytes, kSizes};
  std::array<Owner, 6> owners_;
  std::map<DeviceMemory::Address, DeviceMemory::Address> held_;
  std::uint32_t refused_ = 0;
};

TEST(DeviceMemory, BlocksNeverOverlapAndAllComeBack) {
  std::uint32_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Traffic traffic(seed);
    for (int n = 0; n < 5000; ++n) traffic.step();
    traffic.leave_all();
    EXPECT_EQ(traffic.memory().in_use(), 0U);
    EXPECT_GT(traffic.memory().most_in_use(), 100'000U);
    refused += traffic.refused();
  }
  EXPECT_GT(refused, 0U);
}

}  // namespace
}  // namespace carillon::runtime
