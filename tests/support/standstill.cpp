#include "support/standstill.hpp"

#include "base/cpu.hpp"
#include "base/thread.hpp"

namespace carillon::test {

StandstillWatch::StandstillWatch() {
  for (const std::uint32_t cpu : allowed_cpus()) threads_.emplace_back([this, cpu] { watch(cpu); });
}

StandstillWatch::~StandstillWatch() { over_.store(true); }

// Above all real-time threads of the tests where that is allowed, so as not to take those for
// standstills.
void StandstillWatch::watch(std::uint32_t cpu) noexcept {
  pin_thread(cpu);
  make_realtime(99);
  while (!over_.load(std::memory_order_relaxed)) {
    const Tick due = now() + 2 * kMillisecond;
    sleep_until(due);
    const Tick late = now() - due;
    Tick longest = longest_.load();
    while (longest < late && !longest_.compare_exchange_weak(longest, late)) {
    }
  }
}

}  // namespace carillon::test
