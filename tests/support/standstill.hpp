// Tests that watch the clock cannot tell a late program from a machine that stood still. While one
// of them runs, a thread on each core notices when it is not run; a test that failed meanwhile says
// nothing, and is done again.
#pragma once

#include <atomic>
#include <list>
#include <stop_token>
#include <thread>

#include "base/tick.hpp"

namespace carillon::test {

/// Notices nothing where real-time priority is refused: a thread without it would take what the
/// tests themselves do to their cores for a standstill.
class StandstillWatch {
 public:
  StandstillWatch();

  /// Forgets what was noticed so far.
  void reset() noexcept { longest_.store(0); }
  /// How long a core did not run its thread, at most, since the last reset. Waits for threads that
  /// are about to notice.
  Tick longest() const noexcept;

 private:
  void watch(std::stop_token stop, std::uint32_t cpu) noexcept;

  std::atomic<Tick> longest_ = 0;
  std::list<std::jthread> threads_;  // joined before what they write to goes
};

/// From that on, a failure is the machine's.
inline constexpr Tick kStandstill = 5 * kMillisecond;
/// How often a test that the machine disturbed is done at most.
inline constexpr int kAttempts = 6;

}  // namespace carillon::test
