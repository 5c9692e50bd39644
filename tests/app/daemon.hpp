// carillond as a process, and its records as another process reads them.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "app/run_plan.hpp"
#include "support/test.hpp"
#include "telemetry/records.hpp"

namespace carillon::test {

inline void pause_ms(std::int64_t ms) {
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

inline std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The counters of a telemetry file, found as its header says; none when it is not whole.
inline std::optional<telemetry::Counters> read_counters(const std::string& path) {
  const std::string file = slurp(path);
  if (file.size() < 65536 || file.compare(0, 8, "CARILLON") != 0) return std::nullopt;
  const std::string key = "\"counters\":{\"offset\":";
  const auto at = file.find(key);
  if (at == std::string::npos) return std::nullopt;
  const std::size_t offset = std::stoull(file.substr(at + key.size(), 20));
  telemetry::Counters counters;
  if (offset + sizeof counters > file.size()) return std::nullopt;
  std::memcpy(&counters, file.data() + offset, sizeof counters);
  return counters;
}

/// A folder of its own for each test.
struct Folder {
  explicit Folder(const std::string& name)
      : path("/tmp/carillon-" + name + "-" + std::to_string(getpid())) {
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  const std::string path;
};

class Daemon {
 public:
  /// Writes the plan to `folder` and starts it. `orphan`: by a parent that ends at once.
  Daemon(const Folder& folder, const std::string& name, app::RunPlan plan, bool orphan = false)
      : Daemon(folder, name, std::vector{std::move(plan)}, orphan) {}
  /// Several cells; the first one's telemetry is `telemetry`, the n-th one's has n appended.
  Daemon(const Folder& folder, const std::string& name, std::vector<app::RunPlan> plans,
         bool orphan = false)
      : telemetry(folder.path + "/" + name + ".bin"),
        folder_(folder.path),
        errors_(folder.path + "/" + name + ".txt") {
    std::vector<std::string> files;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      plans[i].run.telemetry = telemetry_of(i);
      files.push_back(folder.path + "/" + name + std::to_string(i) + ".plan");
      std::ofstream(files.back()) << app::to_text(plans[i]);
    }
    const auto program =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../engine/carillond";
    EXPECT_TRUE(std::filesystem::exists(program)) << "build carillond";
    child_ = fork();
    if (child_ == 0) start(program.string(), files, orphan);
  }
  ~Daemon() {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
  }

  /// Once it has taken over its signals.
  void wait_until_it_listens() const {
    for (int i = 0; i < 5000 && !catches_interrupt(); ++i) pause_ms(1);
  }
  /// Until its counters say so; false when they did not in half a minute.
  bool wait_until(const std::function<bool(const telemetry::Counters&)>& so) const {
    for (int i = 0; i < 3000; ++i, pause_ms(10))
      if (const auto c = read_counters(telemetry); c && so(*c)) return true;
    return false;
  }
  bool wait_for_phase(std::uint64_t phase) const {
    return wait_until([phase](const auto& c) { return c.phase >= phase; });
  }
  /// What /proc tells of it under that name.
  std::uint64_t status(const std::string& name) const {
    const std::string all = slurp("/proc/" + std::to_string(child_) + "/status");
    const auto at = all.find("\n" + name + ":");
    EXPECT_NE(at, std::string::npos) << name;
    return std::stoull(all.substr(at + name.size() + 2, 20), nullptr, 16);
  }
  void signal(int number) const { kill(child_, number); }
  /// The exit status, or -1 when it was still there after `seconds`, or -2 when a signal ended it.
  int wait(int seconds = 20) {
    for (int i = 0; i < seconds * 100; ++i, pause_ms(10)) {
      int status = 0;
      if (waitpid(child_, &status, WNOHANG) != child_) continue;
      child_ = 0;
      return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
    }
    return -1;
  }
  std::string errors() const { return slurp(errors_); }
  std::optional<telemetry::Counters> counters(std::size_t cell = 0) const {
    return read_counters(telemetry_of(cell));
  }
  std::string telemetry_of(std::size_t cell) const {
    return telemetry + (cell == 0 ? "" : std::to_string(cell));
  }

  const std::string telemetry;

 private:
  [[noreturn]] void start(std::string program, std::vector<std::string> plans, bool orphan) {
    const int file = open(errors_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(file, 2);
    if (chdir(folder_.c_str()) != 0) _exit(126);  // the folder that it may write in
    if (orphan && fork() != 0) {
      // The parent ends as soon as the daemon has begun.
      for (int i = 0; i < 3000; ++i, pause_ms(10))
        if (const auto c = read_counters(telemetry); c && c->phase >= 1) break;
      _exit(0);
    }
    std::vector<char*> words = {program.data()};
    for (auto& plan : plans) words.push_back(plan.data());
    words.push_back(nullptr);
    execv(program.c_str(), words.data());
    _exit(127);
  }
  bool catches_interrupt() const { return (status("SigCgt") >> (SIGINT - 1) & 1) != 0; }

  const std::string folder_, errors_;
  pid_t child_ = 0;
};

/// What holds at the end of every run.
inline void expect_complete(const Daemon& daemon) {
  const auto c = daemon.counters();
  ASSERT_TRUE(c.has_value()) << daemon.errors();
  EXPECT_EQ(c->phase, 3U) << daemon.errors();
  EXPECT_LE(c->started, c->ended);
  EXPECT_EQ(c->frames_seen, c->frames_completed + c->lates_lost + c->lates_fronthaul +
                                c->lates_processing + c->lates_operating_system +
                                c->lates_machine_stall);
  EXPECT_LE(c->frames_nacked, c->frames_seen);
  EXPECT_GE(c->harq_nacks, c->uplink_failed);
}

}  // namespace carillon::test
