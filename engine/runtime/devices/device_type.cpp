#include "runtime/devices/device_type.hpp"

#include <algorithm>

namespace carillon::runtime {
namespace {

constexpr std::uint32_t kKiB = 1024;
constexpr std::uint64_t kGiB = 1ULL << 30;

// What the three architectures have in common; they differ in shared memory.
constexpr SmLimits sm_limits(std::uint32_t shared_kib, std::uint32_t cta_shared_kib,
                             std::uint32_t shared_unit, std::uint32_t shared_reserved) {
  return {.ctas = 32,
          .warps = 64,
          .registers = 64 * kKiB,
          .shared_bytes = shared_kib * kKiB,
          .cta_threads = 1024,
          .cta_shared_bytes = cta_shared_kib * kKiB,
          .thread_registers = 255,
          .partitions = 4,
          .register_unit = 256,
          .shared_unit = shared_unit,
          .shared_reserved = shared_reserved};
}

constexpr SmLimits kVolta = sm_limits(96, 96, 256, 0);            // compute capability 7.0
constexpr SmLimits kAmpere = sm_limits(164, 163, 128, 1 * kKiB);  // 8.0
constexpr SmLimits kHopper = sm_limits(228, 227, 128, 1 * kKiB);  // 9.0

constexpr DeviceType kDeviceTypes[] = {
    {.name = "v100",
     .sms = 80,
     .sm = kVolta,
     .fp32_flops = 14e12,
     .half_flops = 112e12,
     .memory_bytes_per_s = 900e9,
     .memory_bytes = 16 * kGiB,
     .watts = 250,
     .source = "V100 PCIe 16 GB: NVIDIA V100 datasheet (2020), Tesla V100 architecture whitepaper"},
    {.name = "a100",
     .sms = 108,
     .sm = kAmpere,
     .fp32_flops = 19.5e12,
     .half_flops = 312e12,
     .memory_bytes_per_s = 1555e9,
     .memory_bytes = 40 * kGiB,
     .watts = 250,
     .source = "A100 PCIe 40 GB: NVIDIA A100 datasheet (2020), A100 architecture whitepaper"},
    {.name = "h100",
     .sms = 132,
     .sm = kHopper,
     .fp32_flops = 66.9e12,
     .half_flops = 989.4e12,
     .memory_bytes_per_s = 3352e9,
     .memory_bytes = 80 * kGiB,
     .watts = 700,
     .source = "H100 SXM5 80 GB: NVIDIA H100 architecture whitepaper, H100 datasheet"},
    {.name = "h200",
     .sms = 132,
     .sm = kHopper,
     .fp32_flops = 66.9e12,
     .half_flops = 989.4e12,
     .memory_bytes_per_s = 4.8e12,
     .memory_bytes = 141 * kGiB,
     .watts = 700,
     .source = "H200 SXM 141 GB: NVIDIA H200 datasheet; the GPU is that of the H100 SXM5"},
    {.name = "epyc-7763",
     .host = true,
     .sms = 64,
     .sm = {},
     .fp32_flops = 64 * 2.45e9 * 32,  // base clock, two 256-bit multiply-adds per cycle
     .half_flops = 64 * 2.45e9 * 32,
     .memory_bytes_per_s = 204.8e9,
     .memory_bytes = 256 * kGiB,
     .watts = 280,
     .source = "EPYC 7763: AMD EPYC 7003 datasheet; 256 GiB of memory is assumed"},
};

}  // namespace

std::span<const DeviceType> device_types() { return kDeviceTypes; }

const DeviceType* find_device_type(std::string_view name) {
  const auto* found = std::ranges::find(kDeviceTypes, name, &DeviceType::name);
  return found == std::ranges::end(kDeviceTypes) ? nullptr : found;
}

}  // namespace carillon::runtime
