// Clocks that are set, put back, and put back after the process was killed.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>

#include "power/control.hpp"
#include "power/idle.hpp"
#include "power/journal.hpp"
#include "support/sysfs_tree.hpp"
#include "support/test.hpp"

namespace carillon::power {
namespace {

using test::EmulatedKernel;
using test::SysfsTree;
namespace fs = std::filesystem;

const char* const kTrees[] = {"intel_pstate-active", "intel_pstate-passive", "acpi-cpufreq",
                              "amd-pstate"};

std::string file(int policy, const std::string& name) {
  return std::string(kPolicies) + "/policy" + std::to_string(policy) + "/" + name;
}

std::string refusal(const std::function<void()>& what) {
  try {
    what();
  } catch (const Refused& error) {
    return error.what();
  }
  return {};
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A machine under control.
struct Controlled {
  explicit Controlled(const std::string& kind) : tree(kind) { journal.take(); }
  Domain domain(std::size_t n = 0) { return read_clocks(kernel).domains.at(n); }
  std::string line(const std::string& path) { return line_of(kernel, path); }

  SysfsTree tree;
  EmulatedKernel kernel{tree};
  Journal journal{kernel, tree.journal(), tree.root()};
  ClockControl control{kernel, journal};
};

// All that can be changed.
void change_everything(Controlled& at) {
  at.control.set_turbo(false);
  for (const Domain& domain : read_clocks(at.kernel).domains) {
    at.control.set_clock(domain, 2000000);
    if (!domain.preference.empty()) at.control.set_preference(domain, "power");
    for (const std::uint32_t core : domain.cores) at.control.set_resume_latency(core, 20);
  }
}

TEST(ClockControl, SetsAClockByTheGovernorUserspaceWhereThereIsOne) {
  for (const char* kind : {"acpi-cpufreq", "intel_pstate-passive"}) {
    Controlled at(kind);
    at.control.set_clock(at.domain(), 1500000);
    EXPECT_EQ(at.line(file(0, "scaling_governor")), "userspace") << kind;
    EXPECT_EQ(at.line(file(0, "scaling_setspeed")), "1500000") << kind;
    EXPECT_EQ(at.domain().now_khz, 1500000U) << kind;
    EXPECT_EQ(at.domain(1).governor, kind[0] == 'a' ? "ondemand" : "schedutil") << kind;
  }
}

TEST(ClockControl, SetsEqualLimitsElseUpwardsAndDownwards) {
  for (const char* kind : {"intel_pstate-active", "amd-pstate"}) {
    Controlled at(kind);
    for (const std::uint32_t khz : {1500000U, 3000000U, 900000U, 900000U, 3399999U}) {
      at.control.set_clock(at.domain(), khz);
      EXPECT_EQ(at.domain().limits.least_khz, khz) << kind;
      EXPECT_EQ(at.domain().limits.most_khz, khz) << kind;
    }
    EXPECT_EQ(at.domain().governor, "powersave") << kind;
    EXPECT_GT(at.domain(1).limits.most_khz, 3000000U) << kind;
  }
}

TEST(ClockControl, WidensLimitsThatAClockLiesBeyond) {
  Controlled at("acpi-cpufreq");
  at.kernel.write(file(0, "scaling_min_freq"), "2000000\n");
  at.control.set_clock(at.domain(), 1300000);
  EXPECT_EQ(at.domain().limits.least_khz, 1300000U);
  EXPECT_EQ(at.domain().limits.most_khz, 2601000U);
  at.journal.restore();
  EXPECT_EQ(at.domain().limits.least_khz, 2000000U);
}

TEST(ClockControl, RefusesAClockThatDoesNotExistAndChangesNothing) {
  Controlled at("acpi-cpufreq");
  const auto before = at.tree.snapshot();
  EXPECT_TRUE(holds(refusal([&] { at.control.set_clock(at.domain(), 1999000); }),
                    "the nearest are 1900 MHz and 2000 MHz"));
  for (const Range limits : {Range{2000000, 1500000}, {1, 1500000}, {1500000, 9000000}})
    EXPECT_TRUE(
        holds(refusal([&] { at.control.set_limits(at.domain(), limits); }), "is no range within"));
  EXPECT_TRUE(holds(refusal([&] { at.control.set_governor(at.domain(), "warp"); }),
                    "there is no warp; there are conservative, ondemand, userspace"));
  EXPECT_TRUE(holds(refusal([&] { at.control.set_preference(at.domain(), "power"); }),
                    "acpi-cpufreq has none"));
  EXPECT_EQ(at.kernel.writes, 0U);
  EXPECT_EQ(at.tree.changed_since(before), "");
}

TEST(ClockControl, PutsEverythingBack) {
  for (const char* kind : kTrees) {
    Controlled at(kind);
    const auto before = at.tree.snapshot();
    change_everything(at);
    EXPECT_NE(at.tree.changed_since(before), "") << kind;
    EXPECT_TRUE(fs::exists(at.tree.journal())) << kind;
    const Restored restored = at.journal.restore();
    for (const Unrestored& failed : restored.failed) ADD_FAILURE() << kind << to_text(failed);
    EXPECT_EQ(at.tree.changed_since(before), "") << kind;
    EXPECT_FALSE(fs::exists(at.tree.journal())) << kind;
  }
}

TEST(ClockControl, PutsAPreferenceBackThatItsGovernorHides) {
  for (const char* kind : {"intel_pstate-active", "amd-pstate"}) {
    Controlled at(kind);
    const auto before = at.tree.snapshot();
    at.control.set_governor(at.domain(), "performance");
    EXPECT_EQ(at.domain().preference, "performance");
    EXPECT_TRUE(holds(refusal([&] { at.control.set_preference(at.domain(), "power"); }),
                      "the governor performance allows no other"));
    EXPECT_TRUE(at.journal.restore().failed.empty()) << kind;
    EXPECT_EQ(at.tree.changed_since(before), "") << kind;
  }
}

TEST(ClockControl, PutsBackWhenItGoesOutOfScope) {
  const SysfsTree tree("intel_pstate-active");
  EmulatedKernel kernel(tree);
  const auto before = tree.snapshot();
  {
    Journal journal(kernel, tree.journal(), tree.root());
    journal.take();
    ClockControl(kernel, journal).set_clock(read_clocks(kernel).domains[0], 1000000);
    EXPECT_NE(tree.changed_since(before), "");
  }
  EXPECT_EQ(tree.changed_since(before), "");
  EXPECT_FALSE(fs::exists(tree.journal()));
}

TEST(ClockControl, SaysWhichFileRefusedAndWhy) {
  struct Case {
    const char* name;
    int error;
    const char* told;
  };
  for (const auto& [name, error, told] :
       {Case{"scaling_min_freq", EACCES, "scaling_min_freq: Permission denied; this needs root"},
        Case{"scaling_max_freq", EROFS, "scaling_max_freq: Read-only file system; this needs root"},
        Case{"scaling_min_freq", EINVAL, "scaling_min_freq: Invalid argument"},
        Case{"scaling_max_freq", ENOENT, "scaling_max_freq: No such file or directory"}}) {
    Controlled at("amd-pstate");
    const auto before = at.tree.snapshot();
    at.kernel.refusals[file(0, name)] = error;
    EXPECT_TRUE(holds(refusal([&] { at.control.set_clock(at.domain(), 1600000); }), told)) << told;
    EXPECT_TRUE(at.journal.restore().failed.empty());
    EXPECT_EQ(at.tree.changed_since(before), "");
  }
  Controlled at("intel_pstate-active");
  at.kernel.refusals[std::string(kIntelPstate) + "/no_turbo"] = EPERM;
  EXPECT_TRUE(holds(refusal([&] { at.control.set_turbo(false); }),
                    "no_turbo: Operation not permitted; the firmware has turned turbo off"));
}

TEST(ClockControl, SaysThatADomainIsGone) {
  Controlled at("amd-pstate");
  const Domain domain = at.domain();
  at.tree.set(file(0, "affected_cpus"), "\n");
  EXPECT_TRUE(holds(refusal([&] { at.control.set_clock(domain, 1600000); }),
                    "policy0/affected_cpus: is gone, or lists no core that is online"));
  at.tree.set(file(0, "affected_cpus"), "0\n");
  fs::remove(at.tree.root() / file(0, "scaling_min_freq"));
  EXPECT_TRUE(holds(refusal([&] { at.control.set_clock(domain, 1600000); }),
                    "policy0/scaling_min_freq: No such file or directory"));
  fs::remove_all(at.tree.root() / kPolicies / "policy0");
  EXPECT_TRUE(holds(refusal([&] { at.control.set_clock(domain, 1600000); }), "policy0/affected"));
  EXPECT_EQ(at.kernel.writes, 0U);
}

TEST(ClockControl, SeesThatTheDriverTookAnotherClock) {
  Controlled at("intel_pstate-passive");
  EXPECT_TRUE(holds(refusal([&] { at.control.set_clock(at.domain(), 1500400); }),
                    "scaling_setspeed: 1500400 was written, and it says 1500000"));
}

TEST(ClockControl, SeesAClockThatChangesBehindItsBack) {
  Controlled at("intel_pstate-active");
  const auto before = at.tree.snapshot();
  at.control.set_clock(at.domain(), 2000000);
  EXPECT_TRUE(at.control.differences().empty());
  at.tree.set(file(0, "scaling_max_freq"), "3400000\n");
  at.kernel.hidden[file(0, "scaling_min_freq")] = ENOENT;
  const std::vector<Difference> found = at.control.differences();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].path, file(0, "scaling_max_freq"));
  EXPECT_EQ(found[0].wanted, "2000000");
  EXPECT_EQ(found[0].found, "3400000");
  EXPECT_EQ(found[1].found, "");
  at.kernel.hidden.clear();
  at.journal.restore();
  EXPECT_EQ(at.tree.changed_since(before), "");
}

TEST(ClockControl, GoesOnPastFilesThatVanishOrRefuse) {
  Controlled at("intel_pstate-active");
  auto expected = at.tree.snapshot();
  for (const Domain& domain : read_clocks(at.kernel).domains) at.control.set_clock(domain, 2000000);
  fs::remove_all(at.tree.root() / kPolicies / "policy1");
  std::erase_if(expected, [](const auto& own) { return holds(own.first, "/policy1/"); });
  at.kernel.refusals[file(2, "scaling_max_freq")] = EBUSY;
  const Restored restored = at.journal.restore();
  // Of policy1 all four files, of policy2 one.
  ASSERT_EQ(restored.failed.size(), 5U);
  EXPECT_TRUE(holds(to_text(restored.failed[4]),
                    "scaling_max_freq: Device or resource busy (is 2000000 and was 3400000)"));
  expected[file(2, "scaling_max_freq")] = "2000000\n";
  EXPECT_EQ(at.tree.changed_since(expected), "");

  // What vanished is given up; what refused is tried again at the next start.
  at.kernel.refusals.clear();
  Journal next(at.kernel, at.tree.journal(), at.tree.root());
  at.kernel.writes = 0;
  const Restored again = next.take();
  EXPECT_EQ(again.files, 1U);
  EXPECT_TRUE(again.failed.empty());
  EXPECT_EQ(at.kernel.writes, 1U);
  EXPECT_EQ(at.tree.text(file(2, "scaling_max_freq")), "3400000\n");
}

TEST(ClockControl, NoClockIsSetWhoseFilesCannotBeKept) {
  Controlled at("amd-pstate");
  at.kernel.hidden[file(0, "energy_performance_preference")] = EIO;
  Domain domain = at.domain();
  domain.preference = "power";  // it could be read a moment ago
  EXPECT_TRUE(holds(refusal([&] { at.control.set_governor(domain, "performance"); }),
                    "energy_performance_preference: Input/output error"));
  EXPECT_EQ(at.kernel.writes, 0U);
}

// A process of its own that does something and ends; whether it was killed. It is a zombie then.
bool is_killed(const std::function<void()>& what) {
  const pid_t child = ::fork();
  if (child == 0) {
    what();
    ::_exit(0);
  }
  siginfo_t how{};
  ::waitid(P_PID, static_cast<id_t>(child), &how, WEXITED | WNOWAIT);
  return how.si_code == CLD_KILLED && how.si_status == SIGKILL;
}

// A process that changes everything, and is killed before its n-th write, or behind the last one.
bool change_and_be_killed(const SysfsTree& tree, std::size_t n) {
  return is_killed([&] {
    EmulatedKernel kernel(tree);
    kernel.dies_at = n;
    Journal journal(kernel, tree.journal(), tree.root());
    journal.take();
    ClockControl control(kernel, journal);
    control.set_turbo(false);
    for (const Domain& domain : read_clocks(kernel).domains) control.set_clock(domain, 2000000);
    kernel.dies_at = 0;
    if (kernel.writes < n) ::raise(SIGKILL);
    ::_exit(0);  // neither restored nor killed
  });
}

constexpr std::size_t kBehindTheLast = 1000;

TEST(ClockControl, ANewProcessRestoresWhatAKilledOneLeftWhereverItWas) {
  for (const char* kind : kTrees) {
    const SysfsTree tree(kind);
    const auto before = tree.snapshot();
    for (const std::size_t n : {1, 2, 3, 4, 5, 6, 7, static_cast<int>(kBehindTheLast)}) {
      ASSERT_TRUE(change_and_be_killed(tree, n)) << kind << n;
      EXPECT_TRUE(n == 1 || !tree.changed_since(before).empty()) << kind << n;
      EmulatedKernel kernel(tree);
      Journal journal(kernel, tree.journal(), tree.root());
      EXPECT_TRUE(journal.restore_left().failed.empty()) << kind << n;
      EXPECT_EQ(tree.changed_since(before), "") << kind << n;
      EXPECT_FALSE(fs::exists(tree.journal())) << kind << n;
    }
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
}

TEST(ClockControl, WhoIsKilledWhileItRestoresLeavesTheRestToTheNext) {
  for (const char* kind : kTrees) {
    const SysfsTree tree(kind);
    const auto before = tree.snapshot();
    ASSERT_TRUE(change_and_be_killed(tree, kBehindTheLast));
    for (const std::size_t n : {1U, 2U, 3U})
      EXPECT_TRUE(is_killed([&] {
        EmulatedKernel kernel(tree);
        kernel.dies_at = n;
        Journal(kernel, tree.journal(), tree.root()).restore_left();
      })) << kind;
    EmulatedKernel kernel(tree);
    EXPECT_TRUE(Journal(kernel, tree.journal(), tree.root()).restore_left().failed.empty());
    EXPECT_EQ(tree.changed_since(before), "") << kind;
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
}

TEST(ClockControl, WhoTakesControlAfterAKilledOneFindsTheFirstState) {
  const SysfsTree tree("acpi-cpufreq");
  const auto before = tree.snapshot();
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(change_and_be_killed(tree, kBehindTheLast));
    ::waitpid(-1, nullptr, 0);
  }
  EmulatedKernel kernel(tree);
  Journal journal(kernel, tree.journal(), tree.root());
  EXPECT_GE(journal.take().files, 7U);
  EXPECT_EQ(tree.changed_since(before), "");
}

// They begin together, over the journal of one that was killed; who got control holds it until all
// have tried.
TEST(ClockControl, OfManyProcessesThatWantControlOneGetsIt) {
  const SysfsTree tree("acpi-cpufreq");
  const auto before = tree.snapshot();
  ASSERT_TRUE(change_and_be_killed(tree, kBehindTheLast));
  ::waitpid(-1, nullptr, 0);
  constexpr int kProcesses = 8;
  int begin[2], told[2], end[2];
  ASSERT_TRUE(::pipe(begin) == 0 && ::pipe(told) == 0 && ::pipe(end) == 0);
  for (int n = 0; n < kProcesses; ++n) {
    if (::fork() != 0) continue;
    ::close(begin[1]);
    ::close(end[1]);
    char got = 'n';
    const bool is_begun = ::read(begin[0], &got, 1) == 0;  // all do so at once
    EmulatedKernel kernel(tree);
    Journal journal(kernel, tree.journal(), tree.root());
    try {
      journal.take();
      got = is_begun ? 'y' : '?';
    } catch (const Refused&) {
    }
    const bool is_told = ::write(told[1], &got, 1) == 1 && ::read(end[0], &got, 1) == 0;
    journal.restore();
    ::_exit(is_told ? 0 : 1);
  }
  ::close(begin[1]);
  int winners = 0;
  for (int n = 0; n < kProcesses; ++n) {
    char got = 0;
    ASSERT_EQ(::read(told[0], &got, 1), 1);
    winners += got == 'y';
  }
  EXPECT_EQ(winners, 1);
  EXPECT_EQ(tree.changed_since(before), "");
  ::close(end[1]);
  for (int n = 0; n < kProcesses; ++n) ::waitpid(-1, nullptr, 0);
  for (const int own : {begin[0], told[0], told[1], end[0]}) ::close(own);
  EXPECT_FALSE(fs::exists(tree.journal()));
}

TEST(ClockControl, AChildThatIsForkedPutsNothingBack) {
  Controlled at("amd-pstate");
  at.control.set_clock(at.domain(), 2000000);
  const auto changed = at.tree.snapshot();
  const pid_t child = ::fork();
  if (child == 0) {
    at.journal.~Journal();
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(at.tree.changed_since(changed), "");
  EXPECT_TRUE(fs::exists(at.tree.journal()));
}

}  // namespace
}  // namespace carillon::power
