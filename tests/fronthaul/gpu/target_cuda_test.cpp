// Known blocks through registered memory into a device and checked there. Needs a device: on the
// host nothing registers memory, and measure_test.cpp has what comes before.
#include "fronthaul/gpu/target.hpp"

#include <cstring>
#include <iostream>

#include "fronthaul/gpu/measure.hpp"
#include "fronthaul/gpu/paths.hpp"
#include "support/place.hpp"

namespace {

using namespace carillon;
using namespace carillon::fronthaul::gpu;

constexpr const char* kNames[] = {"staged-host", "pinned-host", "staged", "pinned-copy",
                                  "pinned-read"};

TEST(DeviceTarget, WithoutADeviceSaysWhy) {
  if (test::wheres()[0] == test::Where::Device) return;
  const cuda::Machine machine = cuda::look();
  if (!machine.devices.empty()) return;
  BlockRing ring(2, 4096);
  Status status;
  EXPECT_TRUE(make_device_target({}, ring, Access::Copy, status) == nullptr);
  EXPECT_FALSE(status.ok());
  EXPECT_FALSE(status.text().empty());
}

GPU_TEST(DeviceTarget, EveryBlockArrivesWholeByEveryPath) {
  if (!place.on_device()) return;
  const cuda::Machine machine = cuda::look();
  for (const Path path : {Path::Staged, Path::PinnedCopy, Path::PinnedRead})
    for (const std::uint32_t channels : {1U, 8U})
      for (const std::uint32_t bytes : {64U, 4096U, 1U << 20, 16U << 20}) {
        const IngestResult result =
            measure({path, channels, bytes, 0.05, 0, {}}, &machine.devices[0]);
        EXPECT_EQ(result.error, "");
        EXPECT_GE(result.checked, result.blocks + 2 * std::uint64_t{result.slots});
        EXPECT_EQ(result.wrong, 0U) << bytes;
        EXPECT_EQ(result.lost_samples, 0U);
        EXPECT_EQ(result.out_of_order, 0U);
        std::cout << kNames[static_cast<std::size_t>(path)] << ", " << channels << " x " << bytes
                  << " B: " << static_cast<double>(result.bytes) / result.seconds / 1e6 << " MB/s, "
                  << result.cpu_seconds / result.seconds << " cores\n";
      }
}

// Where a card shares the GPU's root complex; elsewhere the reason is told, which is no failure.
GPU_TEST(DeviceTarget, EveryBlockArrivesWholeThroughACard) {
  if (!place.on_device()) return;
  const Surroundings around = look_around();
  for (const PathState& state : paths_of(around)) {
    if (state.name != "dma-buf" && state.name != "peermem") continue;
    if (!state.ready) {
      std::cout << state.name << ": " << state.why << "\n";
      continue;
    }
    const Path path = state.name == "dma-buf" ? Path::DmaBuf : Path::Peermem;
    for (const std::uint32_t bytes : {64U, 4096U, 1U << 20, 16U << 20}) {
      const IngestPlan plan{path, 4, bytes, 0.05, 0, card_of(around)};
      const IngestResult result = measure(plan, &around.cuda.devices[0]);
      EXPECT_EQ(result.error, "");
      EXPECT_EQ(result.wrong, 0U) << bytes;
      EXPECT_EQ(result.lost_samples + result.out_of_order, 0U);
      std::cout << state.name << ", 4 x " << bytes
                << " B: " << static_cast<double>(result.bytes) / result.seconds / 1e6 << " MB/s\n";
    }
  }
}

GPU_TEST(DeviceTarget, ADeviceFindsADamagedBlockAndAGap) {
  if (!place.on_device()) return;
  const cuda::Machine machine = cuda::look();
  for (const Access access : {Access::Copy, Access::Read}) {
    BlockRing ring(3, 4096);
    Status status;
    const auto target = make_device_target(machine.devices[0], ring, access, status);
    ASSERT_TRUE(target != nullptr);
    for (std::uint32_t slot = 0; slot < 3; ++slot) {
      std::memset(ring.payload(slot), 5, 4096);
      ring.meta()[slot] = {.first_sample = slot == 2 ? 4096U : 1024U * slot, .samples = 1024};
      if (slot == 1) ring.payload(slot)[9] = std::byte{6};
      EXPECT_EQ(target->take(slot), "");
    }
    for (std::uint32_t slot = 0; slot < 3; ++slot) EXPECT_EQ(target->finish(slot), "");
    EXPECT_NE(target->check(1).plain, target->check(0).plain);
    EXPECT_EQ(target->check(2).plain, target->check(0).plain);
    EXPECT_TRUE(target->check(2).stamp == Stamp::Gap);
    EXPECT_EQ(target->check(2).missing, 2048U);
  }
}

}  // namespace
