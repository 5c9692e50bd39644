// The clock that cores have, or are emulated to have: one for the whole run, or as a governor
// decides by what frames came to.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/loop.hpp"
#include "power/actuator.hpp"
#include "power/governor.hpp"
#include "power/power_plan.hpp"
#include "runtime/runtime.hpp"
#include "telemetry/records.hpp"

namespace carillon::app {

class Clocks final : public Duty {
 public:
  /// A plan that chooses clocks, of these cores; the runtime outlives this. Throws power::Refused
  /// where cpufreq does not let them be set.
  Clocks(const power::PowerPlan& plan, runtime::Runtime& runtime,
         const std::set<std::uint32_t>& cores, bool realtime);

  RoleKind kind() const override { return RoleKind::Conductor; }
  /// Decides anew if frames were settled.
  bool step() noexcept override;
  Tick next_event() noexcept override { return runtime::kNever; }

  /// Any thread.
  void settled(const telemetry::FrameRecord& record) noexcept;
  const std::atomic<std::uint32_t>& mhz() const { return mhz_; }
  /// When no thread is at it any more: puts real clocks back, and says what went wrong.
  std::vector<std::string> finish();

 private:
  void set(std::uint32_t clock) noexcept;
  void is_set(std::uint32_t clock) noexcept;

  const std::vector<double> clocks_;
  runtime::Runtime& runtime_;
  std::optional<power::Sysfs> sysfs_;
  std::optional<power::Actuator> actuator_;  // none: clocks are emulated
  std::optional<power::Governor> governor_;
  std::atomic<std::uint32_t> ended_{0}, late_{0}, mhz_{0};
  std::atomic<Tick> raised_{0};  // when the highest clock began, after a lower one
};

}  // namespace carillon::app
