// Tests that watch the clock cannot tell a late program from a machine that stood still. While one
// of them runs, a thread on each core notices when it is not run; a test that failed meanwhile says
// nothing, and is done again.
#pragma once

#include <atomic>
#include <list>
#include <thread>

#include "base/tick.hpp"

namespace carillon::test {

class StandstillWatch {
 public:
  StandstillWatch();
  ~StandstillWatch();
  StandstillWatch(const StandstillWatch&) = delete;
  StandstillWatch& operator=(const StandstillWatch&) = delete;

  /// Forgets what was noticed so far.
  void reset() noexcept { longest_.store(0); }
  /// How long a core did not run its thread, at most, since the last reset.
  Tick longest() const noexcept { return longest_.load(); }

 private:
  void watch(std::uint32_t cpu) noexcept;

  std::atomic<bool> over_ = false;
  std::atomic<Tick> longest_ = 0;
  std::list<std::jthread> threads_;
};

/// Above that, a failure is the machine's.
inline constexpr Tick kStandstill = 5 * kMillisecond;
/// How often a test that the machine disturbed is done at most.
inline constexpr int kAttempts = 6;

}  // namespace carillon::test
