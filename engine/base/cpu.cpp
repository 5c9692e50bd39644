#include "base/cpu.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>

#include "base/thread.hpp"

namespace carillon {

std::vector<std::uint32_t> allowed_cpus() {
  // Grown until the kernel's mask fits.
  for (int count = 1024; count <= (1 << 16); count *= 2) {
    cpu_set_t* set = CPU_ALLOC(count);
    const std::size_t bytes = CPU_ALLOC_SIZE(count);
    std::vector<std::uint32_t> cpus;
    if (sched_getaffinity(0, bytes, set) == 0) {
      for (int cpu = 0; cpu < count; ++cpu) {
        if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(static_cast<std::uint32_t>(cpu));
      }
    }
    CPU_FREE(set);
    if (!cpus.empty()) return cpus;
  }
  return {0};
}

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

double realtime_limit(const std::string& root) {
  const auto read = [&](const std::string& name) {
    std::ifstream file(root + "/proc/sys/kernel/" + name);
    double value = -1;
    return file >> value ? value : -1;
  };
  const double runtime = read("sched_rt_runtime_us"), period = read("sched_rt_period_us");
  if (runtime < 0 || period <= 0) return 1;
  return std::min(1.0, runtime / period);
}

Tick measure_wakeup_p99(std::uint32_t sleeps) {
  std::vector<Tick> late;
  for (std::uint32_t i = 0; i < std::max(sleeps, 1U); ++i) {
    const Tick until = now() + 200 * kMicrosecond;
    sleep_until(until);
    late.push_back(now() - until);
  }
  std::sort(late.begin(), late.end());
  return late[(late.size() - 1) * 99 / 100];
}

}  // namespace carillon
