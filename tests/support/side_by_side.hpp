// Two threads that run a function beside the caller's, again and again. To start them anew for each
// of a kernel's phases would be most of what ThreadSanitizer's tests take.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace carillon::test {

class SideBySide {
 public:
  static constexpr std::uint32_t kThreads = 3;

  SideBySide() : second_([this] { work(1); }), third_([this] { work(2); }) {}
  SideBySide(const SideBySide&) = delete;
  SideBySide& operator=(const SideBySide&) = delete;
  ~SideBySide() {
    call_ = nullptr;
    begin();
  }

  /// The calling thread's own.
  static SideBySide& here() {
    static thread_local SideBySide its;
    return its;
  }

  /// part(0), part(1) and part(2), each on a thread of its own; back when all have ended.
  template <typename Part>
  void run(const Part& part) {
    call_ = [](const void* its, std::uint32_t number) { (*static_cast<const Part*>(its))(number); };
    part_ = &part;
    left_.store(kThreads - 1, std::memory_order_relaxed);
    begin();
    part(0);
    while (const std::uint32_t left = left_.load(std::memory_order_acquire)) left_.wait(left);
  }

 private:
  void begin() {
    for (auto& round : rounds_) {
      round.fetch_add(1, std::memory_order_release);
      round.notify_one();
    }
  }
  void work(std::uint32_t number) {
    for (std::uint32_t seen = 0;; ++seen) {
      rounds_[number - 1].wait(seen, std::memory_order_acquire);
      if (call_ == nullptr) return;
      call_(part_, number);
      if (left_.fetch_sub(1, std::memory_order_release) == 1) left_.notify_one();
    }
  }

  void (*call_)(const void*, std::uint32_t) = nullptr;
  const void* part_ = nullptr;
  // A word each: the library counts those that wait for one in one atomic, and ThreadSanitizer
  // would take that for an order of the two.
  std::atomic<std::uint32_t> rounds_[kThreads - 1] = {}, left_{0};
  std::jthread second_, third_;  // the last, for they use the rest
};

}  // namespace carillon::test
