// Trees of plain files as machines have them below /sys (tests/data/sysfs), and a kernel's rules
// over one, emulated: what it refuses, and what changes with something else.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>

#include "power/cpufreq.hpp"
#include "power/files.hpp"

namespace carillon::test {

namespace fs = std::filesystem;

/// In a folder of its own, which goes with it.
class SysfsTree {
 public:
  explicit SysfsTree(const std::string& kind) {
    std::string name = fs::temp_directory_path() / "carillon-sysfs-XXXXXX";
    if (!::mkdtemp(name.data())) throw std::runtime_error("no folder for a tree");
    folder_ = fs::canonical(name);
    std::ifstream lines(std::string(CARILLON_TEST_DATA) + "/sysfs/" + kind + ".txt");
    if (!lines) throw std::runtime_error("there is no tree " + kind);
    for (std::string line; std::getline(lines, line);)
      if (!line.starts_with("#")) make_each(line);
  }
  SysfsTree(const SysfsTree&) = delete;
  SysfsTree& operator=(const SysfsTree&) = delete;
  ~SysfsTree() { fs::remove_all(folder_); }

  fs::path root() const { return folder_ / "sys"; }
  fs::path journal() const { return folder_ / "sys.journal"; }
  std::string text(const std::string& path) const {
    std::ifstream file(root() / path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void set(const std::string& path, const std::string& text) const {
    std::ofstream(root() / path) << text;
  }
  using Snapshot = std::map<std::string, std::string>;
  /// Every file's path and contents.
  Snapshot snapshot() const {
    Snapshot found;
    for (const auto& entry : fs::recursive_directory_iterator(root()))
      if (entry.is_regular_file() && !entry.is_symlink()) {
        const std::string path = fs::relative(entry.path(), root());
        found[path] = text(path);
      }
    return found;
  }

  /// The files that are not as they were, and what they say; empty: none.
  std::string changed_since(Snapshot before) const {
    std::string list;
    for (const auto& [path, text] : snapshot())
      if (const auto own = before.extract(path); own.empty() || own.mapped() != text)
        list += path + ": " + text;
    for (const auto& [path, text] : before) list += path + " is gone\n";
    return list;
  }

 private:
  void make_each(const std::string& line) const {
    const std::size_t open = line.find('{'), close = line.find('}');
    if (open == std::string::npos || close == open + 1) return make(line);
    const std::size_t dash = line.find('-', open);
    const int first = std::stoi(line.substr(open + 1)), last = std::stoi(line.substr(dash + 1));
    for (int n = first; n <= last; ++n) {
      std::string own = line.substr(0, open) + std::to_string(n) + line.substr(close + 1);
      while (own.find("{}") != std::string::npos) own.replace(own.find("{}"), 2, std::to_string(n));
      make(own);
    }
  }
  void make(const std::string& line) const {
    if (const std::size_t arrow = line.find(" -> "); arrow != std::string::npos) {
      fs::create_directories((root() / line.substr(0, arrow)).parent_path());
      return fs::create_symlink(line.substr(arrow + 4), root() / line.substr(0, arrow));
    }
    const std::size_t equals = line.find(" = ");
    const fs::path path = root() / line.substr(0, equals);
    if (equals == std::string::npos) {
      fs::create_directories(path);
      return;
    }
    std::string text = line.substr(equals + 3);
    if (text.ends_with('~')) text.back() = ' ';
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }

  fs::path folder_;
};

/// What Linux's cpufreq does with writes, over a tree. `refusals` come first.
class EmulatedKernel : public power::Sysfs {
 public:
  explicit EmulatedKernel(const SysfsTree& tree) : Sysfs(tree.root()), tree_(tree) {}

  std::map<std::string, int> refusals;  ///< errno of writing a file
  std::map<std::string, int> hidden;    ///< errno of reading it
  std::size_t writes = 0;
  std::size_t dies_at = 0;  ///< the write before which this process is killed; 0: none

  power::Reading read(const std::string& path) override {
    const auto found = hidden.find(path);
    return found == hidden.end() ? Sysfs::read(path) : power::Reading{{}, found->second};
  }

  int write(const std::string& path, const std::string& text) override {
    if (++writes == dies_at) ::raise(SIGKILL);
    if (const auto found = refusals.find(path); found != refusals.end()) return found->second;
    const std::size_t slash = path.rfind('/');
    const std::string policy = path.substr(0, slash + 1), name = path.substr(slash + 1);
    const std::string value = text.substr(0, text.find('\n'));
    if (name == "scaling_governor") return set_governor(policy, value);
    if (name == "scaling_setspeed") return set_speed(policy, value);
    if (name == "scaling_min_freq" || name == "scaling_max_freq")
      return set_limit(policy, name, value);
    if (name == "energy_performance_preference" &&
        line(policy + "scaling_governor") == "performance" && value != "performance")
      return EBUSY;
    return Sysfs::write(path, text);
  }

 private:
  std::string line(const std::string& path) { return power::line_of(*this, path); }
  std::int64_t number(const std::string& path) { return power::number_of(line(path)); }

  // Drivers with HWP or CPPC prefer performance under the governor of that name.
  int set_governor(const std::string& policy, const std::string& name) {
    const std::string governors = " " + line(policy + "scaling_available_governors") + " ";
    if (governors.find(" " + name + " ") == std::string::npos) return EINVAL;
    const std::string before = line(policy + "scaling_governor");
    const std::string preference = policy + "energy_performance_preference";
    if (!line(preference).empty() && before != name) {
      if (name == "performance") saved_[policy] = line(preference);
      if (before == "performance" && saved_.contains(policy))
        tree_.set(preference, saved_[policy] + "\n");
      if (name == "performance") tree_.set(preference, "performance\n");
    }
    if (before == "userspace")  // nothing runs, and other governors choose the lowest clock then
      tree_.set(policy + "scaling_cur_freq", line(policy + "cpuinfo_min_freq") + "\n");
    tree_.set(policy + "scaling_setspeed",
              (name == "userspace" ? line(policy + "scaling_cur_freq") : "<unsupported>") + "\n");
    return Sysfs::write(policy + "scaling_governor", name + "\n");
  }

  // In the steps of the table, where there is one; else of 100 MHz.
  int set_speed(const std::string& policy, const std::string& value) {
    if (line(policy + "scaling_governor") != "userspace" || power::number_of(value) < 0)
      return EINVAL;
    const std::int64_t khz = (power::number_of(value) + 500) / 1000 * 1000;
    tree_.set(policy + "scaling_cur_freq", std::to_string(khz) + "\n");
    return Sysfs::write(policy + "scaling_setspeed", std::to_string(khz) + "\n");
  }

  // As before Linux 5.4, which is the stricter one: it refuses a limit beyond the other one.
  int set_limit(const std::string& policy, const std::string& name, const std::string& value) {
    const std::int64_t khz = power::number_of(value);
    const bool least = name == "scaling_min_freq";
    const std::int64_t other = number(policy + (least ? "scaling_max_freq" : "scaling_min_freq"));
    if (khz < 0 || (least ? khz > other : khz < other)) return EINVAL;
    return Sysfs::write(policy + name, value + "\n");
  }

  const SysfsTree& tree_;
  std::map<std::string, std::string> saved_;
};

}  // namespace carillon::test
