// The real-time process as a whole: its ends, however they come.
#include <linux/capability.h>

#include <random>

#include "app/daemon.hpp"
#include "base/cpu.hpp"

namespace carillon {
namespace {

using app::Role;
using fronthaul::LinkKind;

// 8 × 2 in frames of 5 ms, without real-time priority: other programs run beside the tests.
app::RunPlan plan_of(Role role) {
  app::RunPlan plan;
  plan.run.role = role;
  plan.cell.antennas = 8;
  plan.cell.users = 2;
  plan.cell.numerology.prefix = frame::PrefixKind::Constant;
  plan.cell.numerology.spacing_khz = 6;
  plan.cell.schedule = "PPUUUU" + std::string(22, 'G');
  plan.cell.deadlines.uplink_budget_ms = 100;
  plan.cell.ring = 40;
  plan.radio.frames = 4;
  plan.radio.snr_db = {30};
  plan.runtime.realtime = false;
  plan.fronthaul.shm_name = "carillon-test-" + std::to_string(getpid());
  plan.fronthaul.bbu_port = static_cast<std::uint16_t>(20000 + getpid() % 10000);
  plan.fronthaul.radio_port = static_cast<std::uint16_t>(plan.fronthaul.bbu_port + 10000);
  return plan;
}

// Each packet is of a frame that was seen or counted as rejected. The kernel drops datagrams that
// wait for a receiver which this machine kept from running.
void expect_received(const telemetry::Counters& c, LinkKind kind) {
  EXPECT_LE(c.packets_received, c.frames_sent * 48);
  if (kind == LinkKind::Shm) {
    EXPECT_EQ(c.packets_received, c.frames_sent * 48);
  }
  EXPECT_GE(c.frames_seen * 48 + c.rejected_early + c.rejected_old, c.packets_received);
  EXPECT_EQ(c.rejected_length + c.rejected_cell + c.rejected_antenna + c.rejected_symbol +
                c.rejected_duplicate,
            0U);
}

TEST(Station, SendsAndDecodesTheFramesOfItsPlan) {
  for (const auto kind : {LinkKind::Shm, LinkKind::Udp}) {
    const test::Folder folder("station");
    auto plan = plan_of(Role::Both);
    plan.fronthaul.kind = kind;
    plan.cell.schedule = "PPUUUUGGGGGGGGDDD" + std::string(11, 'G');
    plan.run.frames = 200;
    test::Daemon daemon(folder, "both", plan);
    EXPECT_EQ(daemon.wait(), 0) << daemon.errors();
    test::expect_complete(daemon);
    const auto c = daemon.counters();
    ASSERT_TRUE(c.has_value());
    EXPECT_LE(c->frames_sent, 200U);
    EXPECT_GT(c->uplink_blocks, c->uplink_failed);
    expect_received(*c, kind);
    // What the radio slept through is in no other count.
    EXPECT_EQ(c->frames_sent + c->frames_skipped, 200U);
    EXPECT_EQ(c->frames_seen, c->frames_sent);
    // Something went on air in every D symbol, and each block's fate is known or told unknown.
    EXPECT_EQ(c->downlink_symbols_sent + c->downlink_symbols_substituted, 3U * c->frames_sent);
    EXPECT_GE(c->packets_sent, c->downlink_symbols_sent * 8);
    EXPECT_EQ(c->downlink_blocks + c->downlink_unverified, 2U * c->frames_sent);
    EXPECT_LE(c->downlink_failed, 2 * c->downlink_symbols_substituted);
    // A frame in time went on air whole, as the radio unit says.
    EXPECT_LE(3 * (c->frames_completed - c->frames_unreported), c->downlink_symbols_sent);
    EXPECT_LE(c->frames_substituted, c->downlink_symbols_substituted);
    EXPECT_LE(c->pacing_frames, c->frames_sent);
    // No frame was begun that the radio did not send, but for those that it slept through.
    EXPECT_TRUE(c->ghost_busy == 0 || c->frames_skipped > 0);
  }
}

// Each cell with frames of its own length; what is a cell's stays there.
TEST(Station, RunsSeveralCellsOnSharedWorkers) {
  for (const auto kind : {LinkKind::Shm, LinkKind::Udp}) {
    const test::Folder folder("cells");
    std::vector<app::RunPlan> plans;
    for (std::uint16_t i = 0; i < 3; ++i) {
      auto& plan = plans.emplace_back(plan_of(Role::Both));
      plan.cell.cell_id = i;
      plan.cell.schedule += std::string(7U * i, 'G');
      plan.fronthaul.kind = kind;
      plan.fronthaul.bbu_port = static_cast<std::uint16_t>(plan.fronthaul.bbu_port + i);
      plan.fronthaul.radio_port = static_cast<std::uint16_t>(plan.fronthaul.radio_port + i);
      plan.run.frames = 200;
    }
    test::Daemon daemon(folder, "cells", plans);
    EXPECT_EQ(daemon.wait(), 0) << daemon.errors();
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const auto c = daemon.counters(i);
      ASSERT_TRUE(c.has_value());
      EXPECT_EQ(c->phase, 3U);
      EXPECT_EQ(c->packets_received, c->frames_sent * 48);
      EXPECT_GT(c->uplink_blocks, c->uplink_failed);
      EXPECT_EQ(c->frames_seen, c->frames_sent);
      expect_received(*c, kind);
    }
  }
}

// The machine stands still, and frames are announced that the radio units then do not send.
TEST(Station, WhatNobodySentIsNoCostOfAnyCell) {
  const test::Folder folder("ghosts");
  std::vector<app::RunPlan> plans;
  for (std::uint16_t i = 0; i < 2; ++i) {
    plans.push_back(plan_of(Role::Both));
    plans.back().cell.cell_id = i;
    plans.back().fronthaul.shm_name += std::to_string(i);
  }
  test::Daemon daemon(folder, "ghosts", plans);
  EXPECT_TRUE(daemon.wait_for_phase(1)) << daemon.errors();
  std::vector<Tick> own(2);
  for (int stops = 0; stops < 1000 && own[0] + own[1] == 0; ++stops) {
    daemon.signal(SIGSTOP);
    test::pause_ms(30);
    daemon.signal(SIGCONT);
    test::pause_ms(30);
    for (std::size_t i = 0; i < 2; ++i)
      own[i] = daemon.counters(i).value_or(telemetry::Counters{}).ghost_busy;
  }
  EXPECT_GT(own[0] + own[1], 0);
  daemon.signal(SIGINT);
  EXPECT_EQ(daemon.wait(), 0) << daemon.errors();
  const auto first = daemon.counters(0), second = daemon.counters(1);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(first->ghost_busy, second->ghost_busy);
  EXPECT_GE(first->ghost_busy, own[0] + own[1]);
}

TEST(Station, ARadioOfAnotherCellIsCountedAndNotBelieved) {
  const test::Folder folder("foreign");
  auto bbu = plan_of(Role::Bbu), radio = plan_of(Role::Radio);
  bbu.fronthaul.kind = radio.fronthaul.kind = LinkKind::Udp;
  auto other = bbu;
  other.cell.cell_id = 1;
  other.fronthaul.bbu_port = static_cast<std::uint16_t>(bbu.fronthaul.bbu_port + 1);
  radio.cell.cell_id = 1;  // but it sends to the port of cell 0
  radio.run.frames = 40;
  test::Daemon unit(folder, "bbu", {bbu, other});
  EXPECT_TRUE(unit.wait_for_phase(1)) << unit.errors();
  test::Daemon antenna(folder, "radio", radio);
  EXPECT_EQ(antenna.wait(), 0) << antenna.errors();
  unit.signal(SIGINT);
  EXPECT_EQ(unit.wait(), 0) << unit.errors();
  const auto first = unit.counters(0), second = unit.counters(1);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_GT(first->rejected_cell, 0U);
  EXPECT_EQ(first->rejected_cell, first->packets_received);
  EXPECT_EQ(first->frames_seen + second->frames_seen, 0U);
}

TEST(Station, RefusesCellsThatCollide) {
  const test::Folder folder("collide");
  test::Daemon daemon(folder, "both", {plan_of(Role::Both), plan_of(Role::Both)});
  EXPECT_EQ(daemon.wait(), 2);
  EXPECT_NE(daemon.errors().find("cell.cell_id is 0, and so it is in"), std::string::npos)
      << daemon.errors();
}

TEST(Station, DoesAllInOneThreadOnOneCore) {
  const test::Folder folder("one-core");
  auto plan = plan_of(Role::Both);
  plan.runtime.cores = {allowed_cpus().front()};
  plan.run.frames = 200;
  test::Daemon daemon(folder, "both", plan);
  EXPECT_EQ(daemon.wait(), 0) << daemon.errors();
  test::expect_complete(daemon);
  const auto c = daemon.counters();
  ASSERT_TRUE(c.has_value());
  EXPECT_GT(c->uplink_blocks, c->uplink_failed);
  expect_received(*c, plan.fronthaul.kind);
}

TEST(Station, TheBasebandUnitsSecondsBeginWithTheRadio) {
  const test::Folder folder("waiting");
  auto bbu = plan_of(Role::Bbu), radio = plan_of(Role::Radio);
  bbu.run.seconds = 0.5;
  radio.run.seconds = 10;
  test::Daemon unit(folder, "bbu", bbu);
  EXPECT_TRUE(unit.wait_for_phase(1)) << unit.errors();
  test::pause_ms(1000);
  EXPECT_EQ(unit.counters()->phase, 1U) << "it did not wait";
  test::Daemon antenna(folder, "radio", radio);
  EXPECT_EQ(unit.wait(), 0) << unit.errors();
  EXPECT_GT(unit.counters()->frames_seen, 0U);
  test::expect_complete(unit);
  antenna.signal(SIGINT);
  EXPECT_EQ(antenna.wait(), 0) << antenna.errors();
}

TEST(Station, AnInterruptAtAnyMomentLeavesACompleteRecord) {
  std::mt19937 random(7);
  auto plan = plan_of(Role::Both);
  plan.radio.frames = 64;  // a while to prepare
  for (int i = 0; i < 15; ++i) {
    const test::Folder folder("interrupt");
    test::Daemon daemon(folder, "both", plan);
    daemon.wait_until_it_listens();
    test::pause_ms(random() % (i < 8 ? 100 : 800));
    daemon.signal(i % 2 == 0 ? SIGINT : SIGTERM);
    test::pause_ms(random() % 100);
    daemon.signal(SIGINT);  // an impatient person
    EXPECT_EQ(daemon.wait(), 0) << daemon.errors();
    test::expect_complete(daemon);
    const auto c = daemon.counters();
    if (c.has_value() && c->frames_sent == 0) {
      EXPECT_NE(daemon.errors().find("making the radio's frames"), std::string::npos);
    }
  }
}

TEST(Station, EndsWithItsParent) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const test::Folder folder("orphan");
  test::Daemon parent(folder, "both", plan_of(Role::Both), true);
  EXPECT_TRUE(parent.wait_for_phase(1)) << parent.errors();
  EXPECT_EQ(parent.wait(), 0);
  EXPECT_TRUE(parent.wait_for_phase(3)) << parent.errors();
  int status = -1;
  EXPECT_GT(waitpid(-1, &status, 0), 0);  // ours now
  EXPECT_EQ(status, 0);
  test::expect_complete(parent);
}

