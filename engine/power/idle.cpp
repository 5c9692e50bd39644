#include "power/idle.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

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

LatencyRequest::LatencyRequest(std::int32_t us, const std::string& file)
    : file_(::open(file.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (!file_.is_open() || ::write(file_.number(), &us, sizeof us) != sizeof us)
    throw Refused(why_not(file, errno));
}

}  // namespace carillon::power
