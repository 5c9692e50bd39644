#include "base/thread.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace carillon {
namespace {

Attempt outcome(bool done, const std::string& what, const std::string& advice) {
  if (done) return {true, {}};
  return {false, what + ": " + std::strerror(errno) + (advice.empty() ? "" : "; " + advice)};
}

Attempt set_policy(int policy, int priority, const std::string& what, const std::string& advice) {
  sched_param parameters{};
  parameters.sched_priority = priority;
  return outcome(sched_setscheduler(0, policy, &parameters) == 0, what, advice);
}

}  // namespace

Attempt pin_thread(std::uint32_t cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (cpu >= CPU_SETSIZE) return {false, "cannot pin to CPU " + std::to_string(cpu) + ": too high"};
  CPU_SET(cpu, &set);
  return outcome(sched_setaffinity(0, sizeof set, &set) == 0,
                 "cannot pin to CPU " + std::to_string(cpu),
                 "see the CPUs that this process may use with taskset -p $$");
}

Attempt make_realtime(int priority) {
  return set_policy(SCHED_FIFO, priority, "cannot use SCHED_FIFO",
                    "run as root, or allow it with setcap cap_sys_nice+ep or an rtprio limit in "
                    "/etc/security/limits.conf");
}

Attempt make_deadline(Tick runtime, Tick period) {
  // As the kernel has it (linux/sched/types.h), which glibc does not declare.
  struct {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime, deadline, period;
  } asked{};
  constexpr std::uint32_t kDeadline = 6;
  asked.size = sizeof asked;
  asked.policy = kDeadline;
  asked.runtime = static_cast<std::uint64_t>(runtime);
  asked.deadline = asked.period = static_cast<std::uint64_t>(period);
  const std::string what = "cannot use SCHED_DEADLINE with " + std::to_string(runtime / 1000) +
                           " of " + std::to_string(period / 1000) + " µs";
  if (syscall(SYS_sched_setattr, 0, &asked, 0U) == 0) return {true, {}};
  if (errno == EBUSY)
    return {false, what +
                       ": with what others were granted it is more than the system admits, 95 % "
                       "of its cores unless kernel.sched_rt_runtime_us says otherwise; plan less "
                       "utilization"};
  if (errno == EPERM)
    return {false, what +
                       ": run as root, and let it use all CPUs of its root domain (no taskset, no "
                       "cpuset of a container)"};
  if (errno == EINVAL)
    return {false, what +
                       ": the kernel takes periods from 100 µs to 4.19 s, and at least 1.024 µs "
                       "that fit in them; choose other batches"};
  return outcome(false, what, "");
}

Attempt make_ordinary(bool background) {
  Attempt attempt = set_policy(SCHED_OTHER, 0, "cannot use SCHED_OTHER", "");
  if (!attempt.done) return attempt;
  const auto thread = static_cast<id_t>(syscall(SYS_gettid));
  if (!background) return attempt;
  return outcome(setpriority(PRIO_PROCESS, thread, 19) == 0, "cannot set nice 19", "");
}

Attempt make_prompt() {
  const auto thread = static_cast<id_t>(syscall(SYS_gettid));
  return outcome(setpriority(PRIO_PROCESS, thread, -15) == 0, "cannot set nice -15",
                 "run as root, or raise the limit with ulimit -e 35");
}

Attempt lock_memory() {
  return outcome(mlockall(MCL_CURRENT | MCL_FUTURE) == 0, "cannot lock memory",
                 "run as root, or raise the limit with ulimit -l unlimited");
}

void name_thread(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

RunDelay::RunDelay() : file_(open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}

RunDelay::~RunDelay() {
  if (file_ >= 0) close(file_);
}

Tick RunDelay::read() const noexcept {
  char text[96];
  const ssize_t size = file_ < 0 ? -1 : pread(file_, text, sizeof text - 1, 0);
  if (size <= 0) return -1;
  text[size] = '\0';
  char* ran = nullptr;
  std::strtoull(text, &ran, 10);  // time on the core comes first
  return static_cast<Tick>(std::strtoull(ran, nullptr, 10));
}

Tick own_cpu_time() noexcept {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * kSecond + used.tv_nsec;
}

void sleep_until(Tick until) noexcept {
  const Tick left = until - now();
  if (left <= 0) return;
  // Relative to the kernel's clock, since now() may read another one.
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  const Tick target = time.tv_sec * kSecond + time.tv_nsec + left;
  time = {target / kSecond, target % kSecond};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) {
  }
}

}  // namespace carillon
