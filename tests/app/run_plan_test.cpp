#include "app/run_plan.hpp"

#include <filesystem>

#include "app/daemon.hpp"
#include "frame/grants.hpp"
#include "support/test.hpp"

using namespace carillon;
using app::parse_run_plan;
using app::RunPlan;

namespace {

std::vector<Problem> problems_of(const std::string& text) {
  std::vector<Problem> problems;
  parse_run_plan(text, problems);
  return problems;
}

void expect_problem(const std::string& text, const std::string& key, const std::string& part) {
  const auto problems = problems_of(text);
  ASSERT_EQ(problems.size(), 1U) << text;
  EXPECT_EQ(problems[0].key, key);
  EXPECT_NE(problems[0].message.find(part), std::string::npos) << problems[0].message;
}

}  // namespace

TEST(RunPlan, OfNothingIsTheDefaults) {
  EXPECT_TRUE(problems_of("").empty());
  std::vector<Problem> problems;
  EXPECT_EQ(app::to_text(parse_run_plan("", problems)), app::to_text(RunPlan{}));
}

TEST(RunPlan, SaysWhereASchedulerServes) {
  const std::string scheduled = "cell.grants.kind = scheduler\nradio.frames = 32\n";
  const std::string tuns = "data.tun = a\ndata.users_tun = b\n";
  EXPECT_TRUE(problems_of(scheduled + tuns).empty());
  expect_problem(scheduled + "data.users_tun = b", "data.tun", "use carillon demo --ip");
  expect_problem(scheduled + "data.tun = a", "data.users_tun", "two TUN devices in one process");
  for (const char* role : {"bbu", "radio"})
    expect_problem(scheduled + tuns + "run.role = " + role, "cell.grants.kind",
                   "two processes without a control channel");
  expect_problem(scheduled + tuns + "cell.grants.policy = fifo", "cell.grants.policy",
                 "round-robin, proportional-fair");
}

TEST(RunPlan, ReadsBackWhatItWrites) {
  RunPlan plan;
  plan.cell.antennas = 16;
  plan.cell.users = 3;
  plan.cell.schedule = "PPPUUUU";
  plan.cell.uplink.modulation = frame::ModulationChoice::Qam64;
  plan.cell.uplink.rate = 0.123456789012345678;
  plan.cell.grants = test::listed({{0, 0, frame::Direction::Uplink, 0, 25, 1, 15}});
  plan.cell.numerology.dc_hole = true;
  plan.radio.snr_db = {10, 20.5, -3};
  plan.radio.channel = emulator::ChannelKind::Awgn;
  plan.fronthaul.kind = fronthaul::LinkKind::Udp;
  plan.fronthaul.bbu_address = "192.0.2.1";
  plan.fronthaul.key_file = "cells/a key.txt";
  plan.runtime.cores = {0, 1};
  plan.runtime.realtime = false;
  plan.run.role = app::Role::Bbu;
  plan.run.seconds = 2.5;
  plan.run.telemetry = "/some folder/run#3/telemetry.bin";
  std::vector<Problem> problems;
  const RunPlan read = parse_run_plan(app::to_text(plan), problems);
  for (const auto& problem : problems) EXPECT_EQ(problem.key + problem.message, std::string());
  EXPECT_EQ(app::to_text(read), app::to_text(plan));
  EXPECT_EQ(read.run.telemetry, plan.run.telemetry);
  EXPECT_EQ(read.cell.uplink.rate, plan.cell.uplink.rate);
}

