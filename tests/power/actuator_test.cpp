// Clocks that a thread of its own sets, over a tree of files and an emulated kernel's rules.
#include "power/actuator.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>

#include "support/sysfs_tree.hpp"
#include "support/test.hpp"

namespace carillon::power {
namespace {

using test::EmulatedKernel;
using test::SysfsTree;

const char* const kTrees[] = {"intel_pstate-active", "intel_pstate-passive", "acpi-cpufreq",
                              "amd-pstate"};

struct Machine {
  explicit Machine(const std::string& kind) : tree(kind), before(tree.snapshot()) {
    const Clocks clocks = read_clocks(kernel);
    for (const Domain& domain : clocks.domains)
      cores.insert(domain.cores.begin(), domain.cores.end());
  }
  std::string refusal(const std::vector<double>& clocks_mhz) {
    try {
      const Actuator actuator(kernel, tree.root(), cores, clocks_mhz, 0);
    } catch (const Refused& error) {
      return error.what();
    }
    return {};
  }
  // As limits or as the governor userspace has it, whichever this driver knows.
  bool has(std::uint32_t khz) {
    const auto domains = read_clocks(kernel).domains;
    return std::ranges::all_of(domains, [&](const Domain& domain) {
      const std::string speed = line_of(kernel, domain.file("scaling_setspeed"));
      return speed == std::to_string(khz) ||
             (domain.limits.least_khz == khz && domain.limits.most_khz == khz);
    });
  }

  SysfsTree tree;
  EmulatedKernel kernel{tree};
  SysfsTree::Snapshot before;
  std::set<std::uint32_t> cores;
};

// For longer than any busy machine takes.
void wait_until(const std::function<bool()>& so) {
  for (int i = 0; i < 60'000 && !so(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(so());
}

void wait_for(const Actuator& actuator, std::uint32_t clock) {
  wait_until([&] { return actuator.clock() == clock; });
}

TEST(Actuator, SetsWhatIsWantedAndPutsAllBack) {
  for (const char* kind : kTrees) {
    Machine machine(kind);
    {
      Actuator actuator(machine.kernel, machine.tree.root(), machine.cores, {1500, 2000}, 1);
      EXPECT_EQ(actuator.clock(), 1U) << kind;
      EXPECT_TRUE(machine.has(2000000)) << kind;
      for (const std::uint32_t clock : {0U, 1U, 0U}) {
        actuator.want(clock);
        wait_for(actuator, clock);
        EXPECT_TRUE(machine.has(clock == 0 ? 1500000 : 2000000)) << kind;
      }
      EXPECT_TRUE(actuator.finish().empty()) << kind;
      EXPECT_EQ(machine.tree.changed_since(machine.before), "") << kind;
      EXPECT_TRUE(actuator.finish().empty()) << kind;  // nothing is done twice
    }
    EXPECT_EQ(machine.tree.changed_since(machine.before), "") << kind;
  }
}

TEST(Actuator, RefusesClocksAndCoresThatThereAreNot) {
  Machine machine("acpi-cpufreq");
  EXPECT_NE(machine.refusal({1500, 9000}).find("9000 MHz"), std::string::npos);
  machine.cores.insert(4000);
  EXPECT_NE(machine.refusal({1500, 2000}).find("core 4000 has no clock"), std::string::npos);
  EXPECT_EQ(machine.tree.changed_since(machine.before), "");
  Machine none("none");
  none.cores = {0};
  EXPECT_NE(none.refusal({1500}).find("core 0 has no clock"), std::string::npos);
}

TEST(Actuator, RefusesToBeginWhereNothingCanBeSet) {
  Machine machine("acpi-cpufreq");
  machine.kernel.refusals[read_clocks(machine.kernel).domains.front().file("scaling_setspeed")] =
      EPERM;
  EXPECT_NE(machine.refusal({1500, 2000}).find("scaling_setspeed"), std::string::npos);
}

std::string speed_file(Machine& machine) {
  return read_clocks(machine.kernel).domains.front().file("scaling_setspeed");
}

TEST(Actuator, TriesAgainWhatCouldNotBeSet) {
  Machine machine("acpi-cpufreq");
  Actuator actuator(machine.kernel, machine.tree.root(), machine.cores, {1500, 2000}, 1);
  const std::string file = speed_file(machine);
  std::filesystem::remove(machine.tree.root() / file);
  std::filesystem::create_directory(machine.tree.root() / file);
  actuator.want(0);
  std::filesystem::remove(machine.tree.root() / file);
  machine.tree.set(file, "<unsupported>\n");
  wait_for(actuator, 0);
  EXPECT_TRUE(machine.has(1500000));
  actuator.finish();
  EXPECT_EQ(machine.tree.changed_since(machine.before), "");
}

// The first domain took a clock that the second one refused; then both are to have the old one.
TEST(Actuator, SetsAllDomainsAgainWhereOneRefused) {
  Machine machine("acpi-cpufreq");
  Actuator actuator(machine.kernel, machine.tree.root(), machine.cores, {1500, 2000}, 1);
  const auto domains = read_clocks(machine.kernel).domains;
  const std::string first = domains.at(0).file("scaling_setspeed"),
                    second = domains.at(1).file("scaling_setspeed");
  std::filesystem::remove(machine.tree.root() / second);
  std::filesystem::create_directory(machine.tree.root() / second);
  actuator.want(0);
  wait_until([&] { return machine.tree.text(first) == "1500000\n"; });
  actuator.want(1);
  wait_until([&] { return machine.tree.text(first) == "2000000\n"; });
  std::filesystem::remove(machine.tree.root() / second);
  machine.tree.set(second, "<unsupported>\n");
  wait_until([&] { return machine.tree.text(second) == "2000000\n"; });
  actuator.finish();
  EXPECT_EQ(machine.tree.changed_since(machine.before), "");
}

TEST(Actuator, SaysWhatCouldNotBeSetAndLeavesItToTheNext) {
  Machine machine("acpi-cpufreq");
  const std::string file = speed_file(machine);
  Actuator actuator(machine.kernel, machine.tree.root(), machine.cores, {1500, 2000}, 1);
  std::filesystem::remove(machine.tree.root() / file);
  std::filesystem::create_directory(machine.tree.root() / file);
  actuator.want(0);
  const auto problems = actuator.finish();
  EXPECT_EQ(actuator.clock(), 1U);
  EXPECT_GE(problems.size(), 2U);  // to set, and to put back
  for (const auto& problem : problems) EXPECT_NE(problem.find(file), std::string::npos) << problem;
  std::filesystem::remove(machine.tree.root() / file);
  machine.tree.set(file, "<unsupported>\n");  // as its governor, which was put back, has it
  Actuator next(machine.kernel, machine.tree.root(), machine.cores, {1500, 2000}, 1);
  EXPECT_TRUE(next.finish().empty());
  EXPECT_EQ(machine.tree.changed_since(machine.before), "");
}

TEST(Actuator, SetsAgainWhatAnotherProgramChanged) {
  Machine machine("acpi-cpufreq");
  Actuator actuator(machine.kernel, machine.tree.root(), machine.cores, {1500, 2000}, 1);
  const std::string file = speed_file(machine);
  machine.tree.set(file, "1200000\n");
  wait_until([&] { return machine.tree.text(file) == "2000000\n"; });
  const auto problems = actuator.finish();
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0], file + ": was changed by another program");
  EXPECT_EQ(machine.tree.changed_since(machine.before), "");
}

}  // namespace
}  // namespace carillon::power
