// What others keep of a device, as far as the times of our own work tell.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/tick.hpp"

namespace carillon::runtime {

/// How much of a device somebody else keeps, as the times of our kernels tell: of the SM time that
/// those that could run asked for, they got so much.
class Pace {
 public:
  /// A kernel that could start at `ready`, but for those before it in its queue, has ended. `sms`:
  /// that it takes of the device's `all` when it has them to itself, for `alone` ns.
  void ended(Tick ready, Tick end, std::uint16_t queue, std::uint32_t sms, double alone,
             std::uint32_t all);
  double others() const { return others_; }

 private:
  static constexpr Tick kStep = 8 * kMicrosecond;
  static constexpr std::int64_t kSteps = 1024;  // that are remembered
  static constexpr std::size_t kQueues = 1024;
  static constexpr Tick kLatest = 4 * kMillisecond;    // a kernel that ends later counts in part
  static constexpr Tick kUsual = 10 * kMicrosecond;    // launches and gaps
  static constexpr Tick kWindow = 400 * kMicrosecond;  // of the whole device
  static constexpr double kHardly = 0.15;              // chance hardly makes it look so little
  static constexpr double kFull = 0.75;                // chance makes it look so much

  struct Step {
    std::uint32_t asked = 0;  // SMs
    double got = 0;           // SM·ns, by what ended then
  };
  Step& at(std::int64_t step) { return steps_[static_cast<std::size_t>(step % kSteps)]; }
  void settle(std::int64_t until, std::uint32_t all);
  void close_window();

  std::array<Step, kSteps> steps_{};
  std::array<Tick, kQueues> free_{};       // by queue, when the last one there ended
  std::int64_t first_ = 0;                 // that is remembered
  double asked_ = 0, got_ = 0;             // SM·ns, of the window
  std::array<double, 3> shares_{1, 1, 1};  // of the last windows
  double others_ = 0;
};

}  // namespace carillon::runtime
