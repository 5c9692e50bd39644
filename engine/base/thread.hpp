// Threads that keep time: pinning, real-time priority, memory that stays in place, sleeping until
// an instant. Each attempt says whether it worked and, if not, why and what would help.
#pragma once

#include <cstdint>
#include <string>

#include "base/tick.hpp"

namespace carillon {

struct Attempt {
  bool done = false;
  std::string reason;  ///< empty when done
};

/// Binds the calling thread to one CPU.
Attempt pin_thread(std::uint32_t cpu);
/// SCHED_FIFO for the calling thread; priority 1 (lowest) to 99.
Attempt make_realtime(int priority);
/// SCHED_DEADLINE for the calling thread: so much time on a core within each period. Its CPUs must
/// be all of its root domain.
Attempt make_deadline(Tick runtime, Tick period);
/// Back to the ordinary scheduler, at nice 19 when `background`.
Attempt make_ordinary(bool background = false);
/// The ordinary scheduler, before other threads of it: nice -15 for the calling thread.
Attempt make_prompt();
/// Locks all present and future memory of the process.
Attempt lock_memory();
/// For debuggers and `top`; at most 15 characters are kept.
void name_thread(const std::string& name);

/// How long the thread that made it has waited for its core while ready to run, by the kernel's
/// account (/proc/thread-self/schedstat).
class RunDelay {
 public:
  RunDelay();
  ~RunDelay();
  RunDelay(const RunDelay&) = delete;
  RunDelay& operator=(const RunDelay&) = delete;
  /// From its own thread: since it began; negative where the kernel keeps no account.
  Tick read() const noexcept;

 private:
  int file_;
};

/// How long the calling thread has been on a core.
Tick own_cpu_time() noexcept;

/// Sleeps until `until`, on the clock of now(); returns at once when it has passed.
void sleep_until(Tick until) noexcept;
/// Tells the core that this is a spin loop.
inline void spin_pause() noexcept { __builtin_ia32_pause(); }

}  // namespace carillon
