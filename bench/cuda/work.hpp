// What launches amount to, what a device can do, and the time that it needs at least.
#pragma once

#include <cstdint>

#include "phy/ldpc/ldpc.hpp"

namespace carillon::bench {

/// What a launch amounts to.
struct GpuWork {
  double bytes = 0;         ///< of device memory, read and written once
  double bus_bytes = 0;     ///< from the host's memory
  double shared_bytes = 0;  ///< of shared memory, read and written
  double flops = 0;         ///< fp32
  double half_flops = 0;    ///< fp16 on tensor cores
  double int_ops = 0;       ///< on 32-bit words, lanes of bytes among them
  double bits = 0;          ///< of information, where that is what counts
};

/// What the device can do: memory and bus by copies that were just measured, all else by its clock.
struct GpuPeaks {
  double bytes_per_us = 0, bus_bytes_per_us = 0, shared_bytes_per_us = 0;
  double flops_per_us = 0, half_flops_per_us = 0, int_ops_per_us = 0;
};

/// What depends on the clock, of a device of a compute capability.
GpuPeaks clocked_peaks(int major, int minor, double mhz, std::uint32_t sms);

/// µs that the device needs at least: by the tightest of its limits.
double bound_us(const GpuWork& work, const GpuPeaks& peaks);

/// Decoding `count` code blocks of which the first `sent` bits were received, by what layered
/// offset-min-sum has to do, whatever the kernel. docs/internals/gpu-decoder.md derives it.
GpuWork decode_work(phy::LdpcCode code, std::uint32_t sent, double iterations, double count);

}  // namespace carillon::bench
