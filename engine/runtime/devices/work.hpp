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
};

/// A CTA's time when its SM is full of its kernel's CTAs, memory aside: floor + flops / (efficiency
/// · peak / SMs / resident CTAs). Throws std::invalid_argument when a CTA does not fit an SM.
Tick cta_time(const DeviceType& device, const Work& work);

}  // namespace carillon::runtime
