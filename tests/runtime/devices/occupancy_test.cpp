#include "runtime/devices/occupancy.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "support/test.hpp"

namespace carillon::runtime {
namespace {

std::vector<DeviceType> gpu_types() {
  std::vector<DeviceType> types;
  for (const DeviceType& type : device_types())
    if (!type.host) types.push_back(type);
  return types;
}

const DeviceType& device(std::string_view name) { return *find_device_type(name); }

std::uint32_t occupancy(std::string_view name, std::uint32_t warps, std::uint32_t registers,
                        std::uint32_t shared_bytes) {
  return ctas_per_sm(device(name), {1, warps, registers, shared_bytes});
}

TEST(DeviceType, IsFoundByNameAndNamesItsSource) {
  for (const std::string_view name : {"v100", "a100", "h100", "h200"}) {
    ASSERT_TRUE(find_device_type(name) != nullptr) << name;
    EXPECT_EQ(device(name).name, name);
    EXPECT_FALSE(device(name).source.empty()) << name;
  }
  EXPECT_EQ(gpu_types().size(), 4U);
  EXPECT_TRUE(find_device_type("a10") == nullptr);
  EXPECT_TRUE(find_device_type("") == nullptr);
}

// The peaks follow from SMs, FP32 lanes per SM (64, 64, 128), two operations and the boost clock:
// 1380, 1410 and 1980 MHz by the data sheets.
TEST(DeviceType, PeaksAgreeWithLanesAndClock) {
  EXPECT_NEAR(device("v100").fp32_flops / (80 * 64 * 2 * 1.380e9), 1, 0.01);
  EXPECT_NEAR(device("a100").fp32_flops / (108 * 64 * 2 * 1.410e9), 1, 0.01);
  EXPECT_NEAR(device("h100").fp32_flops / (132 * 128 * 2 * 1.980e9), 1, 0.01);
}

// Values that NVIDIA states in prose.
TEST(Occupancy, AgreesWithPublishedExamples) {
  // CUDA C++ Best Practices Guide, "Calculating Occupancy", compute capability 7.0: 37 registers
  // give 12 CTAs of 128 threads (75 %) and four of 320 (63 %).
  EXPECT_EQ(occupancy("v100", 4, 37, 0), 12U);
  EXPECT_EQ(occupancy("v100", 10, 37, 0), 4U);
  // github.com/kokkos/kokkos/pull/5739, Ampere: with 92 registers and CTAs of 224 threads, 21
  // warps would fit but for the granularity of 4, which leaves two CTAs of the three.
  EXPECT_EQ(occupancy("a100", 7, 92, 0), 2U);
  // Ampere and Hopper Tuning Guides, "Occupancy": 64 warps, 32 CTAs, 163 and 227 KB of shared
  // memory for one CTA.
  EXPECT_EQ(occupancy("a100", 32, 32, 163 * 1024), 1U);
  EXPECT_EQ(occupancy("a100", 32, 32, 163 * 1024 + 1), 0U);
  EXPECT_EQ(occupancy("h100", 2, 32, 0), 32U);
  EXPECT_EQ(occupancy("h100", 32, 32, 227 * 1024), 1U);
  EXPECT_EQ(occupancy("h100", 32, 32, 227 * 1024 + 1), 0U);
}

// What NVIDIA's own calculator says: cudaOccMaxActiveBlocksPerMultiprocessor of cuda_occupancy.h,
// CUDA 12.8.90, for compute capabilities 7.0, 8.0 and 9.0 with the largest shared memory.
TEST(Occupancy, AgreesWithTheOccupancyCalculator) {
  const struct {
    std::uint32_t warps, registers, shared_bytes;
    std::uint32_t v100, a100, h100;
  } published[] = {
      {1, 32, 0, 32, 32, 32},    {4, 37, 0, 12, 12, 12},    {10, 37, 0, 4, 4, 4},
      {7, 92, 0, 2, 2, 2},       {8, 64, 0, 4, 4, 4},       {8, 65, 0, 3, 3, 3},
      {32, 64, 0, 1, 1, 1},      {32, 65, 0, 0, 0, 0},      {25, 80, 0, 0, 0, 0},
      {24, 80, 0, 1, 1, 1},      {4, 255, 0, 2, 2, 2},      {8, 255, 0, 1, 1, 1},
      {9, 255, 0, 0, 0, 0},      {1, 255, 0, 8, 8, 8},      {6, 40, 0, 8, 8, 8},
      {3, 33, 0, 16, 16, 16},    {2, 24, 1, 32, 32, 32},    {4, 32, 1024, 16, 16, 16},
      {4, 32, 1025, 16, 16, 16}, {4, 32, 8448, 11, 16, 16}, {8, 32, 49152, 2, 3, 4},
      {8, 32, 49153, 1, 3, 4},   {8, 32, 81920, 1, 2, 2},   {8, 32, 98304, 1, 1, 2},
      {8, 32, 98305, 0, 1, 2},   {8, 32, 101376, 0, 1, 2},  {8, 32, 166912, 0, 1, 1},
      {8, 32, 166913, 0, 0, 1},  {8, 32, 232448, 0, 0, 1},  {8, 32, 232449, 0, 0, 0},
      {1, 8, 5000, 19, 27, 32},  {1, 8, 6144, 16, 23, 32},  {1, 0, 0, 32, 32, 32},
      {2, 16, 3072, 32, 32, 32}, {12, 168, 0, 1, 1, 1},     {16, 128, 20000, 1, 1, 1},
      {33, 8, 0, 0, 0, 0},       {1, 8, 3200, 29, 32, 32},  {1, 8, 4480, 21, 30, 32},
      {1, 8, 7296, 13, 20, 28},
  };
  for (const auto& p : published) {
    EXPECT_EQ(occupancy("v100", p.warps, p.registers, p.shared_bytes), p.v100)
        << p.warps << ' ' << p.registers << ' ' << p.shared_bytes;
    EXPECT_EQ(occupancy("a100", p.warps, p.registers, p.shared_bytes), p.a100)
        << p.warps << ' ' << p.registers << ' ' << p.shared_bytes;
    for (const auto* hopper : {"h100", "h200"}) {
      EXPECT_EQ(occupancy(hopper, p.warps, p.registers, p.shared_bytes), p.h100)
          << p.warps << ' ' << p.registers << ' ' << p.shared_bytes;
    }
  }
}

// MegaStation, table 1 (128x32). Registers of a warp, in units of 256; of these, whole warps in a
// quarter of the SM's registers (16 384), times four:
//   FFTs         56*32 = 1792: 9*4 = 36 warps, so 9 CTAs of 4. Shared memory: V100 8448 of 98304,
//                11 CTAs; A100 9472 of 167 936, 17; no limit. 128 CTAs on 15 SMs.
//   ZF           30*32 = 960 -> 1024: 64 warps, 2 CTAs of 32; also all the warps that there are.
//   EqDemodul, Precode: as ZF, but 1 warp each, so the limit is 32 CTAs. 1216 CTAs on 38 SMs.
//   Modul        18*32 = 576 -> 768: 21*4 = 84 warps; again 32 CTAs.
//   Decode       168*32 = 5376: 3*4 = 12 warps, 3 CTAs. 32 CTAs on 11 SMs.
//   Encode       as the FFTs 36 warps: 4 CTAs of 8. 32 CTAs on 8 SMs.
// ZF would need 2432 SMs and Precode 152: all that there are.
TEST(Occupancy, OfThePapersExecutors) {
  constexpr std::uint32_t kAll = std::numeric_limits<std::uint32_t>::max();
  const struct {
    const char* name;
    Footprint kernel;
    std::uint32_t ctas_per_sm, sms;
  } executors[] = {
      {"FFT", {128, 4, 56, 8448}, 9, 15},      {"ZF", {4864, 32, 30, 8448}, 2, kAll},
      {"EqDemodul", {1216, 1, 30, 0}, 32, 38}, {"Modul", {1216, 1, 18, 0}, 32, 38},
      {"Precode", {4864, 1, 30, 0}, 32, kAll}, {"Decode", {32, 4, 168, 14144}, 3, 11},
      {"Encode", {32, 8, 56, 843}, 4, 8},
  };
  for (const DeviceType& type : gpu_types()) {
    for (const auto& e : executors) {
      EXPECT_EQ(ctas_per_sm(type, e.kernel), e.ctas_per_sm) << type.name << ' ' << e.name;
      EXPECT_EQ(sms_needed(type, e.kernel), std::min(e.sms, type.sms))
          << type.name << ' ' << e.name;
    }
  }
}

TEST(Occupancy, IsZeroForWhatCannotRun) {
  for (const DeviceType& type : gpu_types()) {
    for (const Footprint& impossible :
         {Footprint{1, 0, 32, 0}, Footprint{1, 33, 32, 0}, Footprint{1, 1, 256, 0},
          Footprint{1, 32, 65, 0}, Footprint{1, 1, 32, type.sm.cta_shared_bytes + 1},
          Footprint{1, ~0U, 32, 0}, Footprint{1, 1, ~0U, 0}, Footprint{1, 1, 32, ~0U}}) {
      EXPECT_EQ(ctas_per_sm(type, impossible), 0U) << type.name;
      EXPECT_EQ(sms_needed(type, impossible), 0U) << type.name;
    }
    EXPECT_EQ(sms_needed(type, {0, 1, 32, 0}), 0U);
    EXPECT_EQ(sms_needed(type, {~0U, 32, 32, 0}), type.sms);
  }
}

TEST(Occupancy, NeverExceedsAnyLimitAndFallsWithEachResource) {
  Random random(1);
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random.next() % n); };
  for (int i = 0; i < 20'000; ++i) {
    for (const DeviceType& type : gpu_types()) {
      const Footprint k = {below(10'000), 1 + below(33), below(270), below(240 * 1024)};
      const SmLimits& sm = type.sm;
      const std::uint32_t ctas = ctas_per_sm(type, k);
      EXPECT_LE(ctas, sm.ctas);
      EXPECT_LE(ctas * k.warps, sm.warps);
      EXPECT_LE(ctas * k.warps * k.registers * kWarpThreads, sm.registers);
      EXPECT_LE(ctas * k.shared_bytes, sm.shared_bytes);

      const std::uint32_t more = 1 + below(1000);
      EXPECT_LE(ctas_per_sm(type, {k.ctas, k.warps + more, k.registers, k.shared_bytes}), ctas);
      EXPECT_LE(ctas_per_sm(type, {k.ctas, k.warps, k.registers + more, k.shared_bytes}), ctas);
      EXPECT_LE(ctas_per_sm(type, {k.ctas, k.warps, k.registers, k.shared_bytes + more}), ctas);

      const std::uint32_t sms = sms_needed(type, k);
      EXPECT_LE(sms, type.sms);
      EXPECT_GE(sms_needed(type, {k.ctas + more, k.warps, k.registers, k.shared_bytes}), sms);
      if (ctas > 0 && sms < type.sms) {
        EXPECT_GE(sms * ctas, k.ctas);
      }
    }
  }
}

// So that first fit by SMs is first fit by the four resources (MegaStation §4.4).
TEST(Occupancy, WhatFitsByItsSmsFitsInEveryResource) {
  Random random(2);
  const auto below = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random.next() % n); };
  for (int i = 0; i < 2'000; ++i) {
    for (const DeviceType& type : gpu_types()) {
      std::uint64_t sms = 0, ctas = 0, warps = 0, registers = 0, shared_bytes = 0;
      while (sms < type.sms) {
        const Footprint k = {1 + below(2'000), 1 + below(16), below(128), below(60 * 1024)};
        const std::uint32_t each = ctas_per_sm(type, k);
        if (each == 0 || k.ctas > each * (type.sms - sms)) break;
        sms += sms_needed(type, k);
        ctas += k.ctas;
        warps += std::uint64_t{k.ctas} * k.warps;
        registers += std::uint64_t{k.ctas} * k.warps * k.registers * kWarpThreads;
        shared_bytes += std::uint64_t{k.ctas} * k.shared_bytes;
      }
      EXPECT_LE(ctas, std::uint64_t{type.sm.ctas} * type.sms);
      EXPECT_LE(warps, std::uint64_t{type.sm.warps} * type.sms);
      EXPECT_LE(registers, std::uint64_t{type.sm.registers} * type.sms);
      EXPECT_LE(shared_bytes, std::uint64_t{type.sm.shared_bytes} * type.sms);
    }
  }
}

}  // namespace
}  // namespace carillon::runtime
