// How long before it is due on air a downlink has to leave, as the uplink's packets tell.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "base/tick.hpp"

namespace carillon::fronthaul {

/// Follows a quantile of T_f, the time from a frame's last received symbol on air to its last
/// packet: what the way takes in the one direction it is taken to take in the other (Malm et al.,
/// section 6). One thread notes; any thread reads.
class TransmitLead {
 public:
  static constexpr std::size_t kFrames = 1000;  // the newest ones count
  static constexpr std::size_t kAnew = 50;      // frames after which it is looked at again

  struct Options {
    double quantile = 0;  // 0: none is followed
    Tick least = 0;       // what it is without any frames
    Tick most = 0;        // at least `least`
  };
  explicit TransmitLead(const Options& options) : options_(options), lead_(options.least) {}

  /// T_f of one more frame; below zero where its packets were faster than the radio's clock says.
  void note(Tick delay) noexcept;
  Tick lead() const noexcept { return lead_.load(std::memory_order_relaxed); }

 private:
  const Options options_;
  std::array<Tick, kFrames> delays_{}, sorted_{};
  std::size_t noted_ = 0;
  std::atomic<Tick> lead_;
};

}  // namespace carillon::fronthaul
