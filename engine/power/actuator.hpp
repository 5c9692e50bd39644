// Sets the machine's clocks for threads that must not wait for the kernel.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "power/control.hpp"

namespace carillon::power {

/// One clock for all domains of some cores, of a list that each of them has. A thread of its own
/// writes: a wish costs its maker a wake-up at most, and of several the newest counts.
class Actuator {
 public:
  /// Takes the journal of that sysfs, so that what is found is put back at the end, or by the next
  /// process where this one is killed. Throws Refused for a core whose clock cannot be set, a clock
  /// that a domain does not have, and while another process has control.
  Actuator(Files& files, const std::filesystem::path& sysfs, const std::set<std::uint32_t>& cores,
           const std::vector<double>& clocks_mhz);
  ~Actuator();

  /// By its place in the list. Any thread.
  void want(std::uint32_t clock) noexcept;
  /// The one that was set last on all domains; kNone before. Any thread.
  std::uint32_t clock() const noexcept { return clock_.load(std::memory_order_acquire); }
  static constexpr std::uint32_t kNone = 0x7fff'ffff;

  /// Ends the thread and puts all back. What went wrong, each once: clocks that could not be set,
  /// that another program changed, or that could not be put back.
  std::vector<std::string> finish();

 private:
  static constexpr std::uint32_t kEnd = 0x8000'0000;  // a bit beside the newest wish

  void run() noexcept;
  void set(std::uint32_t clock);
  void note_differences();

  std::vector<std::uint32_t> clocks_khz_;
  Journal journal_;
  ClockControl control_;
  std::vector<Domain> domains_;
  std::set<std::string> problems_;  // the thread's, until it has ended
  std::atomic<std::uint32_t> wanted_{kNone}, clock_{kNone};
  std::thread thread_;
};

}  // namespace carillon::power