TEST(RunPlan, NamesTheFullKeyOfWhatIsWrong) {
  expect_problem("cell.numerology.fft_size = 500", "cell.numerology.fft_size", "is 500");
  expect_problem("cell.antennas = many", "cell.antennas", "'many' but must be a whole number");
  expect_problem("cell.antenas = 8", "cell.antenas", "not a key");
  expect_problem("cell.users = 1\ncell.users = 2", "cell.users", "twice");
  expect_problem("radio.channel = rician", "radio.channel", "rayleigh, awgn");
  expect_problem("radio.snr_db = 1 2 3", "radio.snr_db", "has 3 values");
  expect_problem("radio.snr_db = 300", "radio.snr_db", "is 300 but must be between -60 and 80");
  expect_problem("radio.snr_db = 1 -70.5", "radio.snr_db.1", "is -70.5 but");
  expect_problem("radio.taps = 2\nradio.delay_spread_ns = 5000", "radio.delay_spread_ns",
                 "is 5000 but must be between 0 and 1171,");
  expect_problem("runtime.policy = latest", "runtime.policy", "earliest-frame");
  expect_problem("runtime.gpus = 1\ncell.deadlines.precoder_age = 2", "cell.deadlines.precoder_age",
                 "is 2, but GPUs precode");
  expect_problem("runtime.gpus = 1\ncell.deadlines.lead_quantile = 0.5",
                 "cell.deadlines.lead_quantile", "is 0.5, but GPUs do not follow");
  expect_problem("cell.deadlines.lead_quantile = 1", "cell.deadlines.lead_quantile",
                 "between 0 and 0.9999");
  expect_problem("cell.deadlines.downlink_unit = subframe", "cell.deadlines.downlink_unit",
                 "frame, slot, symbol");
  expect_problem("radio.contingency = noise", "radio.contingency", "zeros, references");
  expect_problem("runtime.workers = 129", "runtime.workers", "between 0 and 128");
  expect_problem("runtime.cores = 0 5000", "runtime.cores.1", "is 5000");
  expect_problem("run.role = ue", "run.role", "bbu, radio, both");
  expect_problem("run.seconds = -1", "run.seconds", "between 0");
  expect_problem("run.seconds = nan", "run.seconds", "between 0");
  expect_problem("run.record_frames = 0", "run.record_frames", "between 1");
  expect_problem("fronthaul.receivers = 0", "fronthaul.receivers", "between 1 and 16");
  expect_problem("fronthaul.bbu_port = 65535\nfronthaul.receivers = 2", "fronthaul.bbu_port",
                 "at most 65534");
  expect_problem("fronthaul.bbu_port = 70000", "fronthaul.bbu_port", "whole number");
  expect_problem("nonsense", "line 1", "key = value");
}

TEST(RunPlan, RefusesACoreListedTwiceAndMoreWorkersThanCores) {
  expect_problem("runtime.cores = 1 0 1", "runtime.cores.2", "is 1 again");
  expect_problem("runtime.cores = 1 0\nruntime.workers = 3", "runtime.workers", "lists only 2");
  EXPECT_TRUE(problems_of("runtime.cores = 1 0\nruntime.workers = 2").empty());
}

TEST(RunPlan, WritesInItsRunsFolderOnly) {
  const test::Folder folder("files");
  std::filesystem::create_directory(folder.path + "/cell-1");
  std::filesystem::create_directory_symlink("/", folder.path + "/out");
  RunPlan plan;
  for (const std::string& good :
       std::vector<std::string>{"telemetry.bin", "cell-1/telemetry.bin", "cell-1/../t.bin",
                                folder.path + "/telemetry.bin"}) {
    plan.run.telemetry = good;
    EXPECT_TRUE(app::check_files(plan, folder.path).empty()) << good;
  }
  for (const std::string& bad :
       std::vector<std::string>{"", "cell-1/", "..", "../telemetry.bin", "/dev/null", "out/t.bin",
                                "out/../t.bin", "cell-1/../../t.bin", folder.path + "2/t.bin"}) {
    plan.run.telemetry = bad;
    const auto problems = app::check_files(plan, folder.path);
    ASSERT_EQ(problems.size(), 1U) << bad;
    EXPECT_EQ(problems[0].key, "run.telemetry");
  }
}

TEST(RunPlan, BoundsGroupsThatItsPolicyDoesNotUse) {
  expect_problem("runtime.groups.decode = 1000", "runtime.groups.decode", "at most 128");
  expect_problem("runtime.groups.fft = 128\nruntime.groups.ifft = 1", "runtime.groups",
                 "has 129 cores in all");
  // Of 32 bits, their sum would be 0.
  expect_problem("runtime.groups.fft = 2147483648\nruntime.policy = earliest-frame",
                 "runtime.groups.fft", "at most 128");
  EXPECT_TRUE(problems_of("runtime.groups.decode = 3").empty());
}