TEST(Station, RefusesAPlanThatCannotBe) {
  const test::Folder folder("refused");
  auto plan = plan_of(Role::Both);
  plan.cell.users = 9;
  test::Daemon daemon(folder, "both", plan);
  EXPECT_EQ(daemon.wait(), 2);
  EXPECT_NE(daemon.errors().find("cell.users"), std::string::npos) << daemon.errors();
}

// Real-time priorities, locked memory, raw packets, socket buffers, reading; the folder is ours.
TEST(Station, KeepsOfRootWhatARunNeeds) {
  const test::Folder folder("privileges");
  test::Daemon daemon(folder, "unit", plan_of(Role::Bbu));
  ASSERT_TRUE(daemon.wait_for_phase(0)) << daemon.errors();  // its plan is read
  std::uint64_t kept = 0;
  for (const int capability :
       {CAP_SYS_NICE, CAP_IPC_LOCK, CAP_NET_RAW, CAP_NET_ADMIN, CAP_DAC_READ_SEARCH})
    kept |= std::uint64_t{1} << capability;
  EXPECT_EQ(daemon.status("CapEff") & ~kept, 0U);
  EXPECT_EQ(daemon.status("CapPrm") & ~kept, 0U);
  EXPECT_EQ(daemon.status("NoNewPrivs"), 1U);
  daemon.signal(SIGINT);
  EXPECT_EQ(daemon.wait(), 0) << daemon.errors();
}

