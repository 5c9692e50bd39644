// What clocks a machine offers, as Linux's cpufreq says in sysfs.
// Source: the kernel's Documentation/admin-guide/pm/{cpufreq,intel_pstate,amd-pstate}.rst.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "power/files.hpp"

namespace carillon::power {

inline constexpr const char* kCpus = "devices/system/cpu";
inline constexpr const char* kPolicies = "devices/system/cpu/cpufreq";
inline constexpr const char* kIntelPstate = "devices/system/cpu/intel_pstate";

struct Range {
  std::uint32_t least_khz = 0, most_khz = 0;
  bool holds(std::uint32_t khz) const { return least_khz <= khz && khz <= most_khz; }
};

/// Cores that share one clock: a policy of the kernel.
struct Domain {
  std::uint32_t policy = 0;
  std::vector<std::uint32_t> cores;  ///< those that are online
  std::string driver, governor;
  std::vector<std::string> governors;     ///< that can be chosen
  Range hardware, limits;                 ///< what the processor can, what is allowed now
  std::vector<std::uint32_t> clocks_khz;  ///< ascending; empty: any clock of the range
  std::uint32_t now_khz = 0;              ///< 0: not known
  std::string preference;                 ///< between energy and performance; empty: has none
  std::vector<std::string> preferences;   ///< that can be chosen

  bool has_governor(const std::string& name) const;
  /// devices/system/cpu/cpufreq/policy0/NAME
  std::string file(const std::string& name) const;
};

struct Clocks {
  std::vector<Domain> domains;
  std::string mode;           ///< active, passive or guided, of intel_pstate and amd-pstate
  std::optional<bool> turbo;  ///< whether clocks above the nominal one are allowed; none: not said
  std::string turbo_file;     ///< where that is set; empty: nowhere
  /// intel_pstate's limits for all cores, per cent of the highest clock.
  std::uint32_t least_percent = 0, most_percent = 100;
  std::vector<std::string> problems;  ///< files that could not be used, with the reason
};

/// Reads all of it, or of the domains only that of one policy. A machine without cpufreq has none.
Clocks read_clocks(Files& files, std::optional<std::uint32_t> only = {});

/// The clocks of a domain that are nearest to one, below it and above it; one where it exists.
std::vector<std::uint32_t> nearest_clocks(const Domain& domain, std::uint32_t khz);

/// Throws Refused if a domain has no such clock, and names the nearest that it has, or if
/// intel_pstate's limits for all cores keep it from it.
void require_clock(const Clocks& clocks, const Domain& domain, std::uint32_t khz);

/// "1500 MHz"
std::string in_mhz(std::uint32_t khz);
/// "devices/…/scaling_governor: Permission denied; …", with what helps where that is known.
std::string why_not(const std::string& path, int error);

}  // namespace carillon::power
