#include "app/clocks.hpp"

namespace carillon::app {

Clocks::Clocks(const power::PowerPlan& plan, runtime::Runtime& runtime,
               const std::set<std::uint32_t>& cores, bool realtime)
    : clocks_(plan.clocks), runtime_(runtime) {
  if (!plan.emulated()) {
    sysfs_.emplace(plan.sysfs);
    // As urgent as the loops, so that it has a core as soon as one of them naps.
    actuator_.emplace(*sysfs_, plan.sysfs, cores, clocks_, power::first_clock(plan),
                      realtime ? Loop::kPriority : 0);
  }
  if (plan.governed()) governor_.emplace(power::Predicted{plan.late}, plan.governor);
  if (actuator_)
    is_set(actuator_->clock());
  else
    set(power::first_clock(plan));
}

// A faster clock would have helped those for whose work there was too little time, if there was
// one. Whether it would have helped those that a standstill made late nobody knows.
void Clocks::settled(const telemetry::FrameRecord& record) noexcept {
  const bool at_lower = record.clock_mhz < static_cast<std::uint32_t>(clocks_.back()) ||
                        record.air_start < raised_.load(std::memory_order_relaxed);
  const bool for_want_of_time =
      record.late_cause == static_cast<std::uint32_t>(telemetry::LateCause::Processing);
  if (at_lower && for_want_of_time) late_.fetch_add(1, std::memory_order_relaxed);
  ended_.fetch_add(1, std::memory_order_release);
}

bool Clocks::step() noexcept {
  if (actuator_) is_set(actuator_->clock());
  if (!governor_ || ended_.load(std::memory_order_relaxed) == 0) return false;
  const std::uint32_t ended = ended_.exchange(0, std::memory_order_acquire);
  set(governor_->decide({ended, late_.exchange(0, std::memory_order_relaxed), 0}));
  return true;
}

void Clocks::set(std::uint32_t clock) noexcept {
  if (actuator_) return actuator_->want(clock);
  runtime_.emulate_clock(clocks_[clock] / clocks_.back());
  is_set(clock);
}

void Clocks::is_set(std::uint32_t clock) noexcept {
  const auto mhz = static_cast<std::uint32_t>(clocks_[clock]);
  if (mhz == mhz_.load(std::memory_order_relaxed)) return;
  if (clock + 1 == clocks_.size()) raised_.store(now(), std::memory_order_relaxed);
  mhz_.store(mhz, std::memory_order_relaxed);
}

std::vector<std::string> Clocks::finish() {
  return actuator_ ? actuator_->finish() : std::vector<std::string>();
}

}  // namespace carillon::app
