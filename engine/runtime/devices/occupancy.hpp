// How many CTAs of a kernel an SM holds at once: computed from the published limits and allocation
// units, so that it needs no device.
#pragma once

#include <cstdint>

#include "runtime/devices/device_type.hpp"

namespace carillon::runtime {

/// What a kernel asks for: the tuple by which MegaStation describes an executor (§4.3, table 1).
struct Footprint {
  std::uint32_t ctas = 0;          ///< of the kernel
  std::uint32_t warps = 0;         ///< per CTA
  std::uint32_t registers = 0;     ///< per thread
  std::uint32_t shared_bytes = 0;  ///< per CTA, static and dynamic

  bool operator==(const Footprint&) const = default;
};

/// CTAs that one SM holds at once; 0: they cannot run on it. A warp's registers come from one of
/// the SM's partitions in units; a CTA's shared memory comes in units, with what the system
/// reserves. Assumes that the driver gives shared memory all of the L1 cache that it may (the
/// default carve-out); does not know clusters, barriers or partitioned caching.
std::uint32_t ctas_per_sm(const DeviceType& device, const Footprint& kernel);

/// SMs that all its CTAs occupy when each SM is filled before the next is taken, at most all there
/// are (§4.5: the SM use of an executor). 0: it cannot run, or has no CTAs.
std::uint32_t sms_needed(const DeviceType& device, const Footprint& kernel);

}  // namespace carillon::runtime
