// A thread that plays several roles in turn, the most urgent first, and keeps account of its time.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/thread.hpp"
#include "base/tick.hpp"
#include "runtime/backoff.hpp"
#include "telemetry/records.hpp"
#include "telemetry/trace.hpp"

namespace carillon::app {

/// Bits as in telemetry::ThreadRecord::roles.
enum class RoleKind : std::uint8_t {
  Worker = 1,
  Receiver = 2,
  Conductor = 4,
  Radio = 8,
  Users = 16,
  Accelerator = 32
};

/// One duty of a thread. step() does a short piece of work and says whether there was any; it never
/// blocks.
struct Duty {
  virtual ~Duty() = default;
  virtual RoleKind kind() const = 0;
  virtual bool step() noexcept = 0;
  /// When there may be something to do again, if nothing else happens; kNever when unknown.
  virtual Tick next_event() noexcept = 0;
  /// How long the last step is known to have needed: what exceeds it by far is a stall.
  virtual Tick expected() noexcept { return 0; }
};

/// A step or a sleep that took this much longer than it should is a stall.
inline constexpr Tick kStall = 200 * kMicrosecond;

class Loop {
 public:
  static constexpr int kPriority = 50;  // under SCHED_FIFO

  struct Options {
    std::string name;
    std::uint32_t core = 0;
    bool realtime = false;  // SCHED_FIFO is asked for
    Tick wakeup_p99 = 100 * kMicrosecond;
    double asleep_share = 0;  // of FIFO threads' time
  };

  Loop(Options options, std::vector<Duty*> duties);

  /// Runs on the calling thread until stop() and every duty is idle no longer matters. A thread
  /// that is there only after `due` has stood still since.
  void run(Tick due = runtime::kNever) noexcept;
  void stop() noexcept { stopping_.store(true, std::memory_order_release); }

  const Options& options() const { return options_; }
  std::uint64_t roles() const { return roles_; }
  /// Stalls of this thread, as TraceKind::Stall; `code` is the LateCause it would excuse.
  const telemetry::TraceRing& stalls() const { return stalls_; }
  /// What of the duties' time is known to have served their purpose; all else is overhead.
  struct Purposes {
    Tick kernels = 0;                 ///< of a worker
    Tick receiving = 0, sending = 0;  ///< in the network, of a receiver and of the conductor
  };
  /// The account so far; a snapshot that may be a little torn while the thread runs.
  telemetry::ThreadRecord account(const Purposes& purposes) const noexcept;
  /// Why SCHED_FIFO or pinning did not work; empty when both did. After the thread has started.
  std::string complaint() const { return complaint_; }
  /// The thread was running at this instant.
  Tick last_seen() const noexcept { return last_.load(std::memory_order_acquire); }
  bool started() const { return started_.load(std::memory_order_acquire); }

 private:
  void set_up(Tick due);
  Tick look() noexcept;
  bool turn() noexcept;
  void rest() noexcept;
  void wake(Tick slept) noexcept;
  void charge(std::atomic<Tick>& sum, Tick from, Tick until) noexcept;
  std::atomic<Tick>& time_of(RoleKind kind) noexcept;
  void note_stall(Tick start, Tick length) noexcept;

  Options options_;
  std::vector<Duty*> duties_;
  std::uint64_t roles_ = 0;
  runtime::Backoff backoff_;
  telemetry::TraceRing stalls_{256};
  std::atomic<bool> stopping_{false}, started_{false};
  std::atomic<Tick> busy_{0}, emulating_{0}, receiving_{0}, conducting_{0}, spinning_{0},
      sleeping_{0};
  Tick charged_ = 0;                   // all time until here is in one of them
  std::optional<RunDelay> run_delay_;  // of its thread
  Tick waited_ = 0;                    // of run_delay_, when last looked at
  bool granted_ = false;
  std::string complaint_;
  std::atomic<Tick> last_{0};  // written by the thread alone
};

}  // namespace carillon::app
