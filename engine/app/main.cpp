// carillond: the real-time process. Reads a run plan, runs it, leaves its records behind.
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>

#include "app/station.hpp"
#include "base/isa.hpp"

namespace {

std::atomic<bool> stop{false};

void on_signal(int) { stop.store(true); }

constexpr const char* kUsage =
    "usage: carillond RUNPLAN\n"
    "Runs a baseband unit, an emulated radio unit or both, as the run plan says, until it is over "
    "or\n"
    "SIGINT or SIGTERM comes. `carillon run`, `carillon radio` and `carillon demo` write run "
    "plans.\n";

int run(const char* path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) {
    std::fprintf(stderr, "carillond: %s: cannot be read, or is empty\n", path);
    return 2;
  }
  std::vector<carillon::Problem> problems;
  const auto plan = carillon::app::parse_run_plan(text.str(), problems);
  for (const auto& problem : problems)
    std::fprintf(stderr, "carillond: %s: %s %s\n", path, problem.key.c_str(),
                 problem.message.c_str());
  if (!problems.empty()) return 2;
  carillon::app::Station(plan).run(stop);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || argv[1][0] == '-') {
    std::fputs(kUsage, argc == 2 ? stdout : stderr);
    return argc == 2 ? 0 : 2;
  }
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // whoever reads our records is gone
  try {
    carillon::active_isa();
    return run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "carillond: %s\n", error.what());
    return 1;
  }
}
