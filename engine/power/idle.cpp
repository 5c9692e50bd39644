#include "power/idle.hpp"

#include <algorithm>

#include "power/cpufreq.hpp"

namespace carillon::power {
namespace {

std::string core_folder(std::uint32_t core) {
  return std::string(kCpus) + "/cpu" + std::to_string(core);
}

}  // namespace

std::vector<IdleState> idle_states(Files& files, std::uint32_t core) {
  const std::string folder = core_folder(core) + "/cpuidle/";
  std::vector<std::int64_t> numbers;
  for (const std::string& name : files.names(folder))
    if (name.starts_with("state"))
      if (const std::int64_t number = number_of(name.substr(5)); number >= 0)
        numbers.push_back(number);
  std::ranges::sort(numbers);
  std::vector<IdleState> states;
  for (const std::int64_t number : numbers) {
    const std::string state = folder + "state" + std::to_string(number);
    const std::int64_t latency = number_of(line_of(files, state + "/latency"));
    if (latency < 0 || latency > UINT32_MAX) continue;
    states.push_back({line_of(files, state + "/name"), static_cast<std::uint32_t>(latency),
                      line_of(files, state + "/disable") == "1"});
  }
  return states;
}

std::string resume_latency_file(std::uint32_t core) {
  return core_folder(core) + "/power/pm_qos_resume_latency_us";
}

}  // namespace carillon::power
