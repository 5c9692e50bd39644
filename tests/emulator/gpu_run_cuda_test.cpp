// A cell on GPUs from memory: on imaginary ones, and where there is one, on this machine's.
#include <memory>
#include <stdexcept>
#include <string>

#include "emulator/gpu_run.hpp"
#include "frame/cell.hpp"
#include "frame/gpu/working_gpus.hpp"
#include "support/place.hpp"

namespace {

using namespace carillon;
using namespace carillon::emulator;

frame::FrameFormat format() {
  frame::FrameFormat format = test::small_format();
  format.schedule = "PPUUUGGGGGGGGGGDDD";
  format.symbols_per_slot = 18;
  format.uplink.block = frame::BlockSpan::Symbol;
  return format;
}

frame::GpuPool imaginary(std::uint16_t devices) {
  static std::atomic<test::Wish> none{test::Wish::None};
  return test::working_gpus(devices, none);
}

void expect_all_good(const GpuRunResult& result, std::uint64_t frames) {
  ASSERT_EQ(result.frames.size(), frames);
  EXPECT_GT(result.blocks, 0U);
  for (const GpuFrameRecord& record : result.frames) {
    EXPECT_TRUE(record.done);
    EXPECT_EQ(record.failed, 0U);
    EXPECT_GE(record.devices, 1U);
    EXPECT_GT(record.latency, 0);
  }
}

TEST(GpuRun, EveryBlockOfAFrameAtATimeIsWhatWasSent) {
  const frame::Frame frame(format());
  for (const std::uint16_t devices : std::array<std::uint16_t, 2>{1, 2}) {
    GpuRunOptions options;
    options.frames = 12;
    options.at_once = true;
    expect_all_good(run_on_gpus(frame, test::clear_air(), imaginary(devices), options), 12);
  }
}

TEST(GpuRun, CellsShareTheDevices) {
  const frame::Frame frame(format());
  GpuRunOptions options;
  options.frames = 6;
  options.cells = 5;
  options.at_once = true;
  expect_all_good(run_on_gpus(frame, test::clear_air(), imaginary(2), options), 30);
  for (const std::uint16_t impossible : std::array<std::uint16_t, 2>{0, 65}) {
    options.cells = impossible;
    EXPECT_THROW(run_on_gpus(frame, test::clear_air(), imaginary(1), options),
                 std::invalid_argument);
  }
}

TEST(GpuRun, FramesComeAtThePaceOfTheAirAndMissTheirDeadlinesIfTheyMust) {
  const frame::Frame frame(format());
  GpuRunOptions options;
  options.frames = 12;
  options.deadline = frame.duration() + 2 * kMillisecond;
  const Tick start = now();
  const GpuRunResult result = run_on_gpus(frame, test::clear_air(), imaginary(1), options);
  EXPECT_GE(now() - start, 11 * frame.duration());
  ASSERT_EQ(result.frames.size(), 12U);
  for (const GpuFrameRecord& record : result.frames) {  // emulated kernels are slow
    if (record.done) {
      EXPECT_EQ(record.failed, 0U);
    }
  }
}

TEST(GpuRun, NoiseIsSeenInTheBlocks) {
  const frame::Frame frame(format());
  GpuRunOptions options;
  options.frames = 4;
  options.at_once = true;
  const GpuRunResult result = run_on_gpus(frame, test::clear_air(-10), imaginary(1), options);
  std::uint32_t failed = 0;
  for (const GpuFrameRecord& record : result.frames) failed += record.failed;
  EXPECT_EQ(failed, 4 * result.blocks);
}

TEST(GpuRun, StopsWhenItIsTold) {
  const frame::Frame frame(format());
  GpuRunOptions options;
  options.frames = 1'000'000;
  options.at_once = true;
  options.progress = [](std::uint64_t ended) { return ended < 3; };
  const GpuRunResult result = run_on_gpus(frame, test::clear_air(), imaginary(1), options);
  EXPECT_GE(result.frames.size(), 3U);
  EXPECT_LT(result.frames.size(), 1000U);
}

TEST(GpuRun, AnUnknownPolicyIsNamed) {
  const frame::Frame frame(format());
  GpuRunOptions options;
  options.policy = "luck";
  EXPECT_THROW(run_on_gpus(frame, test::clear_air(), imaginary(1), options), std::invalid_argument);
}

GPU_TEST(GpuRun, RunsOnThisMachinesDevices) {
  if (!place.on_device()) return;
  const frame::Frame frame(format());
  GpuRunOptions options;
  options.frames = 200;
  options.at_once = true;
  for (const std::uint32_t partitions : {1U, 2U})
    for (const char* policy : {"adaptive", "task-level", "scoreboard"}) {
      options.policy = policy;
      expect_all_good(
          run_on_gpus(frame, test::clear_air(), frame::this_machines(partitions, 8), options), 200);
    }
}

}  // namespace
