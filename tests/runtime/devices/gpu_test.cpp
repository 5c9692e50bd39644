#include "runtime/devices/gpu.hpp"

#include "support/test.hpp"

#include <map>
#include <vector>

#include "base/random.hpp"

namespace carillon::runtime {
namespace {

constexpr Tick kCta = 10 * kMicrosecond;

// 100 SMs, memory that is never short, no gaps.
Gpu::Options options() { return {.sms = 100, .bytes_per_ns = 1e9}; }

KernelLoad serial(std::uint32_t ctas, std::uint32_t per_sm) {
  return {.ctas = ctas, .ctas_per_sm = per_sm, .floor = kCta};
}

std::map<std::uint64_t, Gpu::Ended> run(Gpu& gpu) {
  std::vector<Gpu::Ended> ended;
  while (gpu.next() != kNever) gpu.advance(gpu.next(), ended);
  std::map<std::uint64_t, Gpu::Ended> by_tag;
  for (const Gpu::Ended& each : ended) EXPECT_TRUE(by_tag.emplace(each.tag, each).second);
  return by_tag;
}

TEST(Gpu, AKernelTakesItsWaves) {
  for (const std::uint32_t ctas : {1U, 199U, 200U, 201U, 1000U}) {
    Gpu gpu(options());
    gpu.submit(0, true, serial(ctas, 2), 1, 0, 7, 0);
    EXPECT_EQ(run(gpu).at(7).end, (ctas + 199) / 200 * kCta) << ctas;
  }
}

TEST(Gpu, CtasShareTheirSm) {
  // Alone on an SM a CTA takes 10 µs, eight of them 80 µs; on half the SMs twice as long.
  const KernelLoad load{.ctas = 800, .ctas_per_sm = 8, .sm_time = 10e3};
  Gpu whole(options()), half(options());
  whole.submit(0, true, load, 1, 0, 0, 0);
  half.reserve(50, 0);
  half.submit(0, true, load, 1, 0, 0, 0);
  EXPECT_EQ(run(whole).at(0).end, 80 * kMicrosecond);
  EXPECT_EQ(run(half).at(0).end, 160 * kMicrosecond);
  Gpu spread(options());
  spread.submit(0, true, {.ctas = 100, .ctas_per_sm = 8, .sm_time = 10e3}, 1, 0, 0, 0);
  EXPECT_EQ(run(spread).at(0).end, 10 * kMicrosecond);
}

TEST(Gpu, MemoryBindsHoweverManySmsThereAre) {
  // 1000 CTAs of 1 MB at 1 GB/ms take 1 ms, on all SMs and on half of them.
  const KernelLoad load{.ctas = 1000, .ctas_per_sm = 10, .sm_time = 1, .bytes = 1e6};
  for (const std::uint32_t reserved : {0U, 50U}) {
    Gpu gpu({.sms = 100, .bytes_per_ns = 1e3});
    gpu.reserve(reserved, 0);
    gpu.submit(0, true, load, 1, 0, 0, 0);
    EXPECT_NEAR(static_cast<double>(run(gpu).at(0).end), 1e6, 1e4) << reserved;
  }
}

TEST(Gpu, KernelsOfAQueueFollowEachOther) {
  Gpu gpu({.sms = 100, .bytes_per_ns = 1e9, .gap = kMicrosecond});
  for (std::uint64_t i = 0; i < 5; ++i) gpu.submit(3, true, serial(10, 1), 1, 0, i, 0);
  const auto ended = run(gpu);
  for (std::uint64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(ended.at(i).start, static_cast<Tick>(i) * (kCta + kMicrosecond));
    EXPECT_EQ(ended.at(i).end, ended.at(i).start + kCta);
  }
}

TEST(Gpu, KernelsOfTheirOwnStreamsDoNotWaitForEachOther) {
  Gpu gpu({.sms = 100, .bytes_per_ns = 1e9, .gap = kMicrosecond});
  for (std::uint64_t i = 0; i < 5; ++i) gpu.submit(Gpu::kOwn, true, serial(10, 1), 1, 0, i, 0);
  const Gpu::KernelId gated = gpu.submit(Gpu::kOwn, true, serial(10, 1), 1, 1, 5, 0);
  const Gpu::KernelId never = gpu.submit(Gpu::kOwn, true, serial(10, 1), 1, 1, 6, 0);
  gpu.open(gated, 3 * kMicrosecond);
  gpu.cancel(never, 4 * kMicrosecond);
  const auto ended = run(gpu);
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(ended.at(i).end, kCta);
  EXPECT_EQ(ended.at(5).end, 3 * kMicrosecond + kCta);
  EXPECT_FALSE(ended.at(6).executed);
}

TEST(Gpu, WhatAKernelLeavesIsForTheNext) {
  Gpu gpu(options());
  gpu.submit(0, true, serial(60, 1), 1, 0, 0, 0);  // 60 SMs
  gpu.submit(1, true, serial(40, 1), 1, 0, 1, 0);  // the other 40
  gpu.submit(2, true, serial(10, 1), 1, 0, 2, 0);  // has to wait
  const auto ended = run(gpu);
  EXPECT_EQ(ended.at(0).start, 0);
  EXPECT_EQ(ended.at(1).start, 0);
  EXPECT_EQ(ended.at(2).start, kCta);
}

TEST(Gpu, NobodyPassesAKernelThatHasCtasToStart) {
  Gpu gpu(options());
  gpu.submit(0, true, serial(60, 1), 1, 0, 0, 0);
  gpu.submit(1, true, {.ctas = 50, .ctas_per_sm = 1, .floor = kCta}, 1, 0, 1, 0);  // 40 + 10
  gpu.submit(2, true, serial(100, 10), 1, 0, 2, 0);
  const auto ended = run(gpu);
  EXPECT_EQ(ended.at(1).start, 0);
  EXPECT_EQ(ended.at(1).end, 2 * kCta);
  EXPECT_EQ(ended.at(2).start, kCta);
}

TEST(Gpu, TheUrgentGoFirst) {
  Gpu gpu(options());
  gpu.submit(0, true, serial(100, 1), 1, 0, 0, 0);
  gpu.submit(1, false, serial(100, 1), 1, 0, 1, 0);
  gpu.submit(2, true, serial(100, 1), 1, 0, 2, 0);
  const auto ended = run(gpu);
  EXPECT_EQ(ended.at(2).start, kCta);
  EXPECT_EQ(ended.at(1).start, 2 * kCta);
}

TEST(Gpu, StreamsOfTheirOwnGoBeforeTheUrgent) {
  Gpu gpu(options());
  gpu.submit(0, true, serial(100, 1), 1, 0, 0, 0);
  gpu.submit(1, true, serial(100, 1), 1, 0, 1, 0);
  gpu.submit(Gpu::kOwn, true, serial(100, 1), 1, 0, 2, 0);
  gpu.submit(Gpu::kOwn, true, serial(100, 1), 1, 0, 3, 0);
  const auto ended = run(gpu);
  EXPECT_EQ(ended.at(2).start, kCta);
  EXPECT_EQ(ended.at(3).start, 2 * kCta);
  EXPECT_EQ(ended.at(1).start, 3 * kCta);
}

TEST(Gpu, AGateHoldsAKernelAndItsQueue) {
  Gpu gpu(options());
  const auto gated = gpu.submit(0, true, serial(1, 1), 1, 2, 0, 0);
  gpu.submit(0, true, serial(1, 1), 1, 0, 1, 0);
  gpu.submit(1, true, serial(1, 1), 1, 0, 2, 0);
  gpu.open(gated, 5);
  gpu.open(gated, 7);
  const auto ended = run(gpu);
  EXPECT_EQ(ended.at(0).start, 7);
  EXPECT_EQ(ended.at(1).start, 7 + kCta);
  EXPECT_EQ(ended.at(2).start, 0);
}

TEST(Gpu, WhatIsCancelledBeforeItStartsIsNotExecuted) {
  Gpu gpu(options());
  const auto running = gpu.submit(0, true, serial(1, 1), 1, 0, 0, 0);
  const auto waiting = gpu.submit(0, true, serial(1, 1), 1, 0, 1, 0);
  const auto gated = gpu.submit(1, true, serial(1, 1), 1, 1, 2, 0);
  gpu.submit(1, true, serial(1, 1), 1, 0, 3, 0);
  gpu.cancel(running, 1);
  gpu.cancel(waiting, 1);
  gpu.cancel(gated, 1);
  const auto ended = run(gpu);
  EXPECT_TRUE(ended.at(0).executed);
  EXPECT_FALSE(ended.at(1).executed);
  EXPECT_FALSE(ended.at(2).executed);
  EXPECT_EQ(ended.at(3).start, 1);
}

TEST(Gpu, AFactorStretchesAKernel) {
  Gpu gpu(options());
  gpu.submit(0, true, serial(1, 1), 2.5, 0, 0, 0);
  EXPECT_EQ(run(gpu).at(0).end, 25 * kMicrosecond);
}

// Whatever is submitted: never over the limits, all of it ends, SM time is accounted for.
TEST(Gpu, NeverHoldsMoreThanItCan) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const auto below = [&](std::uint64_t n) {
      return static_cast<std::uint32_t>(random.next() % n);
    };
    Gpu gpu({.sms = 16, .bytes_per_ns = 100, .queues = 4, .gap = below(100)});
    std::vector<Gpu::Ended> ended;
    std::vector<Gpu::KernelId> gated;
    double most = 0, expected = 0;
    Tick now = 0;
    for (std::uint64_t i = 0; i < 200; ++i) {
      const KernelLoad load{1 + below(100), 1 + below(32), 1 + below(5000), 0, 0};
      const bool gate = below(4) == 0;
      const auto id = gpu.submit(below(8), below(2) == 0, load, 1, gate, i, now);
      if (gate) gated.push_back(id);
      expected += static_cast<double>(load.floor) * load.ctas / load.ctas_per_sm;
      most = std::max(most, gpu.used_sms());
      now += below(2000);
      while (gpu.next() <= now) {
        gpu.advance(gpu.next(), ended);
        most = std::max(most, gpu.used_sms());
      }
      if (!gated.empty() && below(2) == 0) {
        gpu.open(gated.back(), now);
        gated.pop_back();
      }
    }
    for (const auto id : gated) gpu.open(id, now);
    while (gpu.next() != kNever) {
      gpu.advance(gpu.next(), ended);
      most = std::max(most, gpu.used_sms());
    }
    EXPECT_EQ(ended.size(), 200U);
    EXPECT_LE(most, 16.0 + 1e-9);
    EXPECT_EQ(gpu.used_sms(), 0);
    EXPECT_NEAR(gpu.busy(now), expected, 1e-6 * expected);
    for (std::size_t i = 1; i < ended.size(); ++i) EXPECT_LE(ended[i - 1].end, ended[i].end);
  }
}

}  // namespace
}  // namespace carillon::runtime