TEST(RunPlan, RefusesToSendToWhatIsNotOneMachine) {
  expect_problem("fronthaul.bbu_address = 239.0.0.1", "fronthaul.bbu_address", "one machine's");
  expect_problem("fronthaul.radio_address = 255.255.255.255", "fronthaul.radio_address", "is 255");
  expect_problem("run.role = bbu\nfronthaul.radio_address = 0.0.0.0", "fronthaul.radio_address",
                 "packets are sent there");
  EXPECT_TRUE(problems_of("run.role = bbu\nfronthaul.bbu_address = 0.0.0.0").empty());
}

TEST(RunPlan, RefusesPortsThatBothSidesWouldReceiveOn) {
  const std::string four = "fronthaul.bbu_port = 8000\nfronthaul.receivers = 4\n";
  expect_problem(four + "fronthaul.radio_port = 8000", "fronthaul.radio_port",
                 "not be 8000 to 8003");
  expect_problem(four + "fronthaul.radio_port = 8003", "fronthaul.radio_port",
                 "not be 8000 to 8003");
  expect_problem(four + "fronthaul.radio_port = 8001\nfronthaul.radio_address = 0.0.0.0",
                 "fronthaul.radio_port", "same address");
  for (const std::string elsewhere :
       {"fronthaul.radio_port = 8004", "fronthaul.radio_port = 7999",
        "fronthaul.radio_port = 8001\nfronthaul.radio_address = 127.0.0.2"})
    EXPECT_TRUE(problems_of(four + elsewhere).empty()) << elsewhere;
  expect_problem("fronthaul.radio_port = 8000", "fronthaul.radio_port", "not be 8000, where");
  EXPECT_TRUE(problems_of("fronthaul.bbu_port = 0\nfronthaul.radio_port = 0").empty());
}

TEST(RunPlan, EmulatesAndGovernsOnlyClocksThatMakeSense) {
  EXPECT_TRUE(problems_of("power.clocks = 1000 2100\npower.fixed = 1000").empty());
  EXPECT_TRUE(problems_of("power.clocks = 1000 2100\npower.late = 0.1 0").empty());
  expect_problem("power.clocks = 2100 1000", "power.clocks.1", "more than the one before");
  expect_problem("power.clocks = 0 1000", "power.clocks.0", "between 1 and 1000000 MHz");
  expect_problem("power.clocks = 1 2100", "power.clocks.0", "less than a thousandth");
  expect_problem("power.clocks = 1000 2100\npower.fixed = 1500", "power.fixed",
                 "one of the clocks");
  expect_problem("power.clocks = 1000 1000.5", "power.clocks.1", "by 1 MHz at least");
  expect_problem("power.clocks = 1000 2100\npower.late = 0.1 0\npower.fixed = 1000", "power.fixed",
                 "no fixed clock");
  expect_problem("power.fixed = 1500", "power.fixed", "one of the clocks");
  expect_problem("power.clocks = 1000 2100\npower.late = 0.1", "power.late",
                 "1 ratios for 2 clocks");
  expect_problem("power.clocks = 1000 2100\npower.late = 0.1 2", "power.late.0.1",
                 "between 0 and 1");
  expect_problem("power.clocks = 1000\npower.late = 0\npower.governor.margin = 0",
                 "power.governor.margin", "at least 1");
}

TEST(RunPlan, RefusesWhatMemoryCannotHold) {
  const std::string large =
      "cell.antennas = 256\ncell.users = 128\ncell.numerology.fft_size = 4096\n"
      "cell.numerology.subcarriers = 3276\ncell.pilots.kind = comb\ncell.pilots.comb = 16\n"
      "cell.schedule = PPPPPPPPUUUUUUU\n";
  expect_problem(large + "cell.combiner.group = 1\ncell.ring = 64\nradio.frames = 1\n", "cell.ring",
                 "70 %");
  expect_problem(large + "cell.ring = 2\nradio.frames = 4096\n", "radio.frames", "70 %");
  // Who only sends holds no frames in flight; who only receives replays none.
  EXPECT_TRUE(problems_of("cell.ring = 64\nrun.role = radio\n").empty());
  EXPECT_TRUE(problems_of("radio.frames = 4096\nrun.role = bbu\n").empty());
}
