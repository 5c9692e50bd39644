// The processor this runs on, and how threads are bound to it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/tick.hpp"

namespace carillon {

/// CPUs this process may run on, ascending (sched_getaffinity).
std::vector<std::uint32_t> allowed_cpus();
/// "AMD EPYC 9354", as the processor names itself; "unknown" if it does not.
std::string cpu_model();

/// Share of each second that real-time threads may use before the kernel stops them for the rest of
/// it (/proc/sys/kernel/sched_rt_{runtime,period}_us): 0.95 by default, 1 when there is no limit.
/// `root` is "/" but for tests.
double realtime_limit(const std::string& root = "/");

/// 99th percentile of how late the calling thread wakes from short sleeps, over `sleeps` of them
/// (each about 200 µs). Measure on the thread, and at the priority, that will sleep.
Tick measure_wakeup_p99(std::uint32_t sleeps = 200);

}  // namespace carillon
