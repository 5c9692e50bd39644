// The loads of somebody else on a card. All of it is hardware's doing, so without --device there is
// little to see: that it says so.
#include "emulator/background/background.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "base/cuda/partition.hpp"
#include "support/place.hpp"

namespace {

using namespace carillon;
using namespace carillon::emulator;

using Sms = std::vector<std::uint32_t>;

bool on_device() { return test::wheres()[0] == test::Where::Device; }
cuda::Device device() { return cuda::look().devices[0]; }

Sms see(cuda::SmProbe& probe, cuda::Stream stream) {
  Sms sms;
  const cuda::Status seen = probe.see(stream, sms);
  EXPECT_TRUE(seen.ok()) << seen.text();
  return sms;
}

Sms common(const Sms& a, const Sms& b) {
  Sms both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

TEST(Spinners, NobodyElseRunsOnTheirSms) {
  if (!on_device()) GTEST_SKIP() << "needs --device";
  const std::uint32_t all = device().sms;
  cuda::SmProbe probe(2 * all);
  EXPECT_EQ(see(probe, nullptr).size(), all);
  for (const std::uint32_t taken : {1U, all / 2, all * 4 / 5, all - 1}) {
    Spinners spinners(taken);
    ASSERT_EQ(spinners.why(), "");
    EXPECT_EQ(spinners.sms().size(), taken);
    const Sms left = see(probe, nullptr);
    EXPECT_EQ(left.size(), all - taken);
    EXPECT_TRUE(common(left, spinners.sms()).empty()) << taken << " are taken";
    EXPECT_TRUE(spinners.spinning());
    const cuda::Status stopped = spinners.stop();
    EXPECT_TRUE(stopped.ok()) << stopped.text();
    EXPECT_FALSE(spinners.spinning());
  }
  EXPECT_EQ(see(probe, nullptr).size(), all);
}

TEST(Spinners, TakeSmsOfOnePartitionOnly) {
  if (!on_device()) GTEST_SKIP() << "needs --device";
  const cuda::Partitions partitions(device(), 2);
  ASSERT_EQ(partitions.why(), "");
  cuda::SmProbe probe(2 * device().sms);
  const Sms first = see(probe, partitions.stream(0)), second = see(probe, partitions.stream(1));
  Spinners spinners(partitions.sms(0) - 1, partitions.stream(0));
  ASSERT_EQ(spinners.why(), "");
  EXPECT_TRUE(common(spinners.sms(), second).empty());
  EXPECT_EQ(see(probe, partitions.stream(0, true)).size(), 1U);
  EXPECT_TRUE(see(probe, partitions.stream(1)) == second);
  EXPECT_TRUE(spinners.spinning());
}

void expect_always_queued(std::uint32_t kernels, cuda::Stream stream) {
  Gemms gemms(kernels, stream);
  ASSERT_TRUE(gemms.status().ok()) << gemms.status().text();
  const auto most = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (gemms.ended() < 100 && std::chrono::steady_clock::now() < most)
    ASSERT_TRUE(gemms.refill().ok()) << gemms.status().text();
  EXPECT_GE(gemms.ended(), 100U);
  const cuda::Status drained = gemms.drain();
  EXPECT_TRUE(drained.ok()) << drained.text();
  const std::uint64_t before = gemms.ended();
  (void)gemms.refill();  // sees that all of those are over
  EXPECT_EQ(gemms.ended(), before + kernels);
}

TEST(Gemms, SoManyAreAlwaysQueued) {
  if (!on_device()) GTEST_SKIP() << "needs --device";
  const cuda::Partitions partitions(device(), 2);
  ASSERT_EQ(partitions.why(), "");
  for (const cuda::Stream stream :
       {cuda::Stream{}, partitions.stream(0), partitions.stream(1, true)})
    for (const std::uint32_t kernels : {1U, 10U, 100U}) expect_always_queued(kernels, stream);
}

TEST(Background, WithoutADeviceItSaysWhatIsMissing) {
  if (!cuda::look().devices.empty()) GTEST_SKIP() << "there is a device";
  Spinners spinners(4);
  EXPECT_NE(spinners.why(), "");
  EXPECT_FALSE(spinners.spinning());
  EXPECT_TRUE(spinners.sms().empty());
  Gemms gemms(3);
  EXPECT_FALSE(gemms.status().ok());
  EXPECT_FALSE(gemms.refill().ok());
  EXPECT_EQ(gemms.ended(), 0U);
}

}  // namespace
