// Sets the machine's clocks for threads that must not wait for the kernel.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <semaphore>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "power/control.hpp"

namespace carillon::power {

/// One clock for all domains of some cores, of a list that each of them has. A thread of its own
/// writes: a wish costs its maker a wake-up at most, and of several the newest counts. It looks
/// again ten times a second, and sets what could not be set or what another program changed.
class Actuator {
 public:
  /// Takes the journal of that sysfs, so that what is found is put back at the end, or by the next
  /// process where this one is killed, and sets the first clock. `priority`: the thread's under
  /// SCHED_FIFO where that is allowed; 0: an ordinary one. Throws Refused for a core whose clock
  /// cannot be set, a clock that a domain does not have, and while another process has control.
  Actuator(Files& files, const std::filesystem::path& sysfs, const std::set<std::uint32_t>& cores,
           const std::vector<double>& clocks_mhz, std::uint32_t first, int priority = 0);
  ~Actuator();

  /// By its place in the list. Any thread.
  void want(std::uint32_t clock) noexcept;
  /// The one that was set last on all domains. Any thread.
  std::uint32_t clock() const noexcept { return clock_.load(std::memory_order_acquire); }

  /// Ends the thread and puts all back. What went wrong, each once: clocks that could not be set,
  /// that another program changed, or that could not be put back.
  std::vector<std::string> finish();

 private:
  void run(int priority) noexcept;
  void look() noexcept;
  void set(std::uint32_t clock);

  std::vector<std::uint32_t> clocks_khz_;
  Journal journal_;
  ClockControl control_;
  std::vector<Domain> domains_;
  std::set<std::string> problems_;  // the thread's, until it has ended
  bool everywhere_ = false;         // likewise: all domains took what was tried last
  std::atomic<std::uint32_t> wanted_, clock_;
  std::atomic<bool> ending_{false};
  std::counting_semaphore<> wishes_{0};
  std::thread thread_;
};

}  // namespace carillon::power
