#include "power/rapl.hpp"

#include <algorithm>

#include "power/cpufreq.hpp"

namespace carillon::power {
namespace {

constexpr const char* kPowercap = "class/powercap";

EnergyZone zone_of(Files& files, const std::string& zone) {
  const auto path = [&](const std::string& owner, const char* name) {
    return std::string(kPowercap) + "/" + owner + "/" + name;
  };
  EnergyZone found;
  found.zone = zone;
  found.name = line_of(files, path(zone, "name"));
  if (std::ranges::count(zone, ':') == 2)
    found.name = line_of(files, path(zone.substr(0, zone.rfind(':')), "name")) + "/" + found.name;
  const std::string file = path(zone, "energy_uj");
  if (const int error = files.read(file).error) {
    found.problem = why_not(file, error);
    return found;
  }
  const std::int64_t energy = number_of(line_of(files, file));
  const std::int64_t most = number_of(line_of(files, path(zone, "max_energy_range_uj")));
  if (energy < 0 || most <= 0) found.problem = file + ": is not a count of microjoules";
  found.microjoules = static_cast<std::uint64_t>(std::max<std::int64_t>(energy, 0));
  found.wraps_at = static_cast<std::uint64_t>(std::max<std::int64_t>(most, 0));
  return found;
}

}  // namespace

std::vector<EnergyZone> read_energy(Files& files) {
  std::vector<EnergyZone> zones;
  for (const std::string& name : files.names(kPowercap))
    if (name.starts_with("intel-rapl:")) zones.push_back(zone_of(files, name));
  return zones;
}

double joules_between(const EnergyZone& before, const EnergyZone& after) {
  std::uint64_t used = after.microjoules - before.microjoules;
  if (after.microjoules < before.microjoules) used += after.wraps_at;
  return static_cast<double>(used) * 1e-6;
}

}  // namespace carillon::power
