#include "support/standstill.hpp"

#include "base/cpu.hpp"
#include "base/thread.hpp"

namespace carillon::test {

namespace {

constexpr Tick kNap = 2 * kMillisecond;

}  // namespace

StandstillWatch::StandstillWatch() {
  for (const std::uint32_t cpu : allowed_cpus())
    threads_.emplace_back([this, cpu](std::stop_token stop) { watch(stop, cpu); });
}

Tick StandstillWatch::longest() const noexcept {
  sleep_until(now() + 2 * kNap);
  return longest_.load();
}

// Above all real-time threads of the tests.
void StandstillWatch::watch(std::stop_token stop, std::uint32_t cpu) noexcept {
  if (!pin_thread(cpu).done || !make_realtime(99).done) return;
  while (!stop.stop_requested()) {
    const Tick due = now() + kNap;
    sleep_until(due);
    const Tick late = now() - due;
    Tick longest = longest_.load();
    while (longest < late && !longest_.compare_exchange_weak(longest, late)) {
    }
  }
}

}  // namespace carillon::test
