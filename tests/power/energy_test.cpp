// Idle states, latencies asked for, and counted energy.
#include <fstream>

#include "power/idle.hpp"
#include "power/rapl.hpp"
#include "support/sysfs_tree.hpp"
#include "support/test.hpp"

namespace carillon::power {
namespace {

using test::EmulatedKernel;
using test::SysfsTree;

TEST(IdleStates, AreReadTheShallowestFirst) {
  const SysfsTree tree("acpi-cpufreq");
  EmulatedKernel files(tree);
  tree.set("devices/system/cpu/cpu1/cpuidle/state4/disable", "1\n");
  const std::vector<IdleState> states = idle_states(files, 1);
  ASSERT_EQ(states.size(), 5U);
  EXPECT_EQ(states[0].name, "POLL");
  EXPECT_EQ(states[4].name, "C6");
  EXPECT_EQ(states[4].latency_us, 82U);
  EXPECT_TRUE(states[4].disabled);
  EXPECT_FALSE(states[3].disabled);
  EXPECT_TRUE(idle_states(files, 9).empty());
}

TEST(Energy, IsReadOfPackagesAndTheirParts) {
  const SysfsTree tree("intel_pstate-active");
  EmulatedKernel files(tree);
  const std::vector<EnergyZone> zones = read_energy(files);
  ASSERT_EQ(zones.size(), 2U);
  EXPECT_EQ(zones[0].zone, "intel-rapl:0");
  EXPECT_EQ(zones[0].name, "package-0");
  EXPECT_EQ(zones[0].microjoules, 25034567890U);
  EXPECT_EQ(zones[0].wraps_at, 262143328850U);
  EXPECT_EQ(zones[1].name, "package-0/dram");
  const SysfsTree none("none");
  EmulatedKernel no_files(none);
  EXPECT_TRUE(read_energy(no_files).empty());
}

TEST(Energy, IsCountedOverTheEndOfTheCounter) {
  const EnergyZone first{"", "", 1000000, 262143328850, ""},
      later{"", "", 3500000, 262143328850, ""};
  EXPECT_NEAR(joules_between(first, later), 2.5, 1e-12);
  EXPECT_NEAR(joules_between(first, first), 0.0, 1e-12);
  EXPECT_NEAR(joules_between(later, first), 262143.328850 - 2.5, 1e-6);
}

TEST(Energy, SaysWhyItCannotBeRead) {
  const SysfsTree tree("intel_pstate-active");
  EmulatedKernel files(tree);
  files.hidden["class/powercap/intel-rapl:0/energy_uj"] = EACCES;
  tree.set("class/powercap/intel-rapl:0:0/energy_uj", "much\n");
  const std::vector<EnergyZone> zones = read_energy(files);
  EXPECT_NE(zones[0].problem.find("energy_uj: Permission denied; this needs root"),
            std::string::npos);
  EXPECT_NE(zones[1].problem.find("is not a count of microjoules"), std::string::npos);
}

}  // namespace
}  // namespace carillon::power
