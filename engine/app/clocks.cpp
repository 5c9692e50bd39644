#include "app/clocks.hpp"

namespace carillon::app {

Clocks::Clocks(const power::PowerPlan& plan, runtime::Runtime& runtime)
    : clocks_(plan.clocks), runtime_(runtime) {
  if (plan.governed()) governor_.emplace(power::Predicted{plan.late}, plan.governor);
  set(power::first_clock(plan));
}

// A faster clock would have helped only those for whose work there was too little time.
void Clocks::settled(const telemetry::FrameRecord& record) noexcept {
  const bool curable =
      record.late_cause == static_cast<std::uint32_t>(telemetry::LateCause::Processing);
  if (curable) late_.fetch_add(1, std::memory_order_relaxed);
  ended_.fetch_add(1, std::memory_order_release);
}

bool Clocks::step() noexcept {
  if (!governor_ || ended_.load(std::memory_order_relaxed) == 0) return false;
  const std::uint32_t ended = ended_.exchange(0, std::memory_order_acquire);
  set(governor_->decide({ended, late_.exchange(0, std::memory_order_relaxed), 0}));
  return true;
}

void Clocks::set(std::uint32_t clock) noexcept {
  runtime_.emulate_clock(clocks_[clock] / clocks_.back());
  mhz_.store(static_cast<std::uint32_t>(clocks_[clock]), std::memory_order_relaxed);
}

}  // namespace carillon::app
