// Partitions of a card, by what kernels see. All of it is hardware's doing: without --device
// nothing is tested here, and partition_test.cpp has what can be.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/cuda/driver.hpp"
#include "base/cuda/partition.hpp"
#include "support/place.hpp"

namespace {

using namespace carillon;

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

void expect_true_partitions(std::uint32_t parts) {
  const cuda::Partitions partitions(device(), parts);
  ASSERT_EQ(partitions.why(), "");
  ASSERT_EQ(partitions.parts(), parts);
  cuda::SmProbe probe(2 * device().sms);
  std::vector<Sms> seen;
  Sms promised;
  for (std::uint32_t part = 0; part < parts; ++part) {
    promised.push_back(partitions.sms(part));
    seen.push_back(see(probe, partitions.stream(part)));
    EXPECT_EQ(seen[part].size(), promised[part]) << "partition " << part << " of " << parts;
    EXPECT_TRUE(see(probe, partitions.stream(part, true)) == seen[part]) << "urgent";
  }
  EXPECT_EQ(cuda::compare(seen, promised), "");
}

TEST(Partitions, HaveSmsOfTheirOwn) {
  if (!on_device()) GTEST_SKIP() << "needs --device";
  for (const std::uint32_t parts : {2U, 4U, 8U})
    if (device().sms >= 8 * parts) expect_true_partitions(parts);
}

TEST(Partitions, MoreThanThereCanBeAreRefusedInWords) {
  if (!on_device()) GTEST_SKIP() << "needs --device";
  const cuda::Partitions none(device(), device().sms + 1);
  EXPECT_NE(none.why(), "");
  EXPECT_EQ(none.parts(), 0U);
}

TEST(Partitions, AGraphRunsWhereItWasCaptured) {
  if (!on_device()) GTEST_SKIP() << "needs --device";
  const cuda::Partitions partitions(device(), 2);
  ASSERT_EQ(partitions.why(), "");
  cuda::SmProbe probe(2 * device().sms);
  const Sms first = see(probe, partitions.stream(0)), second = see(probe, partitions.stream(1));
  EXPECT_TRUE(common(first, second).empty());
  cuda::SmProbe captured(2 * device().sms);
  const cuda::Graph graph([&](cuda::Stream stream) { return captured.launch(stream); },
                          partitions.stream(0));
  ASSERT_TRUE(graph.status().ok()) << graph.status().text();
  const cuda::Status launched = graph.launch(partitions.stream(1));
  ASSERT_TRUE(launched.ok()) << launched.text();
  see(probe, partitions.stream(1));  // which waits for the graph
  EXPECT_TRUE(captured.sms() == first);
}

bool told_in_time(const cuda::Driver& driver, std::uint16_t device, std::uint32_t value) {
  const auto most = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (driver.told(device, 0) != value)
    if (std::chrono::steady_clock::now() > most) return false;
  return true;
}

TEST(Partitions, AreDevicesThatWaitForEachOther) {
  if (!on_device()) GTEST_SKIP() << "needs --device";
  cuda::Partitions partitions(device(), 2);
  ASSERT_EQ(partitions.why(), "");
  cuda::SmProbe first(2 * device().sms), second(2 * device().sms);
  const Sms promised = {partitions.sms(0), partitions.sms(1)};
  cuda::Status status;
  const auto driver = cuda::make_driver(std::move(partitions), device(),
                                        {.urgent = 1, .background = 1, .words = 1}, status);
  ASSERT_TRUE(status.ok()) << status.text();
  ASSERT_EQ(driver->devices(), 2);
  // The second waits for the first's word, and tells when it has run.
  EXPECT_TRUE(driver->await(1, 0, 0, 0, 5).ok());
  EXPECT_TRUE(second.launch(driver->stream(1, 0)).ok());
  EXPECT_TRUE(driver->tell(1, 0, 0, 6).ok());
  EXPECT_EQ(driver->told(1, 0), 0U);
  EXPECT_TRUE(first.launch(driver->stream(0, 1)).ok());
  EXPECT_TRUE(driver->tell(0, 1, 0, 5).ok());
  EXPECT_TRUE(told_in_time(*driver, 1, 6));
  EXPECT_TRUE(driver->revive(0).ok() && driver->revive(1).ok());
  EXPECT_EQ(cuda::compare(std::vector<Sms>{first.sms(), second.sms()}, promised), "");
}

TEST(Partitions, ThatThereAreNotAreNoDevices) {
  cuda::Status status;
  EXPECT_TRUE(cuda::make_driver(cuda::Partitions(), cuda::Device{}, {}, status) == nullptr);
  EXPECT_FALSE(status.ok());
}

}  // namespace
