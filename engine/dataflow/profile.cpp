#include "dataflow/profile.hpp"

#include <semaphore.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/aligned.hpp"
#include "base/thread.hpp"
#include "base/tick.hpp"

namespace carillon::dataflow {
namespace {

constexpr std::size_t kEvicted = std::size_t{8} << 20;  // bytes: more than a core's own caches
constexpr Tick kGroup = 2 * kMicrosecond;               // of warm batches

// Samples of about one, so that nothing is denormal.
class Window {
 public:
  Window(Block& block, std::size_t batch)
      : block_(block), batch_(batch), out_(block.writes(batch)) {
    for (std::size_t i = 0; i < block.ports().inputs.size(); ++i) {
      in_.emplace_back(block.reads(i, batch));
      for (std::size_t k = 0; k < in_[i].size(); ++k) in_[i][k] = k % 3 == 0 ? 0.5F : -0.25F;
      windows_.push_back(in_[i].data());
    }
  }
  void execute() {
    block_.tags_out.clear();
    block_.execute(windows_.data(), out_.data(), batch_);
  }

 private:
  Block& block_;
  std::size_t batch_;
  std::vector<AlignedArray<float>> in_;
  std::vector<const float*> windows_;
  AlignedArray<float> out_;
};

std::vector<double> warm(Window& window, Tick end) {
  std::vector<double> found;
  std::uint64_t calls = 1;
  do {
    const Tick start = now();
    for (std::uint64_t i = 0; i < calls; ++i) window.execute();
    const Tick took = now() - start;
    if (took < kGroup && calls < (1U << 20)) {
      calls *= 2;
      continue;
    }
    found.push_back(static_cast<double>(took) / static_cast<double>(calls));
  } while (found.empty() || now() < end);
  return found;
}

std::vector<double> cold(Window& window, Tick end) {
  AlignedArray<std::uint64_t> other(kEvicted / sizeof(std::uint64_t));
  std::vector<double> found;
  Tick asking = kSecond;  // what the clock itself takes
  for (int i = 0; i < 32; ++i) {
    const Tick first = now();
    asking = std::min(asking, now() - first);
  }
  do {
    for (std::size_t i = 0; i < other.size(); i += kCacheLine / sizeof(std::uint64_t)) ++other[i];
    const Tick start = now();
    window.execute();
    found.push_back(static_cast<double>(std::max<Tick>(now() - start - asking, 0)));
  } while (now() < end);
  return found;
}

std::vector<double> in_place(Window& window, double seconds, double period_us) {
  const Tick start = now();
  window.execute();
  const auto once = static_cast<double>(now() - start);
  const auto period = static_cast<Tick>(std::max(1e3 * period_us, 4 * once));
  const auto wake_ups =
      static_cast<std::size_t>(std::max(2.0, seconds * 1e9 / static_cast<double>(period)));
  std::vector<double> found;
  found.reserve(wake_ups);
  sem_t there;
  sem_init(&there, 0, 0);
  std::thread worker([&] {
    Tick before = own_cpu_time();
    for (std::size_t i = 0; i < wake_ups; ++i) {
      while (sem_wait(&there) != 0) {
      }
      window.execute();
      const Tick after = own_cpu_time();
      found.push_back(static_cast<double>(after - before));
      before = after;
    }
  });
  timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  for (std::size_t i = 0; i < wake_ups; ++i) {
    at.tv_nsec += period;
    at.tv_sec += at.tv_nsec / kSecond;
    at.tv_nsec %= kSecond;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
    sem_post(&there);
  }
  worker.join();
  sem_destroy(&there);
  return found;
}

}  // namespace

std::vector<double> profile(Block& block, const ProfileOptions& options) {
  Window window(block, options.batch);
  window.execute();
  const Tick end = now() + static_cast<Tick>(options.seconds * 1e9);
  switch (options.setting) {
    case Setting::Warm: return warm(window, end);
    case Setting::Cold: return cold(window, end);
    case Setting::InPlace: break;
  }
  return in_place(window, options.seconds, options.period_us);
}

}  // namespace carillon::dataflow
