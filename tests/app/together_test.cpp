// Which plans can be run by one process.
#include "app/together.hpp"

#include <algorithm>

#include "support/test.hpp"

namespace carillon::app {
namespace {

const std::vector<std::string> kNames = {"north", "south", "east"};

// Each with its own id, ports, shared memory and telemetry.
std::vector<RunPlan> plans(Role role, fronthaul::LinkKind kind) {
  std::vector<RunPlan> all(3);
  for (std::uint16_t i = 0; i < all.size(); ++i) {
    all[i].cell.cell_id = i;
    all[i].run.role = role;
    all[i].run.telemetry = kNames[i] + ".bin";
    all[i].fronthaul.kind = kind;
    all[i].fronthaul.receivers = 2;
    all[i].fronthaul.bbu_port = static_cast<std::uint16_t>(8000 + 2 * i);
    all[i].fronthaul.radio_port = static_cast<std::uint16_t>(9000 + i);
    all[i].fronthaul.shm_name = kNames[i];
  }
  return all;
}

void expect_clash(const std::vector<RunPlan>& together, std::size_t plan, const std::string& key,
                  const std::string& words) {
  const auto clashes = check_together(together, kNames);
  EXPECT_TRUE(std::any_of(clashes.begin(), clashes.end(),
                          [&](const Clash& clash) {
                            return clash.plan == plan && clash.problem.key == key &&
                                   clash.problem.message.find(words) != std::string::npos;
                          }))
      << key << (clashes.empty() ? "" : clashes[0].problem.key + " " + clashes[0].problem.message);
}

TEST(Together, CellsThatShareNothingButTheRuntimeCanBeRun) {
  for (const auto role : {Role::Both, Role::Bbu, Role::Radio})
    for (const auto kind : {fronthaul::LinkKind::Shm, fronthaul::LinkKind::Udp}) {
      auto all = plans(role, kind);
      all[2].runtime.grain.decode = 3;  // chunks are its own
      EXPECT_TRUE(check_together(all, kNames).empty());
    }
}

TEST(Together, EachNeedsItsOwnIdAndTelemetry) {
  auto all = plans(Role::Both, fronthaul::LinkKind::Shm);
  all[2].cell.cell_id = 1;
  all[1].run.telemetry = "north.bin";
  expect_clash(all, 2, "cell.cell_id", "is 1, and so it is in south");
  expect_clash(all, 1, "run.telemetry", "and so it is in north");
}

TEST(Together, SharedMemoryNeedsANameOfItsOwnBetweenProcesses) {
  for (const auto role : {Role::Both, Role::Bbu, Role::Radio}) {
    auto all = plans(role, fronthaul::LinkKind::Shm);
    all[1].fronthaul.shm_name = "north";
    if (role == Role::Both)  // has no name then
      EXPECT_TRUE(check_together(all, kNames).empty());
    else
      expect_clash(all, 1, "fronthaul.shm_name", "north");
  }
}

TEST(Together, NoTwoListenAtOnePort) {
  auto all = plans(Role::Bbu, fronthaul::LinkKind::Udp);
  all[1].fronthaul.bbu_port = 8001;
  expect_clash(all, 1, "fronthaul.bbu_port", "north receives there with its fronthaul.bbu_port");
  all[1].fronthaul.bbu_address = "127.0.0.2";
  EXPECT_TRUE(check_together(all, kNames).empty());
  all[1].fronthaul.bbu_address = "0.0.0.0";
  expect_clash(all, 1, "fronthaul.bbu_port", "8001");
  all = plans(Role::Both, fronthaul::LinkKind::Udp);
  all[2].fronthaul.radio_port = 8003;
  expect_clash(all, 2, "fronthaul.radio_port", "south receives there with its fronthaul.bbu_port");
  for (auto& plan : all) plan.fronthaul.bbu_port = plan.fronthaul.radio_port = 0;
  EXPECT_TRUE(check_together(all, kNames).empty());
}

TEST(Together, TheRuntimeAndTheRunMustAgree) {
  auto all = plans(Role::Bbu, fronthaul::LinkKind::Shm);
  all[1].runtime.workers = 3;
  all[2].runtime.policy = "static";
  all[2].run.seconds = 2;
  expect_clash(all, 1, "runtime.workers", "is 3 but 0 in north");
  expect_clash(all, 2, "runtime.policy", "is static but earliest-frame in north");
  expect_clash(all, 2, "run.seconds", "but 0 in north");
  all[1].runtime.cores = {0, 2};
  expect_clash(all, 1, "runtime.cores", "is 0 2 but empty in north");
}

}  // namespace
}  // namespace carillon::app
