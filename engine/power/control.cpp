#include "power/control.hpp"

#include <algorithm>

#include "power/idle.hpp"

namespace carillon::power {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

void ClockControl::set_clock(const Domain& domain, std::uint32_t khz) {
  const Clocks clocks = read_clocks(files_, domain.policy);
  if (clocks.domains.empty())
    throw Refused(clocks.problems.empty()
                      ? domain.file("affected_cpus") + ": is gone, or lists no core that is online"
                      : clocks.problems.front());
  const Domain& now = clocks.domains.front();
  require_clock(clocks, now, khz);
  keep(now);
  if (!now.has_governor("userspace")) return write_limits(now, {khz, khz});
  if (!now.limits.holds(khz))
    write_limits(now, {std::min(khz, now.limits.least_khz), std::max(khz, now.limits.most_khz)});
  set_governor(now, "userspace");
  write(now.file("scaling_setspeed"), std::to_string(khz));
}

void ClockControl::set_governor(const Domain& domain, const std::string& name) {
  if (!domain.has_governor(name))
    throw Refused(domain.file("scaling_governor") + ": there is no " + name + "; there are " +
                  joined(domain.governors));
  keep(domain);
  write(domain.file("scaling_governor"), name);
}

void ClockControl::set_limits(const Domain& domain, Range limits) {
  if (limits.least_khz > limits.most_khz || !domain.hardware.holds(limits.least_khz) ||
      !domain.hardware.holds(limits.most_khz))
    throw Refused("policy" + std::to_string(domain.policy) + ": " + in_mhz(limits.least_khz) +
                  " to " + in_mhz(limits.most_khz) + " is no range within " +
                  in_mhz(domain.hardware.least_khz) + " to " + in_mhz(domain.hardware.most_khz));
  keep(domain);
  write_limits(domain, limits);
}

void ClockControl::set_preference(const Domain& domain, const std::string& name) {
  const std::string path = domain.file("energy_performance_preference");
  if (domain.preference.empty()) throw Refused(path + ": " + domain.driver + " has none");
  if (std::ranges::find(domain.preferences, name) == domain.preferences.end())
    throw Refused(path + ": there is no " + name + "; there are " + joined(domain.preferences));
  keep(domain);
  write(path, name);
}

void ClockControl::set_turbo(bool on) {
  const Clocks clocks = read_clocks(files_);
  if (clocks.turbo_file.empty())
    throw Refused(std::string(kPolicies) + "/boost: the driver has none; the firmware decides");
  for (const Domain& domain : clocks.domains) keep(domain);
  journal_.keep({clocks.turbo_file});
  const bool one = on == clocks.turbo_file.ends_with("boost");  // no_turbo says the opposite
  write(clocks.turbo_file, one ? "1" : "0");
}

void ClockControl::set_resume_latency(std::uint32_t core, std::uint32_t us) {
  const std::string path = resume_latency_file(core);
  journal_.keep({path});
  write(path, us == 0 ? "n/a" : std::to_string(us));  // 0 would be no limit
}

// All that a change may move.
void ClockControl::keep(const Domain& domain) {
  std::vector<std::string> paths = {domain.file("scaling_governor"),
                                    domain.file("scaling_min_freq"),
                                    domain.file("scaling_max_freq")};
  if (domain.has_governor("userspace")) paths.push_back(domain.file("scaling_setspeed"));
  if (!domain.preference.empty()) paths.push_back(domain.file("energy_performance_preference"));
  journal_.keep(paths);
}

// Never one above the other, which older kernels refuse and newer ones clip.
void ClockControl::write_limits(const Domain& domain, Range limits) {
  const auto least = [&] {
    write(domain.file("scaling_min_freq"), std::to_string(limits.least_khz));
  };
  const auto most = [&] {
    write(domain.file("scaling_max_freq"), std::to_string(limits.most_khz));
  };
  if (limits.most_khz < domain.limits.least_khz) {
    least();
    most();
  } else {
    most();
    least();
  }
}

void ClockControl::write(const std::string& path, const std::string& text) {
  if (const int error = files_.write(path, text + "\n")) throw Refused(why_not(path, error));
  if (const std::string now = line_of(files_, path); now != text)
    throw Refused(path + ": " + text + " was written, and it says " +
                  (now.empty() ? "nothing" : now) +
                  "; the driver rounds it, or firmware or another program limits it");
  wanted_[path] = text;
}

std::vector<Difference> ClockControl::differences() {
  std::vector<Difference> found;
  for (const auto& [path, wanted] : wanted_)
    if (const std::string now = line_of(files_, path); now != wanted)
      found.push_back({path, wanted, now});
  return found;
}

}  // namespace carillon::power