TEST(Station, WritesNowhereElseThanWhereItIsStarted) {
  const test::Folder run("run"), elsewhere("elsewhere");
  const auto file = elsewhere.path + "/both.bin";
  std::ofstream(file) << "of somebody else";
  const auto way = std::filesystem::relative(elsewhere.path, run.path).string();
  test::Daemon daemon(run, way + "/both", plan_of(Role::Both));
  EXPECT_EQ(daemon.wait(), 2);
  EXPECT_NE(daemon.errors().find("run.telemetry is '" + daemon.telemetry), std::string::npos)
      << daemon.errors();
  EXPECT_EQ(test::slurp(file), "of somebody else");
}

void expect_cell_of_two(LinkKind kind, bool radio_first, int end_of_radio) {
  const test::Folder folder("two");
  auto bbu = plan_of(Role::Bbu), radio = plan_of(Role::Radio);
  bbu.fronthaul.kind = radio.fronthaul.kind = kind;
  std::optional<test::Daemon> unit, antenna;
  if (radio_first) {
    antenna.emplace(folder, "radio", radio);
    EXPECT_TRUE(antenna->wait_for_phase(1)) << antenna->errors();
  }
  unit.emplace(folder, "bbu", bbu);
  EXPECT_TRUE(unit->wait_for_phase(1)) << unit->errors();
  if (!radio_first) antenna.emplace(folder, "radio", radio);
  EXPECT_TRUE(unit->wait_until([](const auto& c) { return c.frames_completed > 10; }))
      << unit->errors() << antenna->errors();

  antenna->signal(end_of_radio);
  EXPECT_EQ(antenna->wait(), end_of_radio == SIGKILL ? -2 : 0) << antenna->errors();
  test::pause_ms(200);
  const auto before = unit->counters();
  test::pause_ms(100);
  unit->signal(SIGINT);
  EXPECT_EQ(unit->wait(), 0) << unit->errors();
  test::expect_complete(*unit);
  const auto c = unit->counters();
  ASSERT_TRUE(c.has_value() && before.has_value());
  EXPECT_EQ(before->phase, 1U);  // it went on alone
  EXPECT_EQ(c->packets_received, before->packets_received);
  EXPECT_NE(access(("/dev/shm/" + bbu.fronthaul.shm_name).c_str(), F_OK), 0) << "left behind";
  if (end_of_radio != SIGKILL) {
    test::expect_complete(*antenna);
    EXPECT_LE(c->frames_completed, antenna->counters()->frames_sent);
    EXPECT_LE(c->packets_received, antenna->counters()->packets_sent);
  }
}

