// What the radio unit says went on air, frame by frame. Receivers write, the conductor reads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "fronthaul/packet.hpp"

namespace carillon::app {

class OnAir {
 public:
  /// A report: bit i of `replaced` says that in frame - i something was substituted. Any thread.
  void reported(std::uint64_t frame, std::uint32_t replaced) noexcept {
    for (std::uint32_t i = 0; i < fronthaul::kReportedFrames && i <= frame; ++i)
      frames_[(frame - i) % kKept].store((frame - i) << 1 | (replaced >> i & 1),
                                         std::memory_order_relaxed);
    any_.store(true, std::memory_order_release);
  }
  /// Whether this radio unit reports at all.
  bool any() const noexcept { return any_.load(std::memory_order_acquire); }
  /// Whether something of this frame was substituted; none: it is not known.
  std::optional<bool> substituted(std::uint64_t frame) const noexcept {
    const std::uint64_t seen = frames_[frame % kKept].load(std::memory_order_relaxed);
    if (!any() || seen >> 1 != frame) return std::nullopt;
    return (seen & 1) != 0;
  }

 private:
  static constexpr std::size_t kKept = 128;

  std::array<std::atomic<std::uint64_t>, kKept> frames_{};
  std::atomic<bool> any_{false};
};

}  // namespace carillon::app
