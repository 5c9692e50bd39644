// What carries issues out in virtual time.
#pragma once

#include <span>

#include "runtime/executor.hpp"

namespace carillon::runtime {

/// What a device did, as the trace of a real one would show it.
struct Execution {
  InstanceId what;
  std::uint32_t device = 0;
  std::uint32_t first = 0, count = 0;  ///< chunks
  Tick start = 0, end = 0;
  std::uint16_t queue = 0;                           ///< of the device's hardware
  Reason why = Reason::None, placed = Reason::None;  ///< of its Issue
  Tick expected = kNever;                            ///< likewise
};

class VirtualExecutor : public Executor {
 public:
  /// Ends what has ended by `now`.
  virtual void advance(Tick now) = 0;
  /// Starts what can start. True if anything did.
  virtual bool start(Tick now) = 0;
  /// When something happens next by itself; kNever when nothing will.
  virtual Tick next() const = 0;
  /// poll() would return something.
  virtual bool pending() const = 0;
  /// Unless it is pending, nothing happens in it that is the scheduler's business.
  virtual bool self_driven() const { return false; }
  virtual std::span<const Execution> executions() const = 0;
};

}  // namespace carillon::runtime
