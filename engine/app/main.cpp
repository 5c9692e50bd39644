// carillond: the real-time process. Reads a run plan, runs it, leaves its records behind.
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "app/station.hpp"
#include "app/together.hpp"
#include "base/isa.hpp"
#include "base/privileges.hpp"

namespace {

std::atomic<bool> stop{false};

void on_signal(int) { stop.store(true); }

constexpr const char* kUsage =
    "usage: carillond RUNPLAN...\n"
    "Runs a baseband unit, an emulated radio unit or both, as the run plan says, until it is over\n"
    "or SIGINT or SIGTERM comes; of several cells, which share the cores, one for each plan.\n"
    "It writes in the current folder only, but for sockets that a plan names.\n"
    "`carillon run`, `carillon radio` and `carillon demo` write run plans.\n";

void tell(const std::string& path, const carillon::Problem& problem) {
  std::fprintf(stderr, "carillond: %s: %s %s\n", path.c_str(), problem.key.c_str(),
               problem.message.c_str());
}

// False when there is something wrong with it, which has been told.
bool read(const std::string& path, std::vector<carillon::app::RunPlan>& plans) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) {
    std::fprintf(stderr, "carillond: %s: cannot be read, or is empty\n", path.c_str());
    return false;
  }
  std::vector<carillon::Problem> problems;
  plans.push_back(carillon::app::parse_run_plan(text.str(), problems));
  for (auto& problem : carillon::app::check_files(plans.back(), std::filesystem::current_path()))
    problems.push_back(std::move(problem));
  for (const auto& problem : problems) tell(path, problem);
  return problems.empty();
}

bool uses_xdp(const carillon::app::RunPlan& plan) {
  using carillon::fronthaul::LinkKind, carillon::fronthaul::UdpIo;
  return plan.fronthaul.kind == LinkKind::Udp && plan.fronthaul.io == UdpIo::AfXdp;
}

int run(const std::vector<std::string>& paths) {
  std::vector<carillon::app::RunPlan> plans;
  bool good = paths.size() <= carillon::runtime::kMaxSources;
  if (!good) std::fprintf(stderr, "carillond: %zu plans; at most 64\n", paths.size());
  for (std::size_t i = 0; good && i < paths.size(); ++i) good = read(paths[i], plans);
  if (!good) return 2;
  const auto clashes = carillon::app::check_together(plans, paths);
  for (const auto& clash : clashes) tell(paths[clash.plan], clash.problem);
  if (!clashes.empty()) return 2;
  if (std::ranges::none_of(plans, uses_xdp)) carillon::give_up_programs();
  carillon::app::Station(plans).run(stop);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') {
    std::fputs(kUsage, argc == 2 ? stdout : stderr);
    return argc == 2 ? 0 : 2;
  }
  carillon::give_up_privileges();
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  std::signal(SIGXFSZ, SIG_IGN);     // a file beyond `ulimit -f` is an error that names it
  prctl(PR_SET_PDEATHSIG, SIGTERM);  // whoever reads our records is gone
  try {
    carillon::active_isa();
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "carillond: %s\n", error.what());
    return 1;
  }
}
