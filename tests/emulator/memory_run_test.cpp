// A cell in real time from memory: every frame is worked on, and what is measured of it is in
// order.
#include "emulator/memory_run.hpp"

#include <algorithm>
#include <numeric>

#include "frame/stages.hpp"
#include "frame/virtual_run.hpp"
#include "support/test.hpp"

namespace carillon::emulator {
namespace {

frame::FrameFormat format() {
  frame::FrameFormat cell;
  cell.antennas = 4;
  cell.users = 2;
  cell.numerology.fft_size = 128;
  cell.numerology.subcarriers = 72;
  cell.schedule = "PPUUUUUUUUGGDD";
  cell.deadlines.uplink_budget_ms = 1000;  // whatever else this machine does
  return cell;
}

MemoryRunResult run(std::uint32_t workers, const MemoryRunOptions& options) {
  RadioPlan radio;
  radio.snr_db = {30};
  MemoryRun memory(format(), radio, workers);
  const auto policy = runtime::make_policy("earliest-frame");
  memory.run(*policy, options);  // frames go on from one call to the next
  return memory.run(*policy, options);
}

void check(const MemoryRunResult& result, std::uint64_t frames) {
  ASSERT_EQ(result.frames.size(), frames);
  std::uint64_t completed = 0, missed = 0;
  for (const frame::Milestones& one : result.frames) {
    if (!one.completed) continue;  // a machine that stands still makes the air refuse some
    ++completed;
    missed += one.missed;
    EXPECT_LT(one.first_packet, one.pilots_done);
    EXPECT_LT(one.pilots_done, one.combiner_done);
    EXPECT_LT(one.combiner_done, one.uplink_done);
    EXPECT_LE(one.uplink_done, one.ended);
  }
  EXPECT_GE(completed, frames / 10);
  constexpr std::uint64_t kOfOneSymbol = 4;  // Encode, Modulate, Precode, Ifft
  EXPECT_GE(result.claims + kOfOneSymbol * missed, completed * result.instructions);
}

TEST(MemoryRun, FramesFollowTheAir) {
  const frame::Frame frame(format());
  for (const std::uint32_t workers : {1U, 2U}) {
    const MemoryRunResult result = run(workers, {.frames = 300});
    check(result, 300);
    for (const frame::Milestones& one : result.frames) {
      EXPECT_EQ(one.first_packet, frame.symbol(0).end);
      if (!one.completed) continue;
      EXPECT_GT(one.uplink_done, frame::all_received(frame));
    }
  }
}

TEST(MemoryRun, FramesAreEachByThemselves) {
  const frame::Frame frame(format());
  for (const std::uint32_t workers : {1U, 2U}) {
    const MemoryRunResult result = run(workers, {.frames = 20, .at_once = true});
    check(result, 20);
    for (const frame::Milestones& one : result.frames) {
      EXPECT_EQ(one.first_packet, frame::all_received(frame));
      EXPECT_GE(one.started, one.first_packet);
    }
  }
}

TEST(MemoryRun, OneWorkerIsBusyNoLongerThanItsFramesTake) {
  const MemoryRunResult result = run(1, {.frames = 20, .at_once = true});
  const std::size_t opcodes = result.busy.size() / result.frames.size();
  for (std::size_t f = 0; f < result.frames.size(); ++f) {
    const auto busy = result.busy.begin() + static_cast<std::ptrdiff_t>(f * opcodes);
    const Tick kernels =
        std::accumulate(busy, busy + static_cast<std::ptrdiff_t>(opcodes), Tick{0});
    EXPECT_GT(kernels, 0);
    EXPECT_LE(kernels, result.frames[f].ended - result.frames[f].first_packet);
  }
}

TEST(MemoryRun, WorkersAccountForTheTimeOfTheFrames) {
  for (const bool at_once : {false, true}) {
    const MemoryRunResult result = run(2, {.frames = 20, .at_once = at_once});
    EXPECT_EQ(result.blocks_failed, 0U);
    Tick kernels = 0;
    for (const MemoryWorker& worker : result.workers) {
      EXPECT_LE(0, worker.claiming);
      EXPECT_LE(worker.kernels + worker.scheduling + worker.claiming + worker.arriving,
                worker.lasted);
      kernels += worker.kernels;
    }
    EXPECT_GE(kernels, std::accumulate(result.busy.begin(), result.busy.end(), Tick{0}));
  }
}

// What a worker did, and what it lost by standing still, do not overlap.
TEST(MemoryRun, WhatWorkersDidAndLostFitsIntoTheTimeOfTheFrames) {
  for (const std::uint32_t workers : {1U, 2U}) {
    const MemoryRunResult result = run(workers, {.frames = 20, .traced = true});
    EXPECT_EQ(result.traced.size(), result.claims);
    EXPECT_GE(result.bringing.size(), 20U);
    Tick traced = 0, lasted = 0, kernels = 0;
    for (const auto& claim : result.traced) traced += claim.duration;
    for (const MemoryWorker& worker : result.workers) {
      lasted += worker.lasted;
      kernels += worker.kernels;
    }
    EXPECT_EQ(traced, kernels);
    for (const auto* gaps : {&result.idle, &result.bringing})
      for (const MemoryGap& gap : *gaps) {
        EXPECT_GT(gap.length, 0);
        traced += gap.length;
      }
    EXPECT_LE(traced, lasted);
  }
}

TEST(MemoryRun, ClaimsAreAsLargeAsAskedFor) {
  const auto claims = [](std::uint32_t each) {
    frame::PerStage grain;
    grain.fft = grain.demodulate = grain.precode = grain.ifft = each;
    return run(1, {.frames = 10, .grain = frame::by_opcode(grain), .at_once = true}).claims;
  };
  EXPECT_GT(claims(1), claims(64));
}

}  // namespace
}  // namespace carillon::emulator
