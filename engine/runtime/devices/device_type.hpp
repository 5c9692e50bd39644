// The kinds of device a pool can be made of, as their makers describe them. Nothing here was
// measured: costs that are computed from these figures are bounds until a profile replaces them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace carillon::runtime {

/// Threads of a warp, on every device here.
inline constexpr std::uint32_t kWarpThreads = 32;

/// What one streaming multiprocessor (SM) can hold, and in which units it hands that out. Registers
/// have 32 bits. Source: CUDA C++ Programming Guide, "Compute Capabilities" (technical
/// specifications), and the occupancy calculator of CUDA 12.8 (cuda_occupancy.h) for the units.
struct SmLimits {
  std::uint32_t ctas = 0, warps = 0, registers = 0, shared_bytes = 0;  ///< resident at once

  std::uint32_t cta_threads = 0, cta_shared_bytes = 0;  ///< most of one CTA
  std::uint32_t thread_registers = 0;                   ///< most of one thread

  std::uint32_t partitions = 0;       ///< each with its share of the registers and whole warps
  std::uint32_t register_unit = 0;    ///< of a warp's registers
  std::uint32_t shared_unit = 0;      ///< bytes; of a CTA's shared memory
  std::uint32_t shared_reserved = 0;  ///< bytes of each CTA that the system keeps for itself
};

/// Peak rates are the published ones, at boost clock. A host's cores can stand in for a device:
/// each is an SM that runs one CTA at a time, without anything that limits what fits.
struct DeviceType {
  std::string_view name;
  bool host = false;
  std::uint32_t sms = 0;
  SmLimits sm;
  double fp32_flops = 0;  ///< per second; a multiply-add counts as two
  double half_flops = 0;  ///< per second, FP16 on the tensor cores, dense
  double memory_bytes_per_s = 0;
  std::uint64_t memory_bytes = 0;
  double watts = 0;         ///< the power limit of the board, or the socket
  std::string_view source;  ///< the board meant, and where its figures are published
};

/// v100, a100, h100, h200, and epyc-7763, a host's. MegaStation's pool hangs on routable PCIe
/// (§2.4, §5), so its V100 and A100 are the PCIe boards; H100 and H200 are the SXM ones.
std::span<const DeviceType> device_types();

/// Null when there is none of that name.
const DeviceType* find_device_type(std::string_view name);

}  // namespace carillon::runtime
