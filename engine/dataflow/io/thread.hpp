// A thread of a block's own that waits for its device, so that no worker does.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace carillon::dataflow {

/// That a thread is to end, and for how long it may still wait for its device. Every wait of an I/O
/// thread is one of these, so that no device holds up its end.
class Stop {
 public:
  Stop();  ///< Throws std::system_error.
  ~Stop();
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  /// From then on a wait lasts no longer than `patience_ms`.
  void ask(int patience_ms) noexcept;
  bool is_asked() const noexcept { return patience_ms_.load(std::memory_order_acquire) >= 0; }

  /// Until the file is ready for `events` (POLLIN, POLLOUT) or has an error. False: it is not, and
  /// the thread is to end, or `most_ms` have passed.
  bool wait_for(int file, short events, int most_ms = -1) const noexcept;
  /// Until then, or until it is asked.
  void sleep(int ms) const noexcept;
  /// For other polls: readable once it is asked.
  int file() const noexcept { return file_; }
  int patience_ms() const noexcept { return patience_ms_.load(std::memory_order_acquire); }

 private:
  int file_;
  std::atomic<int> patience_ms_{-1};
};

class IoThread {
 public:
  IoThread() = default;
  ~IoThread() { stop(0); }
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  /// Runs `body` until it returns. What it throws becomes failure(). Throws std::runtime_error the
  /// second time.
  void start(const std::string& name, std::function<void(const Stop&)> body);
  /// Asks it to end, and waits until it has.
  void stop(int patience_ms) noexcept;

  bool has_ended() const noexcept { return ended_.load(std::memory_order_acquire); }
  std::string failure() const;
  void fail(const std::string& why);  ///< The first one stays.

 private:
  Stop stop_;
  std::atomic<bool> ended_{false};
  mutable std::mutex lock_;
  std::string failure_;
  std::thread thread_;
};

/// "FILE: No space left on device", with what helps where that is known.
std::string of_system(const std::string& what, int error);
/// Throws it as std::runtime_error.
[[noreturn]] void fail_by_system(const std::string& what, int error);

}  // namespace carillon::dataflow
