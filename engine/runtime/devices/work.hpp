// What an instruction asks of a device, whatever the device: from it a device model computes time.
#pragma once

#include <cstdint>

#include "base/tick.hpp"
#include "runtime/devices/occupancy.hpp"

namespace carillon::runtime {

struct Work {
  Footprint footprint = {};  ///< no CTAs: a transfer between host and device (Load, Store)
  double flops = 0;          ///< per CTA
  double bytes = 0;          ///< of device memory, per CTA
  double efficiency = 1;     ///< share of an SM's peak that resident CTAs reach together when full
  bool half = false;         ///< of the matrix units' half-precision peak, not of fp32's
  Tick floor = 0;            ///< what a CTA takes however fast the device: its serial part
  std::uint64_t moved = 0;   ///< Load, Store: bytes over the host's link
  std::uint64_t output = 0;  ///< bytes of its result, which a reader on another device has to get
  bool operator==(const Work&) const = default;
};

/// What a kernel asks of one type of device.
struct KernelLoad {
  std::uint32_t ctas = 1;
  std::uint32_t ctas_per_sm = 1;  ///< at most, by its occupancy
  Tick floor = 0;                 ///< what a CTA takes however much room it has
  double sm_time = 0;             ///< ns that a CTA takes besides when its SM is its own
  double bytes = 0;               ///< of device memory, per CTA
};

/// `work` must fit the device: ctas_per_sm(type, work.footprint) > 0. On a host's cores the same
/// operations take what kernels for CPUs do; the serial part is a GPU's.
KernelLoad load_on(const DeviceType& type, const Work& work);

}  // namespace carillon::runtime
