// What carries issues out: cores, a GPU, or arithmetic in virtual time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/policy.hpp"
#include "runtime/scoreboard.hpp"

namespace carillon::runtime {

/// An issue has come to its end: all its chunks are done, or those that a cancel did not stop.
struct Finished {
  InstanceId what;
  std::uint32_t count = 0;  ///< chunks of the issue that were executed, or failed
  std::uint16_t device = 0;
  Tick executed = 0, at = 0;  ///< start of its first chunk, end of its last
  Tick busy = 0;
  bool failed = false;  ///< its device died: they have to be issued again
  /// Of the device, in which it had to wait for those before it.
  std::uint16_t queue = kNoQueue;
  static constexpr std::uint16_t kNoQueue = 0xffff;
};

/// A device of a pool is there, or is no longer.
struct DeviceEvent {
  std::uint16_t device = 0;
  bool up = false;
};

/// Called by the scheduler only. Every issue ends in exactly one Finished.
class Executor {
 public:
  virtual ~Executor() = default;
  /// How many issues it can take now.
  virtual std::size_t room() const noexcept = 0;
  virtual void issue(const Issue& issue, Tick now) noexcept = 0;
  /// The scheduler has issued and polled all it will for now.
  virtual void flush() noexcept {}
  virtual std::size_t poll(std::span<Finished> out) noexcept = 0;
  /// Chunks of the instance that were issued and are not done.
  virtual std::uint32_t undone(const InstanceId& what) const noexcept = 0;
  /// Starts no further chunk of the instance.
  virtual void cancel(const InstanceId& what) noexcept = 0;
  /// Sets aside what a frame will need of it. False: it has not that much left.
  virtual bool admit(FrameRef) noexcept { return true; }
  /// A frame that it admitted is over: nothing of it is issued any more, or will be.
  virtual void over(FrameRef) noexcept {}
  /// What became of devices since the last call, in order.
  virtual std::size_t poll(std::span<DeviceEvent>) noexcept { return 0; }
  /// Whether the result of a committed instance is nowhere any more.
  virtual bool lost(const InstanceId&) const noexcept { return false; }
};

}  // namespace carillon::runtime
