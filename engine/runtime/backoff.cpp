#include "runtime/backoff.hpp"

#include <algorithm>

namespace carillon::runtime {
namespace {

// The kernel counts real-time use per second; half of that keeps us well inside.
constexpr Tick kWindow = kSecond / 2;
// Idle time pays small debts at once; under load a debt may grow to a tenth of the window's share.
// Naps are short: something may be due in the middle of one.
constexpr Tick kLongestNap = 50 * kMicrosecond;
constexpr Tick kSmallDebt = 50 * kMicrosecond;
constexpr int kSpins = 16;
// However far away the next thing is, look up this often: somebody may want us to stop.
constexpr Tick kLongestSleep = 10 * kMillisecond;

}  // namespace

Backoff::Backoff(Options options) : options_(options), since_(options.now()) {}

// What should have been slept in this window by now and has not.
Tick Backoff::owed(Tick time) noexcept {
  if (options_.asleep_share <= 0) return 0;
  const Tick debt =
      static_cast<Tick>(options_.asleep_share * static_cast<double>(time - since_)) - window_slept_;
  if (time - since_ > kWindow) {
    // The debt is carried over; a surplus is not.
    since_ = time;
    window_slept_ = std::min<Tick>(0, -debt);
  }
  return std::max<Tick>(debt, 0);
}

Tick Backoff::sleep(Tick time, Tick until) noexcept {
  due_ = until;
  options_.sleep_until(until);
  const Tick slept = options_.now() - time;
  slept_ += slept;
  window_slept_ += slept;
  return slept;
}

Tick Backoff::idle(Tick until) noexcept {
  const Tick time = options_.now();
  const Tick latest = std::min(until, time + kLongestSleep);
  if (latest > time && latest - time > options_.wakeup_p99) {
    return sleep(time, latest - options_.wakeup_p99);
  }
  const Tick debt = owed(time);
  if (debt > kSmallDebt) return sleep(time, time + std::min(debt, kLongestNap));
  for (int i = 0; i < kSpins; ++i) spin_pause();
  return 0;
}

Tick Backoff::pay(Tick time) noexcept {
  const Tick debt = owed(time);
  const auto patience =
      static_cast<Tick>(options_.asleep_share * static_cast<double>(kWindow) / 10);
  if (debt <= std::max(patience, kSmallDebt)) return 0;
  return sleep(time, time + std::min(debt, kLongestNap));
}

}  // namespace carillon::runtime
