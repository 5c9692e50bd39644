// Frames whose samples a network card writes into a GPU's memory, from packets to users' bits: the
// card is a library that stands in for libibverbs, the GPUs are imaginary and carry out the
// kernels' own text, and their memory is the host's, which the cores leave alone.
#include <thread>

#include "app/cell.hpp"
#include "app/daemon.hpp"
#include "app/rig.hpp"
#include "frame/gpu/working_gpus.hpp"
#include "support/card_link.hpp"

namespace carillon {
namespace {

using telemetry::FrameRecord;
using test::FakeCard;
using test::frames;
using test::Wish;

app::RunPlan plan_of() {
  auto plan = test::plan_with_gpus(1, 400);
  plan.fronthaul.kind = fronthaul::LinkKind::Udp;
  plan.fronthaul.receivers = 2;
  return plan;
}

bool good(const FrameRecord& record) {
  return record.completed != 0 && record.nack == 0 && record.uplink_failed == 0;
}

// A baseband unit behind the card, with one GPU.
struct Unit {
  explicit Unit(emulator::Faults faults = {}) : card(test::fake_verbs().fresh()) {
    gpus = test::working_gpus(1, wish, &own);
    rig.emplace(plan_of(), faults, 2, &gpus,
                [this](fronthaul::Link& link, const fronthaul::Layout& layout,
                       const fronthaul::LinkDepth& depth) {
                  EXPECT_EQ(test::cable(link, layout, depth), "");
                  own = link.baseband->received_memory().device;
                });
  }
  fronthaul::gpu::CardCounts counts() const {
    return dynamic_cast<fronthaul::gpu::CardTransport&>(*rig->link.baseband).counts();
  }

  FakeCard& card;
  std::atomic<Wish> wish{Wish::None};
  std::span<std::byte> own;
  frame::GpuPool gpus;
  std::optional<test::Rig> rig;
};

TEST(ReceivedOnGpu, YieldsWhatTheUsersSent) {
  Unit unit;
  test::Rig& rig = *unit.rig;
  rig.radiate(frames(40));
  rig.finish();
  // A device that is watched is too late for some, and refuses others, of whose packets the cores
  // have none.
  for (const auto& record : rig.records()) {
    const bool no_surprise = record.completed == 0 || record.missing_packets > 0;
    EXPECT_TRUE(good(record) || (test::kWatched && no_surprise)) << record.frame;
  }
  if (!test::kWatched) {
    EXPECT_GE(rig.sent_away() + rig.refused(), rig.store.counters().frames_seen);
    EXPECT_EQ(rig.baseband->packets_out_of_reach(), 0U);
    EXPECT_EQ(unit.card.taken, rig.tap.sent()) << "came past the card";
    EXPECT_EQ(unit.counts().received, rig.tap.sent());
  }
  EXPECT_EQ(unit.card.wild, 0U);
  test::expect_conservation(rig);
}

TEST(ReceivedOnGpu, DoesWithoutPacketsThatNeverComeOrAreForged) {
  Unit unit({.loss = 0.01, .duplicate = 0.05, .reorder = 0.05, .garbage = 0.05});
  test::Rig& rig = *unit.rig;
  rig.radiate(frames(60));
  rig.finish();
  EXPECT_GT(rig.baseband->frames_sent_away(), frames(20));
  std::uint64_t missing = 0;
  for (const auto& record : rig.records()) missing += record.missing_packets;
  EXPECT_GT(missing, frames(6));
  EXPECT_EQ(unit.card.wild, 0U);
  test::expect_conservation(rig);
}

// What lay in its memory is lost with it. The cores have all that comes afterwards, by the socket.
TEST(ReceivedOnGpu, TheCoresGoOnWithoutTheGpu) {
  Unit unit;
  test::Rig& rig = *unit.rig;
  std::thread fate([&] {
    rig.silence(frames(20));
    unit.wish = Wish::Lose;
  });
  rig.radiate(frames(90));
  fate.join();
  rig.finish();
  EXPECT_GT(rig.baseband->packets_out_of_reach(), 0U);
  EXPECT_LT(unit.card.taken, rig.tap.sent()) << "the card has received to the end";
  std::uint32_t well_before = 0, well_after = 0;
  for (const auto& record : rig.records()) {
    if (record.frame < frames(12)) well_before += good(record);
    if (record.frame >= frames(60)) well_after += good(record);
  }
  if (!test::kWatched) {
    EXPECT_GT(well_before, 0U);
  }
  EXPECT_GT(well_after, 0U);  // others may be too late where the machine is busy
  EXPECT_EQ(unit.card.wild, 0U);
  test::expect_conservation(rig);
}

// The GPU then fetches samples from host memory, as without a card.
TEST(ReceivedOnGpu, TheGpuGoesOnWithoutTheCard) {
  Unit unit;
  test::Rig& rig = *unit.rig;
  std::thread fate([&] {
    rig.silence(frames(20));
    test::fake_verbs().change([](FakeCard& card) { card.fail_receive_at = card.taken; });
  });
  rig.radiate(frames(70));
  fate.join();
  rig.finish();
  EXPECT_LT(unit.card.taken, rig.tap.sent());
  EXPECT_EQ(rig.baseband->packets_out_of_reach(), 0U);
  EXPECT_GE(rig.sent_away() + rig.refused(), rig.store.counters().frames_seen);
  std::size_t bad = 0;
  for (const auto& record : rig.records()) bad += !good(record);
  if (!test::kWatched) {
    EXPECT_LE(bad, 2U) << "more than what was under way";
  }
  const auto findings = rig.link.baseband->findings();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_NE(findings[0].find("ended a packet with"), std::string::npos) << findings[0];
  test::expect_conservation(rig);
}

// Each thing that a run lacks for it. With `auto` it is told, and the run goes on without.
TEST(ReceivedOnGpu, ARunSaysWhyItCannotBe) {
  const test::Folder folder("received");
  struct {
    const char* why;
    void (*change)(app::RunPlan&);
  } const cases[] = {
      {"the radio unit is in this process", [](auto& plan) { plan.run.role = app::Role::Both; }},
      {"fronthaul.kind is shm", [](auto& plan) { plan.fronthaul.kind = fronthaul::LinkKind::Shm; }},
      {"runtime.gpus is 0", [](auto& plan) { plan.runtime.gpus = 0; }},
      {"It needs an NVIDIA GPU", [](auto&) {}},
  };
  for (const auto& [why, change] : cases) {
    auto plan = plan_of();
    plan.run.role = app::Role::Bbu;
    plan.run.telemetry = folder.path + "/telemetry.bin";
    plan.fronthaul.shm_name = "carillon-received-" + std::to_string(getpid());
    plan.fronthaul.receive = fronthaul::ReceiveInto::Gpu;
    change(plan);
    std::string told;
    try {
      const app::Cell cell(plan, {"worker 0"}, 1);
    } catch (const std::runtime_error& error) {
      told = error.what();
    }
    EXPECT_NE(told.find("fronthaul.receive is gpu, but "), std::string::npos) << told;
    EXPECT_NE(told.find(why), std::string::npos) << told;
    plan.fronthaul.receive = fronthaul::ReceiveInto::Auto;
    const app::Cell cell(plan, {"worker 0"}, 1);
    EXPECT_NE(cell.why_in_host().find(why), std::string::npos) << cell.why_in_host();
    EXPECT_TRUE(cell.link().baseband->received_memory().device.empty());
  }
}

}  // namespace
}  // namespace carillon