TEST(TwoProcesses, TheBasebandUnitMayComeFirst) {
  for (const auto kind : {LinkKind::Shm, LinkKind::Udp}) expect_cell_of_two(kind, false, SIGINT);
}
TEST(TwoProcesses, TheRadioMayComeFirst) {
  for (const auto kind : {LinkKind::Shm, LinkKind::Udp}) expect_cell_of_two(kind, true, SIGINT);
}
TEST(TwoProcesses, TheBasebandUnitOutlivesARadioThatDies) {
  for (const auto kind : {LinkKind::Shm, LinkKind::Udp}) expect_cell_of_two(kind, false, SIGKILL);
}

// Frames in the ring may still end when their radio is gone; more are of the one that came after
// it.
void expect_a_successor_is_taken(LinkKind kind, Role killed) {
  const test::Folder folder("rejoin");
  auto bbu = plan_of(Role::Bbu), radio = plan_of(Role::Radio);
  bbu.fronthaul.kind = radio.fronthaul.kind = kind;
  const auto completes = [](const test::Daemon& unit, std::uint64_t frames) {
    const std::uint64_t before = unit.counters() ? unit.counters()->frames_completed : 0;
    return unit.wait_until([=](const auto& c) { return c.frames_completed > before + frames; });
  };
  std::optional<test::Daemon> unit, antenna;
  unit.emplace(folder, "bbu", bbu);
  antenna.emplace(folder, "radio", radio);
  EXPECT_TRUE(completes(*unit, 10)) << unit->errors() << antenna->errors();
  auto& dies = killed == Role::Bbu ? unit : antenna;
  dies->signal(SIGKILL);
  EXPECT_EQ(dies->wait(), -2);
  dies.emplace(folder, "successor", killed == Role::Bbu ? bbu : radio);
  EXPECT_TRUE(completes(*unit, bbu.cell.ring + 10)) << unit->errors() << antenna->errors();
  for (auto* each : {&unit, &antenna}) {
    (*each)->signal(SIGINT);
    EXPECT_EQ((*each)->wait(), 0) << (*each)->errors();
    test::expect_complete(**each);
  }
  EXPECT_NE(access(("/dev/shm/" + bbu.fronthaul.shm_name).c_str(), F_OK), 0) << "left behind";
}

TEST(TwoProcesses, ARadioThatWasKilledIsFollowedByAnother) {
  for (const auto kind : {LinkKind::Shm, LinkKind::Udp})
    expect_a_successor_is_taken(kind, Role::Radio);
}
TEST(TwoProcesses, ABasebandUnitThatWasKilledIsFollowedByAnother) {
  for (const auto kind : {LinkKind::Shm, LinkKind::Udp})
    expect_a_successor_is_taken(kind, Role::Bbu);
}

}  // namespace
}  // namespace carillon
