// What machines offer, read from trees of their sysfs.
#include "power/cpufreq.hpp"

#include "support/sysfs_tree.hpp"
#include "support/test.hpp"

namespace carillon::power {
namespace {

using test::EmulatedKernel;
using test::SysfsTree;
namespace fs = std::filesystem;

using Cores = std::vector<std::uint32_t>;
using Khz = std::vector<std::uint32_t>;

std::string refusal(const Clocks& clocks, const Domain& domain, std::uint32_t khz) {
  try {
    require_clock(clocks, domain, khz);
  } catch (const Refused& error) {
    return error.what();
  }
  return {};
}

TEST(Cpufreq, ReadsIntelPstateInActiveMode) {
  const SysfsTree tree("intel_pstate-active");
  EmulatedKernel files(tree);
  const Clocks clocks = read_clocks(files);
  ASSERT_EQ(clocks.domains.size(), 4U);
  const Domain& domain = clocks.domains[3];
  EXPECT_EQ(domain.policy, 3U);
  EXPECT_EQ(domain.cores, Cores{3});
  EXPECT_EQ(domain.driver, "intel_pstate");
  EXPECT_EQ(domain.governor, "powersave");
  EXPECT_EQ(domain.governors, (std::vector<std::string>{"performance", "powersave"}));
  EXPECT_TRUE(domain.clocks_khz.empty());
  EXPECT_EQ(domain.hardware.least_khz, 800000U);
  EXPECT_EQ(domain.hardware.most_khz, 3400000U);
  EXPECT_EQ(domain.preference, "balance_performance");
  EXPECT_EQ(domain.preferences.size(), 5U);
  EXPECT_EQ(clocks.mode, "active");
  EXPECT_TRUE(clocks.turbo.value_or(false));
  EXPECT_EQ(clocks.turbo_file, std::string(kIntelPstate) + "/no_turbo");
  EXPECT_TRUE(clocks.problems.empty());
}

TEST(Cpufreq, ReadsCoresThatShareAClock) {
  const SysfsTree tree("acpi-cpufreq");
  EmulatedKernel files(tree);
  const Clocks clocks = read_clocks(files);
  ASSERT_EQ(clocks.domains.size(), 2U);
  EXPECT_EQ(clocks.domains[1].policy, 2U);
  EXPECT_EQ(clocks.domains[1].cores, (Cores{2, 3}));
  EXPECT_EQ(clocks.domains[0].clocks_khz.size(), 16U);
  EXPECT_EQ(clocks.domains[0].clocks_khz.front(), 1200000U);
  EXPECT_TRUE(clocks.domains[0].has_governor("userspace"));
  EXPECT_TRUE(clocks.mode.empty());
  EXPECT_TRUE(clocks.turbo.value_or(false));
  tree.set(std::string(kPolicies) + "/boost", "0\n");
  EXPECT_FALSE(read_clocks(files).turbo.value_or(true));
}

TEST(Cpufreq, CountsBoostClocksOnlyWhereTurboIsOn) {
  const SysfsTree tree("acpi-cpufreq");
  EmulatedKernel files(tree);
  tree.set(std::string(kPolicies) + "/policy0/scaling_boost_frequencies", "3400000 \n");
  EXPECT_EQ(read_clocks(files).domains[0].clocks_khz.back(), 3400000U);
  tree.set(std::string(kPolicies) + "/boost", "0\n");
  EXPECT_EQ(read_clocks(files).domains[0].clocks_khz.back(), 2601000U);
}

TEST(Cpufreq, ReadsAmdPstate) {
  const SysfsTree tree("amd-pstate");
  EmulatedKernel files(tree);
  const Clocks clocks = read_clocks(files);
  ASSERT_EQ(clocks.domains.size(), 4U);
  EXPECT_EQ(clocks.domains[0].driver, "amd-pstate-epp");
  EXPECT_EQ(clocks.domains[0].limits.least_khz, 1500000U);
  EXPECT_EQ(clocks.mode, "active");
}

TEST(Cpufreq, HasNoDomainsInAVirtualMachine) {
  const SysfsTree tree("none");
  EmulatedKernel files(tree);
  const Clocks clocks = read_clocks(files);
  EXPECT_TRUE(clocks.domains.empty());
  EXPECT_TRUE(clocks.problems.empty());
  EXPECT_FALSE(clocks.turbo.has_value());
}

TEST(Cpufreq, LeavesOutWhatIsOfflineGoneOrNotReadable) {
  const SysfsTree tree("intel_pstate-active");
  EmulatedKernel files(tree);
  tree.set(std::string(kPolicies) + "/policy0/affected_cpus", "\n");  // offline
  files.hidden[std::string(kPolicies) + "/policy1/scaling_governor"] = EACCES;
  tree.set(std::string(kPolicies) + "/policy2/scaling_max_freq", "quick\n");
  const Clocks clocks = read_clocks(files);
  ASSERT_EQ(clocks.domains.size(), 1U);
  EXPECT_EQ(clocks.domains[0].policy, 3U);
  ASSERT_EQ(clocks.problems.size(), 2U);
  EXPECT_NE(clocks.problems[0].find("policy1/scaling_governor: Permission denied"),
            std::string::npos);
  EXPECT_NE(clocks.problems[1].find("policy2/scaling_max_freq: is not a clock"), std::string::npos);
}

TEST(Cpufreq, NamesTheNearestClocksOfATable) {
  const SysfsTree tree("acpi-cpufreq");
  EmulatedKernel files(tree);
  const Domain domain = read_clocks(files).domains[0];
  EXPECT_EQ(nearest_clocks(domain, 1500000), Khz{1500000});
  EXPECT_EQ(nearest_clocks(domain, 1550000), (Khz{1500000, 1600000}));
  EXPECT_EQ(nearest_clocks(domain, 1000), Khz{1200000});
  EXPECT_EQ(nearest_clocks(domain, 9000000), Khz{2601000});
  const std::string why = refusal(read_clocks(files), domain, 1550000);
  EXPECT_EQ(why, "policy0 has no clock of 1550 MHz; the nearest are 1500 MHz and 1600 MHz");
}

TEST(Cpufreq, TakesAnyClockOfARangeAndNoneBeyond) {
  const SysfsTree tree("amd-pstate");
  EmulatedKernel files(tree);
  const Clocks clocks = read_clocks(files);
  EXPECT_EQ(refusal(clocks, clocks.domains[0], 1234567), "");
  EXPECT_EQ(refusal(clocks, clocks.domains[0], 399999),
            "policy0 has no clock of 399.999 MHz; the nearest is 400 MHz");
  EXPECT_EQ(refusal(clocks, clocks.domains[0], 5000000),
            "policy0 has no clock of 5000 MHz; the nearest is 3799 MHz");
}

TEST(Cpufreq, SeesLimitsOfIntelPstateForAllCores) {
  const SysfsTree tree("intel_pstate-active");
  EmulatedKernel files(tree);
  tree.set(std::string(kIntelPstate) + "/max_perf_pct", "50\n");
  tree.set(std::string(kIntelPstate) + "/min_perf_pct", "30\n");
  const Clocks clocks = read_clocks(files);
  EXPECT_EQ(refusal(clocks, clocks.domains[0], 1700000), "");
  EXPECT_NE(refusal(clocks, clocks.domains[0], 1701000).find("max_perf_pct is 50, which keeps "),
            std::string::npos);
  EXPECT_NE(refusal(clocks, clocks.domains[0], 1000000).find("min_perf_pct is 30, which keeps "),
            std::string::npos);
}

TEST(Cpufreq, ReadsListsOfCoresAsTheKernelWritesThem) {
  const SysfsTree tree("none");
  EmulatedKernel files(tree);
  const std::string path = std::string(kCpus) + "/online";
  tree.set(path, "0-2,8\n");
  EXPECT_EQ(cores_of(files, path), (Cores{0, 1, 2, 8}));
  for (const char* text : {"", "\n", "3-1", "a", "0-99999999999", "1-", "-1"}) {
    tree.set(path, text);
    EXPECT_TRUE(cores_of(files, path).empty()) << text;
  }
}

TEST(Cpufreq, WritesThroughNoLink) {
  const SysfsTree tree("intel_pstate-active");
  Sysfs files(tree.root());
  EXPECT_EQ(files.write("devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
            ENOTDIR);
  fs::create_symlink("scaling_governor", tree.root() / kPolicies / "policy0/link");
  EXPECT_EQ(files.write(std::string(kPolicies) + "/policy0/link", "x"), ELOOP);
  EXPECT_EQ(files.write("../other/file", "x"), EINVAL);
  EXPECT_EQ(files.write(std::string(kPolicies) + "/policy9/scaling_governor", "x"), ENOENT);
  EXPECT_EQ(tree.text(std::string(kPolicies) + "/policy0/scaling_governor"), "powersave\n");
}

}  // namespace
}  // namespace carillon::power
