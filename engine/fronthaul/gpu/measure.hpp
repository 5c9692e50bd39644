// One path into a GPU's memory, or as far towards it as this machine goes: known blocks are
// received, moved and checked, and the time is taken.
#pragma once

#include <cstdint>
#include <string>

#include "base/cuda/device.hpp"
#include "fronthaul/gpu/verbs.hpp"

namespace carillon::fronthaul::gpu {

enum class Path : std::uint8_t {
  StagedHost,  ///< received into pageable memory, copied into the ring: staged, without a device
  PinnedHost,  ///< received into the ring: pinned, without a device
  Staged,  ///< received into pageable memory, copied into registered memory, copied to the device
  PinnedCopy,  ///< received into registered memory, copied to the device
  PinnedRead,  ///< received into registered memory, which kernels read over the bus
  CardHost,    ///< a network card writes into the ring: direct, without a device
  DmaBuf,      ///< a network card writes into the device's memory, told to it as a dma-buf
  Peermem,     ///< the same, told to it by address
};

struct IngestPlan {
  Path path = Path::PinnedHost;
  std::uint32_t channels = 1;           ///< 1 to 8
  std::uint32_t block_bytes = 1 << 20;  ///< 64 B to 64 MiB, a multiple of 64
  double seconds = 0.5;                 ///< how long to measure, at least a block of every channel
  double msps = 0;                      ///< of each channel; 0: as fast as it goes
  Card card;                            ///< of the paths that need one
};

struct IngestResult {
  std::string error;  ///< a device's or a card's, in words; then the figures mean nothing
  double seconds = 0;
  std::uint64_t blocks = 0, bytes = 0;
  double cpu_seconds = 0;         ///< of the receiving thread
  double source_cpu_seconds = 0;  ///< of the thread that stands for the radio
  std::uint32_t slots = 0;        ///< of the ring
  /// Blocks whose sums were compared. On a device all that are measured; on the host as many as
  /// fill the ring twice, before the time is taken, and those that are in it after.
  std::uint64_t checked = 0;
  std::uint64_t wrong = 0;         ///< of those, with other samples than were sent
  std::uint64_t lost_samples = 0;  ///< that gaps between time stamps tell of
  std::uint64_t out_of_order = 0;  ///< blocks that came twice or too late
  std::uint64_t dropped = 0;       ///< blocks that the source could not hold
};

/// Throws std::invalid_argument on a plan that cannot be; std::system_error and std::bad_alloc as
/// Source does. `device` is used by paths that need one.
IngestResult measure(const IngestPlan& plan, const cuda::Device* device);

/// ns of a core for what a descriptor takes whatever its size: claim, metadata, publish, the time
/// stamp's check, retire. No samples, no system call, no driver.
double descriptor_ns();

}  // namespace carillon::fronthaul::gpu
