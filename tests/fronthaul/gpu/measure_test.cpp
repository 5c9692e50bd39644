// Blocks over sockets into memory: what arrives is what was sent, and what does not is counted.
#include "fronthaul/gpu/measure.hpp"

#include <sys/ioctl.h>

#include <chrono>
#include <cstring>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "fronthaul/gpu/check.hpp"
#include "fronthaul/gpu/ring.hpp"
#include "fronthaul/gpu/source.hpp"
#include "fronthaul/gpu/target.hpp"
#include "support/test.hpp"
#include "support/watched.hpp"

namespace {

using namespace carillon;
using namespace carillon::fronthaul::gpu;

TEST(IngestSource, EveryBlockSumsToWhatWasForetoldAndItsStampsFollow) {
  constexpr std::uint32_t kChannels = 3, kSamples = 1040;
  const Source source({kChannels, kSamples, 0});
  AlignedArray<std::uint32_t> samples(kSamples);
  std::vector<BlockCheck> seen;
  for (std::uint64_t sequence = 0; sequence < 9; ++sequence)
    for (std::uint32_t channel = 0; channel < kChannels; ++channel) {
      BlockMeta meta;
      ASSERT_TRUE(receive_block(source.socket(channel), &meta,
                                reinterpret_cast<std::byte*>(samples.data()), 4 * kSamples));
      EXPECT_EQ(meta.sequence, sequence);
      EXPECT_EQ(meta.first_sample, sequence * kSamples);
      EXPECT_EQ(meta.channel, channel);
      EXPECT_EQ(meta.samples, kSamples);
      EXPECT_TRUE(meta.gain > 0);
      const BlockCheck sums = sums_of(samples.span());
      EXPECT_TRUE(sums == source.expected(sequence, channel));
      if (!seen.empty()) {
        EXPECT_NE(sums.placed, seen.back().placed);
      }
      seen.push_back(sums);
    }
}

// Whoever fetches samples gets metadata alone, and no more of it than a radio would hold blocks.
TEST(IngestSource, AnnouncesBlocksThatAreFetchedAndRunsNotFarAhead) {
  constexpr std::uint32_t kSamples = 1024;
  const Source source({1, kSamples, 0, true});
  int held = 0;
  for (int before = -1; held == 0 || held != before;) {  // until it stands still
    before = held;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ASSERT_EQ(::ioctl(source.socket(0), FIONREAD, &held), 0);
  }
  EXPECT_LE(held, static_cast<int>(2 * Source::kHeldBlocks * sizeof(BlockMeta)));
  for (std::uint64_t sequence = 0; sequence < 20; ++sequence) {
    BlockMeta meta;
    ASSERT_TRUE(receive_block(source.socket(0), &meta, nullptr, 0));
    EXPECT_EQ(meta.sequence, sequence);
    EXPECT_EQ(meta.samples, kSamples);
    const std::span samples(source.samples(sequence, 0), kSamples);
    EXPECT_TRUE(sums_of(samples) == source.expected(sequence, 0));
    EXPECT_TRUE(samples.data() >= source.memory().data());
    EXPECT_TRUE(samples.data() + kSamples <= source.memory().data() + source.memory().size());
  }
}

TEST(IngestSource, EndsThoughNobodyTakesItsBlocks) {
  const Source free_running({1, 1 << 20, 0}), paced({8, 64, 0.001});
  EXPECT_EQ(free_running.dropped(), 0U);
}

TEST(IngestSource, RefusesShapesThatCannotBe) {
  for (const SourcePlan& plan :
       {SourcePlan{0, 64}, SourcePlan{9, 64}, SourcePlan{1, 0}, SourcePlan{1, 100}})
    EXPECT_THROW(Source{plan}, std::invalid_argument);
}

// The radio's clock does not wait: what nobody takes in time leaves a gap, told to the sample.
TEST(IngestSource, APacedRadioDropsWhatItCannotHoldAndTheStampsTell) {
  constexpr std::uint32_t kSamples = 1 << 16;
  const Source source({1, kSamples, 100});  // 0.66 ms a block
  AlignedArray<std::uint32_t> samples(kSamples);
  ChannelState state[kMostChannels] = {};
  std::uint64_t missing = 0, newest = 0;
  const auto take = [&] {
    BlockMeta meta;
    EXPECT_TRUE(receive_block(source.socket(0), &meta, reinterpret_cast<std::byte*>(samples.data()),
                              4 * kSamples));
    BlockCheck check;
    stamp_on_host({&meta, 1, 0, 1, state, &check});
    missing += check.missing;
    newest = meta.sequence;
    return check.stamp;
  };
  EXPECT_TRUE(take() == Stamp::InOrder);
  while (source.dropped() == 0) {  // its socket is full: it stands still until something is taken
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    take();
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (missing == 0 && std::chrono::steady_clock::now() < deadline) take();
  EXPECT_GT(missing, 0U);
  EXPECT_EQ(missing % kSamples, 0U);
  EXPECT_LE(missing / kSamples, source.dropped());
  EXPECT_GE(newest, missing / kSamples);
}

TEST(IngestMeasure, MovesEverySizeAndNumberOfChannelsWhole) {
  unsigned which = 0;
  for (const Path path : {Path::StagedHost, Path::PinnedHost})
    for (const std::uint32_t channels : {1U, 3U, 8U})
      for (const std::uint32_t bytes : {64U, 4096U, 65536U, 1U << 20}) {
        if (test::left_out(which++)) continue;
        const IngestResult result = measure({path, channels, bytes, 0.01, 0, {}}, nullptr);
        EXPECT_EQ(result.error, "");
        EXPECT_GE(result.blocks, channels);
        EXPECT_EQ(result.bytes, result.blocks * bytes);
        EXPECT_GE(result.checked, 2 * std::uint64_t{result.slots});
        EXPECT_EQ(result.wrong, 0U) << bytes << " bytes, " << channels << " channels";
        EXPECT_EQ(result.lost_samples, 0U);
        EXPECT_EQ(result.out_of_order, 0U);
        EXPECT_GE(result.seconds, 0.01);
        EXPECT_GT(result.cpu_seconds, 0);
      }
}

TEST(IngestMeasure, APacedSourceIsFollowedAtItsPace) {
  const IngestResult result = measure({Path::PinnedHost, 2, 4096, 0.2, 1.0, {}}, nullptr);
  EXPECT_EQ(result.wrong, 0U);
  // 2 × 1 Msps × 0.2 s, at most, but for what the source had held.
  EXPECT_LE(static_cast<double>(result.bytes) / result.seconds, 1.3 * 8e6);
  EXPECT_GT(result.bytes, 0U);
}

TEST(IngestMeasure, RefusesPlansThatCannotBe) {
  const IngestPlan good{Path::PinnedHost, 1, 4096, 0, 0, {}};
  EXPECT_GE(measure(good, nullptr).blocks, 1U);
  const auto with = [&](auto change) {
    IngestPlan plan = good;
    change(plan);
    EXPECT_THROW(measure(plan, nullptr), std::invalid_argument);
  };
  with([](IngestPlan& plan) { plan.channels = 9; });
  with([](IngestPlan& plan) { plan.block_bytes = 4100; });
  with([](IngestPlan& plan) { plan.block_bytes = 128U << 20; });
  with([](IngestPlan& plan) { plan.seconds = -1; });
  with([](IngestPlan& plan) { plan.msps = -1; });
  with([](IngestPlan& plan) { plan.path = Path::PinnedCopy; });
}

// Both checks of a host's ring: a damaged block is found though its time stamp is right.
TEST(HostTarget, FindsADamagedBlock) {
  BlockRing ring(2, 4096);
  const auto target = make_host_target(ring, true);
  std::memset(ring.payload(0), 3, 4096);
  ring.meta()[0] = {.channel = 2, .samples = 1024};
  EXPECT_EQ(target->take(0), "");
  const BlockCheck right = target->check(0);
  ring.payload(0)[77] = std::byte{4};
  ring.meta()[0].first_sample = 1024;
  EXPECT_EQ(target->take(0), "");
  EXPECT_EQ(target->finish(0), "");
  EXPECT_TRUE(target->check(0).stamp == Stamp::InOrder);
  EXPECT_NE(target->check(0).plain, right.plain);
  ring.meta()[0].channel = 8;
  EXPECT_EQ(target->take(0), "");
  EXPECT_TRUE(target->check(0).stamp == Stamp::Channel);
}

TEST(Descriptors, CostLessThanAMicrosecondButSomething) {
  const double ns = descriptor_ns();
  EXPECT_GT(ns, 0.5);
  EXPECT_LT(ns, 20'000);
}

}  // namespace
