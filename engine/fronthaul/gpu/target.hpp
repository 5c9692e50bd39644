// Where blocks go from a ring, and are checked.
#pragma once

#include <memory>
#include <string>

#include "base/cuda/device.hpp"
#include "fronthaul/gpu/check.hpp"
#include "fronthaul/gpu/ring.hpp"

namespace carillon::fronthaul::gpu {

class Source;

/// What may fail tells what has failed in words; empty: it went well.
class Target {
 public:
  virtual ~Target() = default;
  /// Whether it fetches blocks from the source's memory: then their metadata alone is received into
  /// the ring.
  virtual bool fetches() const { return false; }
  /// Before the first block: the source that they come from.
  virtual std::string connect(const Source&) { return {}; }
  /// Begins to move and to check a published slot's block, after all that were taken before. Does
  /// not wait for them.
  virtual std::string take(std::uint32_t slot) = 0;
  /// Waits until that has ended; the slot may then be written again.
  virtual std::string finish(std::uint32_t slot) = 0;
  /// Of a finished slot.
  virtual const BlockCheck& check(std::uint32_t slot) const = 0;
};

/// Checks in the host's memory, where the block lies. `sums` false: time stamps only.
std::unique_ptr<Target> make_host_target(BlockRing& ring, bool sums);

/// How a device gets at a ring that is registered with its driver.
enum class Access : std::uint8_t {
  Copy,  ///< a copy engine moves the block, then kernels check it in the device's memory
  Read,  ///< the kernels read it over the bus
};

/// Null, and `status` says why, when memory cannot be registered or allocated. The ring outlives
/// it.
std::unique_ptr<Target> make_device_target(const cuda::Device& device, BlockRing& ring,
                                           Access access, Status& status);

}  // namespace carillon::fronthaul::gpu
