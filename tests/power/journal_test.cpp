// Journals: whose they are, and those that are damaged or forged.
#include "power/journal.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "support/sysfs_tree.hpp"
#include "support/test.hpp"

namespace carillon::power {
namespace {

using test::EmulatedKernel;
using test::SysfsTree;
namespace fs = std::filesystem;

const std::string kGovernor = std::string(kPolicies) + "/policy0/scaling_governor";
const std::string kLimit = std::string(kPolicies) + "/policy0/scaling_max_freq";

// What a journal says, with parts that can be wrong.
struct Written {
  std::string title = "carillon clocks 1", sysfs, boot = Owner::self().boot, process = "1 1";
  std::string files = "file " + kGovernor + " schedutil\\n\n", end = "end 1\n";

  void into(const SysfsTree& tree) const {
    std::ofstream(tree.journal()) << title << "\nsysfs "
                                  << (sysfs.empty() ? tree.root().string() : sysfs) << "\nboot "
                                  << boot << "\nprocess " << process << "\n"
                                  << files << end;
  }
};

Written with(std::string Written::*part, std::string text) {
  Written written;
  written.*part = std::move(text);
  return written;
}

std::string refusal(const SysfsTree& tree) {
  EmulatedKernel kernel(tree);
  Journal journal(kernel, tree.journal(), tree.root());
  try {
    journal.take();
  } catch (const Refused& error) {
    return error.what();
  }
  return {};
}

TEST(Journal, IsTakenByOneProcessAtATime) {
  const SysfsTree tree("amd-pstate");
  EmulatedKernel kernel(tree);
  Journal own(kernel, tree.journal(), tree.root());
  own.take();
  own.keep({kGovernor});
  kernel.write(kGovernor, "performance\n");
  const std::string why = refusal(tree);
  EXPECT_TRUE(why.starts_with("process " + std::to_string(::getpid()) + " controls the clocks ("))
      << why;
  EXPECT_EQ(tree.text(kGovernor), "performance\n");
  own.restore();
  EXPECT_EQ(tree.text(kGovernor), "powersave\n");
  EXPECT_EQ(refusal(tree), "");
}

TEST(Journal, BelongsToAProcessNotToItsNumber) {
  const SysfsTree tree("amd-pstate");
  const Owner self = Owner::self();
  const auto process = [](const Owner& owner) {
    return std::to_string(owner.pid) + " " + std::to_string(owner.start);
  };
  with(&Written::process, process(self)).into(tree);
  EXPECT_NE(refusal(tree), "");
  EXPECT_EQ(tree.text(kGovernor), "powersave\n");
  with(&Written::process, process({self.pid, self.start + 1, {}})).into(tree);  // the number again
  EmulatedKernel kernel(tree);
  EXPECT_EQ(Journal(kernel, tree.journal(), tree.root()).restore_left().files, 1U);
}

TEST(Journal, OfAnEarlierBootIsForgotten) {
  const SysfsTree tree("amd-pstate");
  with(&Written::boot, "0f0e0d0c-0000-0000-0000-000000000000").into(tree);
  EmulatedKernel kernel(tree);
  const Restored restored = Journal(kernel, tree.journal(), tree.root()).restore_left();
  EXPECT_EQ(restored.files, 0U);
  EXPECT_EQ(kernel.writes, 0U);
  EXPECT_FALSE(fs::exists(tree.journal()));
}

TEST(Journal, ThatIsDamagedOrForgedIsRefusedAndChangesNothing) {
  const auto names = [](const std::string& path) { return "file " + path + " x\\n\n"; };
  struct Case {
    Written written;
    const char* told;
  };
  const Case cases[] = {
      {with(&Written::title, "carillon clocks 2"), "its first line is not `carillon clocks 1`"},
      {with(&Written::title, ""), "its first line is not"},
      {with(&Written::sysfs, "/elsewhere"), "it is of /elsewhere, not of "},
      {with(&Written::process, "-3 1"), "its process is no number and start"},
      {with(&Written::process, "x"), "its process is no number and start"},
      {with(&Written::files, "file " + kGovernor + "\n"), "what was in "},
      {with(&Written::files, "file " + kGovernor + " a\\x\n"), "what was in "},
      {with(&Written::files, "file " + kGovernor + " a\\\n"), "what was in "},
      {with(&Written::end, ""), "it does not end after 1 files"},
      {with(&Written::end, "end 2\n"), "it does not end after 1 files"},
      {with(&Written::files, names("/etc/passwd")), "it names /etc/passwd, which is never changed"},
      {with(&Written::files, names("devices/system/cpu/cpu0/online")), "which is never changed"},
      {with(&Written::files, names("../" + kGovernor)), "which is never changed"},
      {with(&Written::files, names("devices/system/cpu/cpufreq/policy0/../boost")),
       "which is never changed"},
      {with(&Written::files, names(kGovernor + "/x")), "which is never changed"},
      {with(&Written::files, names("devices/system/cpu/cpufreq/policyx/scaling_governor")),
       "which is never changed"},
  };
  for (const auto& [written, told] : cases) {
    const SysfsTree tree("amd-pstate");
    const auto before = tree.snapshot();
    written.into(tree);
    const std::string why = refusal(tree);
    EXPECT_NE(why.find(told), std::string::npos) << told << why;
    EXPECT_NE(why.find(": is damaged: "), std::string::npos) << why;
    EXPECT_EQ(tree.changed_since(before), "") << told;
    EXPECT_TRUE(fs::exists(tree.journal())) << told;
  }
}

TEST(Journal, CutOffAnywhereIsRefused) {
  const SysfsTree tree("amd-pstate");
  with(&Written::process, "1 1").into(tree);
  std::ifstream file(tree.journal());
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  for (std::size_t length = 0; length + 1 < whole.size(); ++length) {
    std::ofstream(tree.journal()) << whole.substr(0, length);
    EXPECT_NE(refusal(tree), "") << length;
  }
}

TEST(Journal, ThatIsALinkOrAPipeIsNotFollowed) {
  const SysfsTree tree("amd-pstate");
  const fs::path elsewhere = tree.root() / "elsewhere";
  std::ofstream(elsewhere) << "text";
  fs::create_symlink(elsewhere, tree.journal());
  EXPECT_NE(refusal(tree).find("Too many levels of symbolic links"), std::string::npos);
  fs::remove(tree.journal());
  ASSERT_EQ(::mkfifo(tree.journal().c_str(), 0600), 0);
  EXPECT_NE(refusal(tree).find("is no journal of clocks"), std::string::npos);
  std::ifstream file(elsewhere);
  std::string text;
  EXPECT_TRUE(std::getline(file, text) && text == "text");
}

TEST(Journal, FollowsNoLinkOutOfTheTree) {
  const SysfsTree tree("amd-pstate");
  const fs::path victim = tree.root().parent_path() / "victim";
  std::ofstream(victim) << "precious";
  fs::remove(tree.root() / kGovernor);
  fs::create_symlink(victim, tree.root() / kGovernor);
  Written{}.into(tree);
  EmulatedKernel kernel(tree);
  const Restored restored = Journal(kernel, tree.journal(), tree.root()).restore_left();
  ASSERT_EQ(restored.failed.size(), 1U);
  EXPECT_EQ(tree.text("../victim"), "precious");
}

TEST(Journal, KeepsOnlyWhatMayBeChangedAndIsTaken) {
  const SysfsTree tree("amd-pstate");
  EmulatedKernel kernel(tree);
  Journal journal(kernel, tree.journal(), tree.root());
  EXPECT_THROW(journal.keep({kGovernor}), Refused);
  journal.take();
  EXPECT_THROW(journal.keep({"devices/system/cpu/online"}), Refused);
  EXPECT_THROW(journal.keep({std::string(kPolicies) + "/policy9/scaling_governor"}), Refused);
  journal.keep({kGovernor, kGovernor});
  EXPECT_EQ(journal.restore().files, 1U);
}

TEST(Journal, KeepsTextsWithAnyCharacters) {
  const SysfsTree tree("amd-pstate");
  const std::string odd = "a\\b\n\\n c\n";
  tree.set(kGovernor, odd);
  EmulatedKernel kernel(tree);
  {
    Journal journal(kernel, tree.journal(), tree.root());
    journal.take();
    journal.keep({kGovernor});
    tree.set(kGovernor, "powersave\n");
    fs::copy_file(tree.journal(), tree.root() / "copy");
  }
  std::string text = tree.text("copy");
  const std::string own = std::to_string(::getpid()) + " ";
  text.replace(text.find(own), own.size(), own + "9");  // of a process that is not
  std::ofstream(tree.journal()) << text;
  Sysfs files(tree.root());
  tree.set(kGovernor, "powersave\n");
  EXPECT_TRUE(Journal(files, tree.journal(), tree.root()).restore_left().failed.empty());
  EXPECT_EQ(tree.text(kGovernor), odd);
}

// What could not be written to disk, or read, is no more kept than before.
TEST(Journal, KeepsNothingThatIsNotOnDisk) {
  const SysfsTree tree("amd-pstate");
  EmulatedKernel kernel(tree);
  Journal own(kernel, tree.journal(), tree.root());
  own.take();
  const auto says = [&](const std::string& path) {
    std::ifstream file(tree.journal());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return text.find(path) != std::string::npos;
  };
  const fs::path beside = tree.journal().string() + ".new";  // by which it is replaced
  fs::create_directory(beside);
  EXPECT_THROW(own.keep({kGovernor}), Refused);
  EXPECT_FALSE(says(kGovernor));
  fs::remove(beside);
  kernel.hidden[kLimit] = EACCES;
  EXPECT_THROW(own.keep({kGovernor, kLimit}), Refused);
  EXPECT_FALSE(says(kGovernor));
  kernel.hidden.clear();
  own.keep({kGovernor, kLimit});
  EXPECT_TRUE(says(kGovernor) && says(kLimit));
}

TEST(Journal, SaysWhereItCannotBeWritten) {
  const SysfsTree tree("amd-pstate");
  EmulatedKernel kernel(tree);
  const fs::path file = tree.root() / "none" / "of" / "these";
  try {
    Journal(kernel, file, tree.root()).take();
    ADD_FAILURE() << "was taken";
  } catch (const Refused& error) {
    EXPECT_NE(std::string(error.what()).find("No such file or directory; run as root, or set "),
              std::string::npos)
        << error.what();
  }
}

TEST(Journal, LiesInRunOrBesideItsTree) {
  EXPECT_EQ(journal_of("/somewhere/tree"), "/somewhere/tree.journal");
  EXPECT_EQ(journal_of("/somewhere/tree/"), "/somewhere/tree.journal");
  const std::string own = journal_of("/sys");
  EXPECT_TRUE(own.starts_with("/run/") || std::getenv("XDG_RUNTIME_DIR")) << own;
  EXPECT_TRUE(own.ends_with("/carillon/clocks")) << own;
}

}  // namespace
}  // namespace carillon::power
