// Frames from packets to bits on GPUs, and on the cores where these fail: imaginary devices carry
// out the kernels' own text.
#include <stdexcept>

#include "app/daemon.hpp"
#include "app/rig.hpp"
#include "app/station.hpp"
#include "frame/gpu/working_gpus.hpp"
#include "frame/grants.hpp"
#include "support/place.hpp"

namespace carillon {
namespace {

using telemetry::FrameRecord;
using test::frames;
using test::Wish;

// Of devices that are to hang: long enough for emulated kernels.
constexpr Tick kPatience = (test::kWatched ? 400 : 100) * kMillisecond;

app::RunPlan plan_of() { return test::plan_with_gpus(2, 800); }

// Frames that were late or have wrong blocks; lates are no surprise where kernels are watched.
std::size_t not_good(const std::vector<FrameRecord>& records) {
  std::size_t count = 0;
  for (const auto& record : records)
    if (record.completed == 0)
      count += !test::kWatched;
    else
      count += record.nack != 0 || record.uplink_failed != 0;
  return count;
}

TEST(Accelerator, ReceivesWhatTheUsersSent) {
  for (const std::uint16_t devices : {std::uint16_t{1}, std::uint16_t{2}}) {
    std::atomic<Wish> wish{Wish::None};
    const auto gpus = test::working_gpus(devices, wish);
    auto plan = plan_of();
    plan.fronthaul.kind = devices == 1 ? fronthaul::LinkKind::Udp : fronthaul::LinkKind::Shm;
    test::Rig rig(plan, {}, 2, &gpus);
    rig.radiate(frames(40));
    rig.silence(frames(10));  // what is announced meanwhile is sent away, and is not of the run
    rig.finish();
    EXPECT_EQ(not_good(rig.records()), 0U);
    EXPECT_LE(rig.sent_away(), rig.store.counters().frames_seen);
    EXPECT_GE(rig.sent_away() + rig.refused(), rig.store.counters().frames_seen);
    if (!test::kWatched) {
      EXPECT_EQ(rig.baseband->frames_handed_back(), 0U);
    }
    const auto& c = rig.store.counters();
    EXPECT_EQ(c.uplink_blocks, 8 * c.frames_seen);
    for (const auto& record : rig.records()) {
      if (record.completed == 0) continue;
      EXPECT_GT(record.uplink_done, record.last_packet);
      EXPECT_GT(record.iterations, 0U);
      EXPECT_EQ(record.missing_packets, 0U);
    }
    test::expect_conservation(rig);
  }
}

TEST(Accelerator, DoesWithoutPacketsThatNeverCome) {
  std::atomic<Wish> wish{Wish::None};
  const auto gpus = test::working_gpus(1, wish);
  auto plan = plan_of();
  plan.cell.deadlines.uplink_budget_ms /= 4;
  test::Rig rig(plan, {.loss = 0.01, .duplicate = 0.05, .reorder = 0.05, .garbage = 0.05}, 2,
                &gpus);
  rig.radiate_until([&] { return rig.baseband->frames_sent_away() > frames(50); });
  rig.finish();
  EXPECT_GT(rig.baseband->frames_sent_away(), frames(50));
  std::uint64_t missing = 0;
  for (const auto& record : rig.records()) missing += record.missing_packets;
  EXPECT_GT(missing, frames(6));
  const auto& c = rig.store.counters();
  if (!test::kWatched) {
    EXPECT_LT(c.uplink_failed, c.uplink_blocks / 4);  // seven antennas of eight suffice for most
  }
  test::expect_conservation(rig);
}

GPU_TEST(Accelerator, ReceivesOnThisMachinesDevices) {
  if (!place.on_device()) return;
  for (const std::uint32_t partitions : {1U, 2U}) {
    const frame::GpuPool gpus = frame::this_machines(partitions, 8);
    test::Rig rig(plan_of(), {.loss = 0.001}, 2, &gpus);
    rig.radiate(200);
    rig.finish();
    EXPECT_GT(rig.baseband->frames_sent_away(), 150U);
    EXPECT_EQ(rig.baseband->frames_handed_back(), 0U);
    EXPECT_LT(rig.store.counters().uplink_failed, rig.store.counters().uplink_blocks / 50);
    test::expect_conservation(rig);
  }
}

// Whether they refuse what they are told or say nothing any more, the cores go on with what they
// had; and what comes after they have come back is theirs again.
TEST(Accelerator, LosesNoFrameWithItsDevices) {
  for (const Wish end : {Wish::Lose, Wish::Hang}) {
    std::atomic<Wish> wish{Wish::None};
    auto gpus = test::working_gpus(2, wish);
    if (end == Wish::Hang) gpus.patience = kPatience;
    auto plan = plan_of();
    plan.cell.ring = 64;
    plan.cell.deadlines.uplink_budget_ms = 1000;  // each may be waited for, one after the other
    test::Rig rig(plan, {}, 2, &gpus);
    std::uint64_t before = 0, without = 0;
    std::atomic<bool> over{false};
    std::thread fate([&] {
      const auto sent_away = [&] { return rig.baseband->frames_sent_away(); };
      EXPECT_TRUE(rig.wait_until([&] { return sent_away() > frames(12); }));
      wish = end;
      EXPECT_TRUE(rig.wait_until([&] { return !rig.accelerator->cell(0).any_device(); }));
      before = sent_away();
      rig.silence(frames(10));
      without = sent_away() - before;
      wish = Wish::Mend;
      EXPECT_TRUE(rig.wait_until([&] { return sent_away() > before + without; }));
      over = true;
    });
    rig.radiate_until([&] { return over.load(); });
    fate.join();
    rig.finish();
    EXPECT_EQ(not_good(rig.records()), 0U);
    EXPECT_GT(before, frames(12));
    EXPECT_LE(without, 1U);  // one was on its way
    EXPECT_GT(rig.baseband->frames_handed_back(), 0U);
    EXPECT_GT(rig.baseband->frames_sent_away(), before + without);
    EXPECT_LE(rig.sent_away(), rig.store.counters().frames_seen);
    EXPECT_NE(rig.accelerator->trouble().find("failed"), std::string::npos);
    test::expect_conservation(rig);
  }
}

// To free what it uses would wait for it: the run ends without.
TEST(Accelerator, LeavesADeviceThatHangsForGood) {
  std::atomic<Wish> wish{Wish::None};
  const int before = test::WorkingGpus::there_are;
  {
    auto gpus = test::working_gpus(1, wish);
    gpus.patience = kPatience;
    test::Rig rig(plan_of(), {}, 2, &gpus);
    std::atomic<bool> over{false};
    std::thread fate([&] {
      const auto handed_back = [&] { return rig.baseband->frames_handed_back(); };
      EXPECT_TRUE(rig.wait_until([&] { return rig.baseband->frames_sent_away() > 3; }));
      const std::uint64_t before_it = handed_back();
      wish = Wish::Hang;
      EXPECT_TRUE(rig.wait_until([&] { return handed_back() > before_it; }));
      over = true;
    });
    rig.radiate_until([&] { return over.load(); });
    fate.join();
    rig.finish();
    EXPECT_GT(rig.baseband->frames_handed_back(), 0U);
    EXPECT_FALSE(rig.accelerator->devices_at_rest());
    test::expect_conservation(rig);
  }
  EXPECT_EQ(test::WorkingGpus::there_are, before + 1);
}

TEST(Accelerator, SaysWhatToDoWithoutGpus) {
  const test::Folder folder("unaccelerated");
  auto plan = plan_of();
  plan.run.telemetry = folder.path + "/telemetry.bin";
  plan.fronthaul.kind = fronthaul::LinkKind::Shm;
  plan.fronthaul.shm_name = "carillon-unaccelerated-" + std::to_string(getpid());
  std::string why;
  try {
    app::Station station({plan}, [](std::uint32_t, std::size_t) -> frame::GpuPool {
      throw std::runtime_error("no GPU: none is there");
    });
  } catch (const std::runtime_error& error) {
    why = error.what();
  }
  EXPECT_EQ(why, "runtime.gpus is 2, but no GPU: none is there; 0 leaves all frames to the cores");
}

// Packets that come when their symbol has been given up are missing there, though the frame is not
// over yet.
TEST(Accelerator, MissesPacketsThatComeTooLate) {
  std::atomic<Wish> wish{Wish::None};
  const auto gpus = test::working_gpus(1, wish);
  auto plan = plan_of();
  plan.cell.schedule = "PPU" + std::string(test::kWatched ? 132 : 24, 'G') + "UGG";
  plan.cell.deadlines.uplink_budget_ms = 8;
  std::uint64_t missing = 0;
  // A busy machine gives symbols up later, perhaps when the last packet is there.
  for (int run = 0; missing == 0 && run < 20; ++run) {
    test::Rig rig(plan, {.reorder = 0.1}, 2, &gpus);
    rig.radiate_until([&] { return rig.baseband->frames_sent_away() > frames(30); });
    rig.finish();
    EXPECT_GT(rig.baseband->frames_sent_away(), frames(30));
    for (const auto& record : rig.records()) missing += record.missing_packets;
    test::expect_conservation(rig);
  }
  EXPECT_GT(missing, 0U);
}

// As on the cores: a frame is not over before all of its packets are.
TEST(Accelerator, WaitsForSymbolsThatNobodyIsIn) {
  std::atomic<Wish> wish{Wish::None};
  const auto gpus = test::working_gpus(1, wish);
  auto plan = plan_of();
  plan.cell.schedule = "PPU" + std::string(6, 'G') + "UUU" + std::string(16, 'G');
  constexpr auto kUp = frame::Direction::Uplink;
  plan.cell.grants = test::listed({{0, 0, kUp, 0, 25}, {1, 0, kUp, 0, 25}});
  test::Rig rig(plan, {}, 2, &gpus);
  rig.radiate(frames(30));
  rig.finish();
  EXPECT_GE(rig.baseband->frames_sent_away(), frames(15));
  EXPECT_EQ(not_good(rig.records()), 0U);
  for (const auto& record : rig.records()) EXPECT_EQ(record.missing_packets, 0U);
  EXPECT_EQ(rig.baseband->ingest().counters()[fronthaul::Reject::Old], 0U);
  test::expect_conservation(rig);
}

// What has left, or is known to have missed its time, is not made again on the cores.
TEST(Accelerator, SendsNoSymbolTwice) {
  std::atomic<Wish> wish{Wish::None};
  const auto gpus = test::working_gpus(2, wish);
  auto plan = plan_of();
  const std::uint32_t pause = test::kWatched ? 40 : 12;
  plan.cell.schedule = "PP" + std::string(2 * pause, 'G') + "DD" + std::string(pause, 'G') + "UU" +
                       std::string(3, 'G');
  plan.cell.downlink.block = frame::BlockSpan::Symbol;
  test::Rig rig(plan, {}, 2, &gpus);
  std::atomic<bool> over{false};
  std::thread fate([&] {
    for (int i = 0; !over; ++i) {
      rig.silence(5);
      std::this_thread::sleep_for(std::chrono::nanoseconds(rig.frame.duration() * (i % 8) / 8));
      wish = Wish::Lose;
      rig.silence(2);
      wish = Wish::Mend;
    }
  });
  rig.radiate(frames(150));
  over = true;
  fate.join();
  rig.finish();
  EXPECT_GT(rig.baseband->frames_handed_back(), 0U);
  std::uint64_t symbols = rig.baseband->sender().sent() / plan.cell.antennas;
  EXPECT_GT(symbols, 0U);
  for (const auto& record : rig.records()) {
    EXPECT_LE(record.downlink_late_symbols, 2U);
    symbols += record.downlink_late_symbols;
  }
  EXPECT_LE(symbols, 2 * rig.baseband->frames_ended());
}

// Of different sizes, on the same devices, which fail and come back.
TEST(Accelerator, ServesSeveralCells) {
  if (test::kWatched) GTEST_SKIP() << "emulated kernels take longer than devices are waited for";
  const test::Folder folder("several");
  std::vector<app::RunPlan> plans;
  for (std::uint16_t i = 0; i < 3; ++i) {
    auto& plan = plans.emplace_back(plan_of());
    plan.cell.cell_id = i;
    plan.cell.antennas = 4U << (i % 2);
    plan.cell.ring = 40 + 10 * i;
    plan.cell.schedule += std::string(7U * i, 'G');
    plan.runtime.realtime = false;
    plan.run.frames = 60;
    plan.run.telemetry = folder.path + "/" + std::to_string(i) + ".bin";
    plan.fronthaul.kind = fronthaul::LinkKind::Shm;
    plan.fronthaul.shm_name =
        "carillon-several-" + std::to_string(getpid()) + "-" + std::to_string(i);
  }
  std::atomic<Wish> wish{Wish::None};
  const std::atomic<bool> stop{false};
  {
    app::Station station(plans,
                         [&](std::uint32_t, std::size_t) { return test::working_gpus(2, wish); });
    std::atomic<bool> over{false};
    std::thread fate([&] {
      const auto wait_for = [&](std::uint64_t frames) {
        for (std::uint64_t seen = 0; seen < frames && !over;) {
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
          if (const auto c = test::read_counters(plans[0].run.telemetry)) seen = c->frames_seen;
        }
      };
      wait_for(15);
      wish = Wish::Lose;
      wait_for(35);
      wish = Wish::Mend;
    });
    station.run(stop);
    over = true;
    fate.join();
  }
  std::uint64_t on_cores = 0;
  for (const auto& plan : plans) {
    const auto c = test::read_counters(plan.run.telemetry);
    ASSERT_TRUE(c.has_value());
    EXPECT_GT(c->frames_sent_away, 10U);
    EXPECT_LE(c->frames_sent_away, c->frames_seen);
    EXPECT_LE(c->frames_handed_back, c->frames_sent_away);
    EXPECT_EQ(c->uplink_blocks, 8 * c->frames_seen);
    EXPECT_GT(c->frames_completed, 0U);
    EXPECT_LE(c->uplink_failed, 8 * (c->frames_seen - c->frames_completed));
    on_cores += c->frames_seen - c->frames_sent_away + c->frames_handed_back;
  }
  EXPECT_GT(on_cores, 0U);
}

// The whole program, with users who decode what the antennas radiate.
TEST(Accelerator, SendsWhatTheUsersDecode) {
  if (test::kWatched) GTEST_SKIP() << "emulated kernels take longer than devices are waited for";
  const test::Folder folder("accelerated");
  auto plan = plan_of();
  plan.cell.numerology.spacing_khz = 1;
  plan.cell.schedule = "PPU" + std::string(92, 'G') + "DDDG";  // emulated kernels are slow
  plan.cell.downlink.block = frame::BlockSpan::Symbol;
  plan.runtime.realtime = false;
  plan.run.frames = 16;
  plan.run.telemetry = folder.path + "/telemetry.bin";
  plan.fronthaul.kind = fronthaul::LinkKind::Shm;
  plan.fronthaul.shm_name = "carillon-accelerated-" + std::to_string(getpid());
  std::atomic<Wish> wish{Wish::None};
  std::uint64_t asked = 0;
  const std::atomic<bool> stop{false};
  {
    app::Station station({plan}, [&](std::uint32_t partitions, std::size_t most) {
      asked = partitions * 10 + most;
      return test::working_gpus(2, wish);
    });
    station.run(stop);
  }
  EXPECT_EQ(asked, 12U);
  const auto c = test::read_counters(plan.run.telemetry);
  ASSERT_TRUE(c.has_value());
  EXPECT_GT(c->frames_sent_away, 10U);
  EXPECT_GT(c->downlink_symbols_sent, 20U);
  EXPECT_EQ(c->downlink_blocks + c->downlink_unverified, 2U * 2 * 16);
  EXPECT_GT(c->downlink_blocks, 20U);
  EXPECT_LE(c->downlink_failed, 2 * c->downlink_symbols_substituted);
}

}  // namespace
}  // namespace carillon
