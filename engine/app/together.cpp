#include "app/together.hpp"

#include <array>

#include <sstream>
#include <string_view>
#include <utility>

namespace carillon::app {
namespace {

// Where a plan's process receives, all ports of an address; port 0 is any that is free.
struct Listener {
  std::string key, address;
  std::uint32_t first = 0, last = 0;

  bool meets(const Listener& other) const {
    constexpr std::string_view everywhere = "0.0.0.0";
    const bool same =
        address == other.address || address == everywhere || other.address == everywhere;
    return same && first != 0 && other.first != 0 && first <= other.last && other.first <= last;
  }
};

std::vector<Listener> listeners(const RunPlan& plan) {
  const auto& link = plan.fronthaul;
  std::vector<Listener> found;
  if (link.kind != fronthaul::LinkKind::Udp) return found;
  const std::uint32_t port = link.bbu_port;
  if (plan.run.role != Role::Radio)
    found.push_back(
        {"fronthaul.bbu_port", link.bbu_address, port, port == 0 ? 0 : port + link.receivers - 1});
  if (plan.run.role != Role::Bbu)
    found.push_back({"fronthaul.radio_port", link.radio_address, link.radio_port, link.radio_port});
  return found;
}

std::vector<std::string> lines_of(const RunPlan& plan) {
  RunPlan shared;
  shared.runtime = plan.runtime;
  shared.power = plan.power;
  shared.runtime.grain = {};
  shared.run = plan.run;
  shared.run.telemetry = {};
  shared.run.record_frames = 1;
  std::istringstream text(to_text(shared));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

// Of a `key = value` line; a list may be empty.
std::string value_of(const std::string& line) {
  const std::string value = line.substr(line.find(" = ") + 3);
  return value.empty() ? "empty" : value;
}

// Keys of `key = value` lines that differ.
void compare_shared(const RunPlan& plan, const RunPlan& other, const std::string& name,
                    std::vector<Problem>& problems) {
  const auto mine = lines_of(plan), theirs = lines_of(other);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (mine[i] == theirs[i]) continue;
    problems.push_back({mine[i].substr(0, mine[i].find(" = ")),
                        "is " + value_of(mine[i]) + " but " + value_of(theirs[i]) + " in " + name +
                            "; cells of one process must agree"});
  }
}

void compare_own(const RunPlan& plan, const RunPlan& other, const std::string& name,
                 std::vector<Problem>& problems) {
  const auto collide = [&](std::string key, const std::string& value, const std::string& advice) {
    problems.push_back(
        {std::move(key), "is " + value + ", and so it is in " + name + "; " + advice});
  };
  if (plan.cell.cell_id == other.cell.cell_id)
    collide("cell.cell_id", std::to_string(plan.cell.cell_id), "give each cell its own");
  const bool named = plan.run.role != Role::Both;
  if (named && plan.fronthaul.kind == fronthaul::LinkKind::Shm &&
      other.fronthaul.kind == fronthaul::LinkKind::Shm &&
      plan.fronthaul.shm_name == other.fronthaul.shm_name)
    collide("fronthaul.shm_name", plan.fronthaul.shm_name, "give each cell its own");
  for (const Listener& one : listeners(plan))
    for (const Listener& two : listeners(other))
      if (one.meets(two))
        problems.push_back({one.key, "is " + std::to_string(one.first) + " but " + name +
                                         " receives there with its " + two.key +
                                         "; give each cell its own ports"});
  const auto names = [](const port::DataOptions& data) {
    return std::array<std::pair<const char*, std::string>, 4>{
        {{"data.socket", data.socket},
         {"data.users_socket", data.users_socket},
         {"data.tun", data.tun},
         {"data.users_tun", data.users_tun}}};
  };
  for (const auto& [key, one] : names(plan.data))
    for (const auto& [_, two] : names(other.data))
      if (!one.empty() && one == two) collide(key, one, "give each cell its own");
  if (plan.run.telemetry == other.run.telemetry)
    collide("run.telemetry", plan.run.telemetry, "give each cell its own file");
}

}  // namespace

std::vector<Clash> check_together(std::span<const RunPlan> plans,
                                  std::span<const std::string> names) {
  std::vector<Clash> clashes;
  for (std::size_t i = 1; i < plans.size(); ++i) {
    std::vector<Problem> problems;
    compare_shared(plans[i], plans[0], names[0], problems);
    for (std::size_t j = 0; j < i; ++j) compare_own(plans[i], plans[j], names[j], problems);
    for (auto& problem : problems) clashes.push_back({i, std::move(problem)});
  }
  return clashes;
}

}  // namespace carillon::app
