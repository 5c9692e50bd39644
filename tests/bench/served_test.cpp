// Cells as a benchmark has them served, here by imaginary devices.
#include "cuda/served.hpp"

#include "cuda/cell_format.hpp"
#include "cuda/goals.hpp"
#include "frame/cell.hpp"
#include "frame/gpu/working_gpus.hpp"
#include "runtime/policies/pool/pool_policies.hpp"
#include "support/watched.hpp"

namespace carillon::bench {
namespace {

// A tiny cell in long frames, for kernels that the host emulates.
frame::FrameFormat format() {
  frame::FrameFormat format = test::small_format();
  format.schedule = "PPU" + std::string(25, 'G');
  format.symbols_per_slot = 28;
  format.uplink.block = frame::BlockSpan::Symbol;
  return format;
}

struct Played {
  explicit Played(const frame::FrameFormat& format, double snr_db = 30)
      : frame(format), air(frame, test::clear_air(snr_db)) {}
  frame::Frame frame;
  emulator::RecordedAir air;
};

frame::GpuPool imaginary(std::uint16_t devices) {
  static std::atomic<test::Wish> none{test::Wish::None};
  return test::working_gpus(devices, none);
}

TEST(Served, AllFramesButThoseOfTheWarmUpCount) {
  const Played cell(format());
  const Serving serving = {.cells = 8, .frames = 10, .warm_up = 3, .deadline = 10 * kSecond};
  const Served served = serve(cell.frame, cell.air, imaginary(1), serving);
  EXPECT_EQ(served.frames(), 80U);
  EXPECT_GT(served.in_time, 0U);
  EXPECT_EQ(served.wrong_blocks, 0U);
  EXPECT_NEAR(served.seconds, 10e-9 * static_cast<double>(cell.frame.duration()), 1e-9);
  EXPECT_TRUE(std::ranges::is_sorted(served.latency));
  EXPECT_GT(served.latency.front(), 0);
}

TEST(Served, AFrameThatIsNotDoneHasTheLatencyThatItsDeadlineLeaves) {
  const Played cell(format());
  Serving serving = {.frames = 5, .warm_up = 0};
  serving.deadline = cell.frame.symbol(2).end + 1;  // nothing can be done in 1 ns
  const Served served = serve(cell.frame, cell.air, imaginary(1), serving);
  EXPECT_EQ(served.in_time, 0U);
  EXPECT_EQ(served.latency, std::vector<double>(5, 1e-6));
  EXPECT_FALSE(sustained(served));
}

TEST(Served, BlocksThatAreNotWhatWasSentAreCounted) {
  const Played cell(format(), -10);
  const Serving serving = {.frames = 6, .warm_up = 0, .deadline = 10 * kSecond};
  const Served served = serve(cell.frame, cell.air, imaginary(1), serving);
  EXPECT_EQ(served.in_time, 0U);
  EXPECT_GE(served.wrong_blocks, 2U);  // of the first frame, which found room
}

TEST(Served, WithoutADeviceItIsSaidWhy) {
  const Played cell(format());
  static std::atomic<test::Wish> lost{test::Wish::None};
  frame::GpuPool pool = test::working_gpus(1, lost);
  lost = test::Wish::Lose;
  const Served served = serve(cell.frame, cell.air, pool, {.frames = 5000});
  EXPECT_EQ(served.frames(), 0U);
  EXPECT_TRUE(served.why.starts_with("no device is left: ")) << served.why;
  pool.driver = [](const cuda::DriverOptions&) -> std::unique_ptr<cuda::Driver> {
    throw std::runtime_error("streams and events: none");
  };
  EXPECT_EQ(serve(cell.frame, cell.air, pool, {}).why, "streams and events: none");
}

TEST(Served, FramesOneAfterTheOtherTakeTheTimeBetweenTheirEnds) {
  const Played cell(format());
  const Tick begin = now();
  const Serving serving = {.frames = 20, .warm_up = 2, .deadline = 1};
  const FrameTime time = time_of_a_frame(cell.frame, cell.air, imaginary(2), serving);
  EXPECT_GT(time.us, 0);
  EXPECT_GE(time.devices, 1);
  EXPECT_LE(time.devices, 2);
  EXPECT_LT(19 * time.us, static_cast<double>(now() - begin) / kMicrosecond);
}

TEST(Served, FramesOfSeveralCellsHaveATime) {
  const Played cell(format());
  const Serving serving = {.cells = 3, .frames = 4, .warm_up = 1, .policy = "scoreboard"};
  EXPECT_GT(time_of_a_frame(cell.frame, cell.air, imaginary(2), serving).us, 0);
}

// As bench/cuda/divided.cpp has them, with room for two frames of each cell.
TEST(Served, EveryPolicyDividesFramesBetweenUpToEightDevices) {
  unsigned which = 0;
  for (const char* schedule : {"PPUU", "PPDD"}) {
    frame::FrameFormat divided = test::small_format();
    divided.schedule = schedule;
    divided.symbols_per_slot = 4;
    divided.uplink.block = frame::BlockSpan::Symbol;
    divided.downlink.block = frame::BlockSpan::Symbol;
    divided.deadlines.precoder_age = 1;
    divided.ring = 2;
    const Played cell(divided);
    for (const std::string_view policy : runtime::pool_policy_names())
      for (const std::uint16_t devices : {std::uint16_t{1}, std::uint16_t{2}, std::uint16_t{8}})
        for (const std::uint16_t cells : {std::uint16_t{1}, std::uint16_t{8}}) {
          if (test::left_out(which++)) continue;
          const Serving serving = {
              .cells = cells, .frames = 3, .warm_up = 1, .policy = std::string(policy)};
          EXPECT_GT(time_of_a_frame(cell.frame, cell.air, imaginary(devices), serving).us, 0)
              << policy << ", " << schedule << ", " << devices << " devices, " << cells << " cells";
        }
  }
}

TEST(Served, NoTimeIsToldOfFramesThatAreNotAsTheyWereSent) {
  const Played cell(format(), -10);
  EXPECT_EQ(time_of_a_frame(cell.frame, cell.air, imaginary(1), {.frames = 2, .warm_up = 0}).us, 0);
}

TEST(Served, DownlinksHaveATimeToo) {
  frame::FrameFormat format = test::small_format();
  format.schedule = "PPGGGGGGDD";
  format.symbols_per_slot = 10;
  format.deadlines.precoder_age = 1;
  const Played cell(format);
  EXPECT_GT(time_of_a_frame(cell.frame, cell.air, imaginary(2), {.frames = 4, .warm_up = 1}).us, 0);
}

TEST(Served, CellsOfGoalsCanBeDecoded) {
  for (const auto& [antennas, users] : {std::pair(128U, 64U), {256U, 128U}}) {
    test::Cell cell(cell_format(antennas, users, 'U'), emulator::RadioPlan{});
    for (std::uint32_t number = 0; number < cell.frame.format().ring; ++number) {
      cell.run(number);
      EXPECT_EQ(cell.wrong_blocks(number), 0U) << number;
    }
  }
}

TEST(Served, CellsAreOfAMillisecondAndHaveTheirNames) {
  for (const char kind : {'U', 'D'}) {
    const frame::FrameFormat format = cell_format(128, 64, kind);
    EXPECT_TRUE(format.validate().empty());
    EXPECT_NEAR(static_cast<double>(frame::Frame(format).duration()), kMillisecond, 2);
  }
  EXPECT_EQ(name_of(cell_format(128, 64, 'U')), "128x64 uplink");
  EXPECT_EQ(name_of(cell_format(64, 16, 'D')), "64x16 downlink");
}

}  // namespace
}  // namespace carillon::bench
