#include "power/cpufreq.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace carillon::power {
namespace {

std::uint32_t khz_of(const std::string& text) {
  const std::int64_t value = number_of(text);
  return value < 0 || value > UINT32_MAX ? 0 : static_cast<std::uint32_t>(value);
}

void add_clocks(Files& files, const std::string& path, std::vector<std::uint32_t>& clocks) {
  for (const std::string& word : words_of(files, path))
    if (const std::uint32_t khz = khz_of(word)) clocks.push_back(khz);
}

// Why a domain cannot be used; empty when it can. A policy whose cores are all offline has no
// cores, and says EBUSY of the rest.
std::string problem_of(Files& files, const Domain& domain) {
  for (const char* name : {"cpuinfo_min_freq", "cpuinfo_max_freq", "scaling_min_freq",
                           "scaling_max_freq", "scaling_governor"}) {
    const std::string path = domain.file(name);
    if (const int error = files.read(path).error) return why_not(path, error);
    if (std::strcmp(name, "scaling_governor") != 0 && khz_of(line_of(files, path)) == 0)
      return path + ": is not a clock in kHz";
  }
  return {};
}

Domain domain_of(Files& files, std::uint32_t policy, bool turbo) {
  Domain domain;
  domain.policy = policy;
  const auto line = [&](const char* name) { return line_of(files, domain.file(name)); };
  domain.cores = cores_of(files, domain.file("affected_cpus"));
  domain.driver = line("scaling_driver");
  domain.governor = line("scaling_governor");
  domain.governors = words_of(files, domain.file("scaling_available_governors"));
  domain.hardware = {khz_of(line("cpuinfo_min_freq")), khz_of(line("cpuinfo_max_freq"))};
  domain.limits = {khz_of(line("scaling_min_freq")), khz_of(line("scaling_max_freq"))};
  domain.now_khz = khz_of(line("scaling_cur_freq"));
  domain.preference = line("energy_performance_preference");
  domain.preferences = words_of(files, domain.file("energy_performance_available_preferences"));
  add_clocks(files, domain.file("scaling_available_frequencies"), domain.clocks_khz);
  if (turbo) add_clocks(files, domain.file("scaling_boost_frequencies"), domain.clocks_khz);
  std::ranges::sort(domain.clocks_khz);
  return domain;
}

void read_turbo(Files& files, Clocks& clocks) {
  struct Switch {
    std::string file;
    bool on;  // what 1 means
  };
  for (const auto& [file, on] : {Switch{std::string(kIntelPstate) + "/no_turbo", false},
                                 Switch{std::string(kPolicies) + "/boost", true}}) {
    const std::string value = line_of(files, file);
    if (value != "0" && value != "1") continue;
    clocks.turbo = (value == "1") == on;
    clocks.turbo_file = file;
    return;
  }
}

void read_driver(Files& files, Clocks& clocks) {
  for (const std::string name : {"intel_pstate", "amd_pstate"}) {
    const std::string mode = line_of(files, std::string(kCpus) + "/" + name + "/status");
    if (!mode.empty() && mode != "off" && mode != "disable") clocks.mode = mode;
  }
  const auto percent = [&](const char* name, std::uint32_t otherwise) {
    const std::int64_t value = number_of(line_of(files, std::string(kIntelPstate) + "/" + name));
    return value < 0 || value > 100 ? otherwise : static_cast<std::uint32_t>(value);
  };
  clocks.least_percent = percent("min_perf_pct", 0);
  clocks.most_percent = percent("max_perf_pct", 100);
}

std::string list_of(const std::vector<std::uint32_t>& clocks) {
  std::string list;
  for (const std::uint32_t khz : clocks) list += (list.empty() ? "" : " and ") + in_mhz(khz);
  return list;
}

}  // namespace

bool Domain::has_governor(const std::string& name) const {
  return std::ranges::find(governors, name) != governors.end();
}

std::string Domain::file(const std::string& name) const {
  return std::string(kPolicies) + "/policy" + std::to_string(policy) + "/" + name;
}

Clocks read_clocks(Files& files, std::optional<std::uint32_t> only) {
  Clocks clocks;
  read_turbo(files, clocks);
  read_driver(files, clocks);
  for (const std::string& name : files.names(kPolicies)) {
    if (!name.starts_with("policy")) continue;
    const std::int64_t policy = number_of(name.substr(6));
    if (policy < 0 || (only && *only != policy)) continue;
    Domain domain =
        domain_of(files, static_cast<std::uint32_t>(policy), clocks.turbo.value_or(false));
    if (domain.cores.empty()) continue;  // all offline
    const std::string problem = problem_of(files, domain);
    if (problem.empty())
      clocks.domains.push_back(std::move(domain));
    else
      clocks.problems.push_back(problem);
  }
  std::ranges::sort(clocks.domains, {}, &Domain::policy);
  return clocks;
}

std::vector<std::uint32_t> nearest_clocks(const Domain& domain, std::uint32_t khz) {
  std::vector<std::uint32_t> ends = domain.clocks_khz;
  if (ends.empty()) ends = {domain.hardware.least_khz, domain.hardware.most_khz};
  if (domain.clocks_khz.empty() && domain.hardware.holds(khz)) return {khz};
  const auto above = std::ranges::lower_bound(ends, khz);
  if (above == ends.end()) return {ends.back()};
  if (*above == khz || above == ends.begin()) return {*above};
  return {*(above - 1), *above};
}

void require_clock(const Clocks& clocks, const Domain& domain, std::uint32_t khz) {
  const std::vector<std::uint32_t> nearest = nearest_clocks(domain, khz);
  const std::string own = "policy" + std::to_string(domain.policy);
  if (nearest != std::vector{khz})
    throw Refused(own + " has no clock of " + in_mhz(khz) + "; the nearest " +
                  (nearest.size() > 1 ? "are " : "is ") + list_of(nearest));
  if (!clocks.turbo.value_or(false)) return;  // per cent of a clock that is hidden then
  const auto share = [&](std::uint32_t percent) {
    return static_cast<std::uint32_t>(std::uint64_t{domain.hardware.most_khz} * percent / 100);
  };
  const auto keep = [&](const char* file, std::uint32_t percent, const char* side, int free) {
    throw Refused(std::string(kIntelPstate) + "/" + file + " is " + std::to_string(percent) +
                  ", which keeps " + own + side + in_mhz(khz) + "; write " + std::to_string(free) +
                  " to it");
  };
  if (khz > share(clocks.most_percent)) keep("max_perf_pct", clocks.most_percent, " below ", 100);
  if (khz < share(clocks.least_percent)) keep("min_perf_pct", clocks.least_percent, " above ", 0);
}

std::string in_mhz(std::uint32_t khz) {
  std::string text = std::to_string(khz / 1000);
  if (const std::uint32_t rest = khz % 1000) {
    text += "." + std::to_string(1000 + rest).substr(1);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text + " MHz";
}

std::string why_not(const std::string& path, int error) {
  std::string text = path + ": " + std::strerror(error);
  if (error == EPERM && path.ends_with("no_turbo"))
    text += "; the firmware has turned turbo off";
  else if (error == EACCES || error == EPERM || error == EROFS)
    text += "; this needs root, and in a container a writable /sys";
  if (error == EBUSY && path.ends_with("energy_performance_preference"))
    text += "; the governor performance allows no other than performance";
  return text;
}

}  // namespace carillon::power
