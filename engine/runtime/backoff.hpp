// What a thread does when it has nothing to do: sleep when that is safe, spin otherwise, and never
// use up the kernel's real-time allowance.
#pragma once

#include <cstdint>

#include "base/thread.hpp"
#include "base/tick.hpp"
#include "runtime/graph.hpp"

namespace carillon::runtime {

class Backoff {
 public:
  struct Options {
    Tick wakeup_p99 = 100 * kMicrosecond;  ///< of this machine: see measure_wakeup_p99
    double asleep_share = 0;  ///< of the time that must be slept whatever happens (FIFO: 0.05)
    Tick (*now)() noexcept = carillon::now;  ///< the clock, which a test may replace
    void (*sleep_until)(Tick) noexcept = carillon::sleep_until;
  };
  explicit Backoff(Options options);

  /// Nothing to do before `until`: sleeps if that is further away than the wake-up p99 (and wakes
  /// that much early), else pauses for about a microsecond. Returns the time slept.
  Tick idle(Tick until) noexcept;
  /// Call now and then under load: sleeps when the share is badly owed, since being stopped by the
  /// kernel for 50 ms would be far worse. Returns the time slept.
  Tick pay(Tick now) noexcept;

  Tick slept() const { return slept_; }
  /// When the last sleep was to end.
  Tick due() const { return due_; }

 private:
  Tick sleep(Tick now, Tick until) noexcept;
  Tick owed(Tick now) noexcept;

  Options options_;
  Tick since_;      // start of the present accounting window
  Tick slept_ = 0;  // in all
  Tick window_slept_ = 0;
  Tick due_ = 0;
};

}  // namespace carillon::runtime
