// The checks of blocks against plain sums and the definition of a time stamp's order.
#include "fronthaul/gpu/check.hpp"

#include <random>
#include <vector>

#include "fronthaul/gpu/check.inl"
#include "support/place.hpp"

namespace {

using namespace carillon;
using namespace carillon::fronthaul::gpu;

constexpr auto kInspect = [](auto& cta, const InspectTask& task) { inspect_block(cta, task); };
constexpr auto kStamp = [](auto& cta, const StampTask& task) { stamp_block(cta, task); };

std::vector<std::uint32_t> random_samples(std::uint32_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint32_t> samples(count);
  for (std::uint32_t& word : samples) word = static_cast<std::uint32_t>(random());
  return samples;
}

void expect_sums(const BlockCheck& found, const BlockCheck& expected, std::size_t samples) {
  EXPECT_EQ(found.sum_i, expected.sum_i) << samples;
  EXPECT_EQ(found.sum_q, expected.sum_q) << samples;
  EXPECT_EQ(found.plain, expected.plain) << samples;
  EXPECT_EQ(found.placed, expected.placed) << samples;
}

BlockCheck inspected(test::Place& place, const std::vector<std::uint32_t>& samples, float gain,
                     std::vector<phy::Complex>* scaled) {
  InspectTask task{};
  task.meta = place.put(std::vector<BlockMeta>{{.gain = gain}});
  task.samples = place.put(samples);
  task.count = static_cast<std::uint32_t>(samples.size());
  task.scaled = scaled == nullptr ? nullptr : place.room<phy::Complex>(samples.size());
  task.check = place.put(std::vector<BlockCheck>(1));
  place.run(task, kInspect, inspect);
  if (scaled != nullptr) *scaled = place.get(task.scaled, samples.size());
  return place.get(task.check, 1)[0];
}

GPU_TEST(CudaInspect, SumsAreThoseOfAPlainLoop) {
  for (const std::uint32_t count :
       {16U, 32U, 1008U, 1024U, 8192U, 8208U, 16U * 1024, 3U * 8192 + 4080, 262144U}) {
    const auto samples = random_samples(count, count);
    expect_sums(inspected(place, samples, 1, nullptr), sums_of(samples), count);
  }
}

GPU_TEST(CudaInspect, NoSumOverflowsWhereAllSamplesAreAtTheirLimits) {
  for (const std::uint32_t word : {0x80008000U, 0x7fff7fffU, 0x80007fffU}) {
    const std::vector<std::uint32_t> samples(65536, word);
    const BlockCheck found = inspected(place, samples, 1, nullptr);
    expect_sums(found, sums_of(samples), samples.size());
    EXPECT_EQ(static_cast<long long>(found.sum_i),
              65536LL * static_cast<std::int16_t>(word & 0xffff));
    EXPECT_EQ(static_cast<long long>(found.sum_q), 65536LL * static_cast<std::int16_t>(word >> 16));
  }
}

GPU_TEST(CudaInspect, OneBitOrTwoWordsThatChangedPlacesChangeTheChecksum) {
  std::mt19937 random(7);
  const auto samples = random_samples(16384, 3);
  const BlockCheck right = inspected(place, samples, 1, nullptr);
  for (int round = 0; round < 8; ++round) {
    auto damaged = samples;
    damaged[random() % damaged.size()] ^= 1U << random() % 32;
    const BlockCheck found = inspected(place, damaged, 1, nullptr);
    EXPECT_NE(found.plain, right.plain) << round;
    auto swapped = samples;
    const std::size_t a = random() % swapped.size(), b = (a + 1 + random() % 999) % swapped.size();
    std::swap(swapped[a], swapped[b]);
    const BlockCheck other = inspected(place, swapped, 1, nullptr);
    EXPECT_EQ(other.plain, right.plain) << round;
    EXPECT_NE(other.placed, right.placed) << round;
  }
}

GPU_TEST(CudaInspect, TheBlocksGainScalesEverySample) {
  std::mt19937 random(11);
  for (const float gain : {1.0F, 0.25F, 3.5F, -1.0F}) {
    const auto samples =
        random_samples(kSampleUnit * (1 + static_cast<std::uint32_t>(random() % 1200)), 5);
    std::vector<phy::Complex> scaled;
    expect_sums(inspected(place, samples, gain, &scaled), sums_of(samples), samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const double re = double{gain} * static_cast<std::int16_t>(samples[i] & 0xffff) / 32768;
      const double im = double{gain} * static_cast<std::int16_t>(samples[i] >> 16) / 32768;
      EXPECT_NEAR(scaled[i].re, re, 1e-6) << i;
      EXPECT_NEAR(scaled[i].im, im, 1e-6) << i;
    }
  }
}

std::vector<BlockCheck> stamped(test::Place& place, const std::vector<BlockMeta>& meta,
                                std::uint32_t first, std::uint32_t batch) {
  StampTask task{};
  const auto slots = static_cast<std::uint32_t>(meta.size());
  task.meta = place.put(meta);
  task.slots = slots;
  task.state = place.put(std::vector<ChannelState>(kMostChannels));
  task.checks = place.put(std::vector<BlockCheck>(slots));
  for (std::uint32_t done = 0; done < slots; done += task.count) {
    task.first = (first + done) % slots;
    task.count = std::min(batch, slots - done);
    place.run(task, kStamp, stamp);
  }
  return place.get(task.checks, slots);
}

GPU_TEST(CudaStamp, TellsGapsRepeatedAndOldBlocksOfEveryChannel) {
  // By channel: 0 loses its second block, 3 has one twice, 7 brings an old one, 9 does not exist.
  const std::vector<BlockMeta> meta = {
      {.first_sample = 0, .channel = 0, .samples = 64},
      {.first_sample = 100, .channel = 3, .samples = 32},
      {.first_sample = 128, .channel = 0, .samples = 64},
      {.first_sample = 100, .channel = 3, .samples = 32},
      {.first_sample = 500, .channel = 7, .samples = 16},
      {.first_sample = 132, .channel = 3, .samples = 32},
      {.first_sample = 484, .channel = 7, .samples = 16},
      {.first_sample = 516, .channel = 7, .samples = 16},
      {.first_sample = 0, .channel = 9, .samples = 16},
      {.first_sample = 192, .channel = 0, .samples = 64},
  };
  const Stamp expected[] = {Stamp::InOrder, Stamp::InOrder, Stamp::Gap, Stamp::Repeated,
                            Stamp::InOrder, Stamp::InOrder, Stamp::Old, Stamp::InOrder,
                            Stamp::Channel, Stamp::InOrder};
  for (const std::uint32_t batch : {1U, 3U, 10U}) {
    const auto found = stamped(place, meta, 0, batch);
    for (std::size_t i = 0; i < meta.size(); ++i) {
      EXPECT_TRUE(found[i].stamp == expected[i]) << i << " batch " << batch;
      EXPECT_EQ(found[i].missing, i == 2 ? 64U : 0U) << i;
    }
  }
}

GPU_TEST(CudaStamp, AnyLossOfAnyChannelIsCountedToTheSampleAcrossTheRingsEnd) {
  std::mt19937 engine(17);
  const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
  for (int round = 0; round < 20; ++round) {
    const std::uint32_t slots = 3 + random() % 30, first = random() % slots;
    std::vector<BlockMeta> meta(slots);
    std::vector<std::uint64_t> next(kMostChannels, 1000), lost(slots, 0);
    std::vector<bool> begun(kMostChannels, false);
    for (std::uint32_t n = 0; n < slots; ++n) {
      const std::uint32_t slot = (first + n) % slots, channel = random() % kMostChannels;
      const std::uint32_t samples = kSampleUnit * (1 + random() % 4);
      const std::uint64_t missing = random() % 4 == 0 ? samples : 0;
      next[channel] += missing;
      meta[slot] = {.first_sample = next[channel], .channel = channel, .samples = samples};
      next[channel] += samples;
      lost[slot] = begun[channel] ? missing : 0;
      begun[channel] = true;
    }
    const auto found = stamped(place, meta, first, 1 + random() % slots);
    for (std::uint32_t i = 0; i < slots; ++i) {
      EXPECT_EQ(found[i].missing, lost[i]) << round << " slot " << i;
      EXPECT_TRUE(found[i].stamp == (lost[i] != 0 ? Stamp::Gap : Stamp::InOrder)) << round;
    }
  }
}

TEST(HostCheck, SumsDifferWhereAnyOfThemDoes) {
  const BlockCheck sums = sums_of(random_samples(64, 2));
  BlockCheck stamped = sums;
  stamped.stamp = Stamp::Gap;
  EXPECT_TRUE(same_sums(sums, stamped));
  BlockCheck other[4] = {sums, sums, sums, sums};
  ++other[0].sum_i;
  ++other[1].sum_q;
  ++other[2].plain;
  ++other[3].placed;
  for (const BlockCheck& each : other) EXPECT_FALSE(same_sums(sums, each));
}

TEST(HostCheck, RunsTheSameText) {
  const auto samples = random_samples(8208, 1);
  const BlockMeta meta[2] = {{.first_sample = 32, .channel = 1, .samples = 8208, .gain = 2},
                             {.first_sample = 32 + 8208 + 48, .channel = 1, .samples = 16}};
  std::vector<phy::Complex> scaled(samples.size());
  AlignedArray<std::uint32_t> aligned(samples.size());
  std::ranges::copy(samples, aligned.begin());
  BlockCheck checks[2];
  inspect_on_host({meta, aligned.data(), 8208, scaled.data(), checks});
  expect_sums(checks[0], sums_of(samples), samples.size());
  EXPECT_NEAR(scaled[5].re, 2.0 * static_cast<std::int16_t>(samples[5] & 0xffff) / 32768, 1e-6);
  std::vector<ChannelState> state(kMostChannels);
  stamp_on_host({meta, 2, 0, 2, state.data(), checks});
  EXPECT_TRUE(checks[0].stamp == Stamp::InOrder);
  EXPECT_TRUE(checks[1].stamp == Stamp::Gap);
  EXPECT_EQ(checks[1].missing, 48U);
}

}  // namespace
