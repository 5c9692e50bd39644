#include "base/cuda/partition.hpp"

#include <cstdlib>
#include <functional>
#include <utility>

#include "support/test.hpp"

namespace carillon::cuda {
namespace {

using Seen = std::vector<std::vector<std::uint32_t>>;
using Promised = std::vector<std::uint32_t>;

void expect_split(const SmUnits& card, std::uint32_t parts, std::uint32_t sms, std::uint32_t rest) {
  const Split found = split(card, parts);
  EXPECT_EQ(found.why, "") << card.sms << " SMs by " << parts;
  EXPECT_EQ(found.parts, parts) << card.sms << " SMs";
  EXPECT_EQ(found.sms, sms) << card.sms << " SMs by " << parts;
  EXPECT_EQ(found.rest, rest) << card.sms << " SMs by " << parts;
}

TEST(Partition, AHopperIsDividedInUnitsOfEight) {
  const SmUnits h100 = {132, 8, 8};
  expect_split(h100, 1, 128, 4);
  expect_split(h100, 2, 64, 4);
  expect_split(h100, 4, 32, 4);
  expect_split(h100, 8, 16, 4);
  expect_split(h100, 16, 8, 4);
}

TEST(Partition, AnAmpereIsDividedInPairs) {
  const SmUnits a100 = {108, 4, 2};
  expect_split(a100, 2, 54, 0);
  expect_split(a100, 4, 26, 4);
  expect_split(a100, 8, 12, 12);
}

TEST(Partition, OfASmallHopperMoreIsLeft) {
  const SmUnits part = {78, 8, 8};
  expect_split(part, 2, 32, 14);
  expect_split(part, 4, 16, 14);
  expect_split(part, 8, 8, 14);
}

TEST(Partition, WhatIsImpossibleIsSaidWithWhatIsPossible) {
  EXPECT_EQ(split({78, 8, 8}, 10).why,
            "10 partitions of 78 SMs: each needs 8 at least; at most 9 partitions can be made");
  EXPECT_EQ(split({12, 8, 8}, 2).why,
            "2 partitions of 12 SMs: each needs 8 at least; at most 1 partition can be made");
  EXPECT_EQ(split({6, 8, 8}, 1).why,
            "1 partition of 6 SMs: each needs 8 at least; at most 0 partitions can be made");
  EXPECT_EQ(split({132, 8, 8}, 0).why, "0 partitions: a card is at least 1");
  const Split none = split({78, 8, 8}, 10);
  EXPECT_EQ(none.parts, 0U);
  EXPECT_EQ(none.sms, 0U);
  EXPECT_EQ(none.rest, 78U);
}

TEST(Partition, TheLeastIsAMultipleOfTheStep) {
  EXPECT_EQ(split({20, 4, 8}, 3).why,
            "3 partitions of 20 SMs: each needs 8 at least; at most 2 partitions can be made");
  expect_split({20, 4, 8}, 2, 8, 4);
}

TEST(Partition, OfEverySplitAllSmsAreAccountedFor) {
  for (std::uint32_t sms = 1; sms <= 160; ++sms)
    for (const auto& [least, step] : {std::pair{1U, 1U}, {2U, 2U}, {4U, 2U}, {8U, 8U}})
      for (std::uint32_t parts = 1; parts <= 16; ++parts) {
        const Split found = split({sms, least, step}, parts);
        EXPECT_EQ(found.why.empty(), parts <= sms / least) << sms << " by " << parts;
        EXPECT_EQ(found.parts * found.sms + found.rest, sms);
        if (!found.why.empty()) continue;
        EXPECT_GE(found.sms, least);
        EXPECT_EQ(found.sms % step, 0U);
        EXPECT_LT(found.rest, parts * step);  // none could have been larger
      }
}

// Of drivers, by the sizes of what a chip keeps together and the unit that they round up to.
std::function<std::uint32_t(std::uint32_t)> driver(const std::vector<std::uint32_t>& clusters,
                                                   std::uint32_t unit) {
  return [=](std::uint32_t least) {
    std::uint32_t units = 0;
    for (const std::uint32_t sms : clusters) units += sms / unit;
    return units / ((least + unit - 1) / unit);
  };
}

TEST(Partition, WhatTheDriverRoundsUpIsFoundByAsking) {
  const std::vector<std::uint32_t> hopper = {16, 16, 16, 16, 16, 16, 18, 18};  // 132
  const SmUnits told = {132, 8, 2};  // it tells less than it rounds to
  EXPECT_EQ(split(told, 2).sms, 66U);
  EXPECT_EQ(most_sms(split(told, 2), told, driver(hopper, 8)), 64U);
  EXPECT_EQ(most_sms(split(told, 4), told, driver(hopper, 8)), 32U);
  EXPECT_EQ(most_sms(split(told, 8), told, driver(hopper, 8)), 16U);
  EXPECT_EQ(most_sms(split({132, 8, 8}, 8), {132, 8, 8}, driver(hopper, 8)), 16U);
}

TEST(Partition, AChipInUnevenPiecesGivesSmallerPartitions) {
  const std::vector<std::uint32_t> pieces = {14, 14, 14, 12, 12, 12};  // 78: 6 units of 8
  const SmUnits card = {78, 8, 8};
  EXPECT_EQ(most_sms(split(card, 2), card, driver(pieces, 8)), 24U);
  EXPECT_EQ(most_sms(split(card, 4), card, driver(pieces, 8)), 8U);
  EXPECT_EQ(most_sms(split(card, 8), card, driver(pieces, 8)), 0U);  // arithmetic said 8×8
}

TEST(Partition, DisjointPartitionsOnNoMoreSmsThanTheyHavePass) {
  EXPECT_EQ(compare(Seen{{0, 1, 2, 3}, {4, 5, 6, 7}}, Promised{4, 4}), "");
  EXPECT_EQ(compare(Seen{{0, 2}, {1, 3, 5}}, Promised{4, 4}), "");  // not all of them were needed
  EXPECT_EQ(compare(Seen{{7, 7, 7, 8}}, Promised{2}), "");
}

TEST(Partition, WhatKernelsSawThatShouldNotBeIsNamed) {
  EXPECT_EQ(compare(Seen{{0, 1}, {2, 1}}, Promised{2, 2}),
            "partition 1 ran on SM 1, as did partition 0");
  EXPECT_EQ(compare(Seen{{0, 1}, {2, 3, 4}}, Promised{2, 2}),
            "partition 1 ran on 3 SMs, and has 2");
  EXPECT_EQ(compare(Seen{{0, 1}, {}}, Promised{2, 2}), "partition 1 ran on no SM");
  EXPECT_EQ(compare(Seen{{0, 1}}, Promised{2, 2}), "1 partition ran, and 2 were promised");
}

TEST(Partition, ManyHardwareQueuesAreAskedForUnlessSomebodyChose) {
  ASSERT_EQ(unsetenv("CUDA_DEVICE_MAX_CONNECTIONS"), 0);
  use_all_queues();
  EXPECT_EQ(std::string(std::getenv("CUDA_DEVICE_MAX_CONNECTIONS")), "32");
  ASSERT_EQ(setenv("CUDA_DEVICE_MAX_CONNECTIONS", "4", 1), 0);
  use_all_queues();
  EXPECT_EQ(std::string(std::getenv("CUDA_DEVICE_MAX_CONNECTIONS")), "4");
}

TEST(Partition, WithoutADeviceThereAreNoneAndTheReasonIsSaid) {
  if (!look().devices.empty()) GTEST_SKIP() << "there is a device";
  Partitions none(Device{}, 2);
  EXPECT_NE(none.why(), "");
  EXPECT_EQ(none.parts(), 0U);
  const Partitions moved = std::move(none);
  EXPECT_NE(moved.why(), "");
  EXPECT_EQ(moved.parts(), 0U);

  SmProbe probe(4);
  std::vector<std::uint32_t> sms = {1, 2};
  EXPECT_FALSE(probe.see(nullptr, sms).ok());
}

}  // namespace
}  // namespace carillon::cuda
