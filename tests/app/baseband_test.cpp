// What the baseband unit does when the radio or the machine does not keep to the plan.
#include "app/rig.hpp"
#include "frame/grants.hpp"

namespace carillon {
namespace {

using telemetry::FrameRecord;

// A frame of which everything came was worked on to the end, and well.
bool good(const FrameRecord& record) { return record.nack == 0 && record.uplink_failed == 0; }

// Short enough for many frames, and a ring that the radio's silence soon outlasts.
app::RunPlan quick_plan() {
  auto plan = test::patient_plan();
  plan.cell.schedule = "PPUUUU" + std::string(22, 'G');  // 10 ms
  plan.cell.ring = 8;
  plan.cell.deadlines.uplink_budget_ms = 60;
  return plan;
}

std::size_t count_good(const std::vector<FrameRecord>& records, std::uint64_t from) {
  std::size_t count = 0;
  for (const auto& record : records) count += record.frame >= from && good(record);
  return count;
}

TEST(Overload, FramesAreNackedAndTheUnitRecovers) {
  test::Rig rig(quick_plan());
  const auto& c = rig.store.counters();
  bool paused = false;
  std::uint64_t resumed = 0;  // the first frame after the pause
  rig.radiate_until([&] {
    if (!paused && count_good(rig.records(), 0) > 10) {
      rig.working.store(false);
      paused = true;
    }
    if (paused && resumed == 0 && c.overload_nacks > 10) {
      resumed = rig.records().back().frame + 1;
      rig.working.store(true);
    }
    return resumed != 0 && count_good(rig.records(), resumed) > 10;
  });
  rig.finish();
  EXPECT_GT(c.overload_nacks, 10U);
  ASSERT_GT(resumed, 0U);
  EXPECT_GT(count_good(rig.records(), resumed), 10U);
  test::expect_conservation(rig);
}

// Every other frame comes while the conductor stands still: no two refusals are alike in a row.
TEST(Overload, NoRefusalIsLostHoweverManyThereAre) {
  test::Rig rig(quick_plan());
  rig.conducting.store(false);
  rig.silence(1);
  const Tick start = now();
  for (std::uint64_t frame = 0; frame < 1200; frame += 2)
    rig.baseband->open(frame, start + static_cast<Tick>(frame) * rig.frame.duration());
  rig.finish();
  EXPECT_EQ(rig.baseband->frames_ended(), 1199U);
  EXPECT_GE(rig.store.counters().overload_nacks, 600U - 2 * rig.plan.cell.ring);
  test::expect_conservation(rig);
}

TEST(Overload, AFrameThatCannotBeInTimeIsNackedWithAllItsBlocks) {
  auto plan = quick_plan();
  plan.cell.deadlines.uplink_budget_ms = 0.01;
  test::Rig rig(plan);
  rig.working.store(false);
  rig.radiate(20);
  rig.finish();
  const auto blocks = rig.frame.program().transport_blocks(frame::Direction::Uplink);
  const auto& c = rig.store.counters();
  EXPECT_EQ(c.frames_completed, 0U);
  EXPECT_EQ(c.overload_nacks, c.frames_seen);
  EXPECT_EQ(c.harq_nacks, c.frames_seen * blocks.size());
  for (const auto& record : rig.records()) EXPECT_NE(record.nack, 0U) << record.frame;
  test::expect_conservation(rig);
}

// Hopeless code blocks at a hundred iterations: some twenty times what a core can do.
TEST(Overload, ACellFarBeyondTheMachineLosesFramesAndNothingElse) {
  app::RunPlan plan;
  plan.cell.users = plan.cell.antennas = 8;
  plan.cell.numerology.fft_size = 1024;
  plan.cell.numerology.subcarriers = 600;
  plan.cell.numerology.spacing_khz = 30;
  plan.cell.schedule = "PPPPPPPPUUUUUU";
  plan.cell.uplink.modulation = frame::ModulationChoice::Qam64;
  plan.cell.uplink.iterations = 100;
  plan.radio.frames = 1;
  plan.radio.snr_db = {-30};
  test::Rig rig(plan);
  const auto radio = rig.radiate(400);
  rig.finish();
  const auto& c = rig.store.counters();
  EXPECT_GT(radio.frames_sent, 0U);
  EXPECT_GT(c.overload_nacks, c.frames_seen / 2);
  EXPECT_LE(c.frames_seen, 400U);
  test::expect_conservation(rig);
}

TEST(Nacks, NameTheFrameUserAndProcess) {
  auto plan = quick_plan();
  constexpr auto kUp = frame::Direction::Uplink;
  plan.cell.grants =
      test::listed({{0, 0, kUp, 0, 25, 0, 3}, {0, 1, kUp, 0, 25, 0, 4}, {1, 1, kUp, 0, 25, 0, 5}});
  plan.cell.cell_id = 77;
  plan.radio.snr_db = {-30};  // nothing can be decoded
  test::Rig rig(plan);
  rig.radiate(5);
  rig.finish();
  const auto blocks = rig.frame.program().transport_blocks(frame::Direction::Uplink);
  EXPECT_EQ(rig.store.counters().harq_nacks, rig.store.counters().uplink_blocks);
  std::map<std::uint64_t, std::set<std::pair<std::uint32_t, std::uint32_t>>> nacked;
  for (std::uint64_t i = 0; i < rig.store.nacks().count(); ++i) {
    const auto& nack = rig.store.nacks()[i];
    EXPECT_EQ(nack.cell, 77U);
    if (nack.kind == static_cast<std::uint32_t>(telemetry::NackKind::Harq))
      nacked[nack.frame].insert({nack.user, nack.process});
    else
      EXPECT_EQ(nack.user, telemetry::kAllUsers);
  }
  EXPECT_EQ(nacked.size(), rig.records().size());
  for (const auto& [frame, users] : nacked)
    for (const auto& block : blocks)
      EXPECT_EQ(users.count({block.user, block.harq_process}), 1U) << "frame" << frame;
  test::expect_conservation(rig);
}

TEST(Radio, FramesAnnouncedAfterItFellSilentDoNotCount) {
  test::Rig rig(quick_plan());
  const auto radio = rig.radiate_until([&] { return count_good(rig.records(), 0) > 10; });
  rig.silence(40);
  rig.finish();
  EXPECT_GT(rig.recorder.ghosts(), 20U);
  const std::uint64_t seen = rig.store.counters().frames_seen;
  EXPECT_GT(seen, 10U);
  EXPECT_LE(seen, radio.frames_sent + radio.frames_skipped);
  // Of ghosts nothing came; of the others, what came is not missing.
  const auto in = rig.baseband->ingest().counters();
  EXPECT_EQ(in.missing + in.accepted + in.refused, (rig.recorder.ghosts() + seen) * rig.packets());
  EXPECT_GE(in.missing, rig.recorder.ghosts() * rig.packets());
  test::expect_conservation(rig);
}

// Whether the radio was heard anew, and frames of it got through since.
bool follows(test::Rig& rig) {
  return rig.baseband->ingest().counters().resynchronisations > 0 &&
         count_good(rig.records(), rig.baseband->ingest().first()) > 10;
}

// The radio is switched off and on again. shift_of(frame): where its frames begin then, of the one
// that is expected.
template <typename Shift>
void expect_resynchronised(Shift&& shift_of, std::uint32_t silence = 30) {
  test::Rig rig(quick_plan());
  const auto before_that = rig.radiate_until([&] { return count_good(rig.records(), 0) > 10; });
  const std::uint64_t known = before_that.frames_sent + before_that.frames_skipped;
  rig.silence(silence);
  const std::uint32_t expected = rig.baseband->next_wire_frame(), shift = shift_of(expected);
  rig.tap.shift(shift);
  const auto radio = rig.radiate_until([&] { return follows(rig); });
  const auto radiated = static_cast<std::uint32_t>(radio.frames_sent + radio.frames_skipped);
  const auto skipped = static_cast<std::uint32_t>(radio.frames_skipped);
  rig.finish();
  const auto resynchronisations = rig.baseband->ingest().counters().resynchronisations;
  ASSERT_GE(resynchronisations, 1U);
  EXPECT_TRUE(follows(rig));
  if (resynchronisations > 1)  // the machine stood still at the wrong moment
    return test::expect_conservation(rig);
  const std::uint64_t first = rig.baseband->ingest().first();
  EXPECT_GT(first, 10U);
  const std::uint32_t wire = rig.baseband->ingest().wire_frame(first);
  EXPECT_GE(wire - shift, 2U);             // it takes some frames to be sure
  EXPECT_LT(wire - shift, 30U + skipped);  // and not many more

  std::uint64_t before = 0, newest_before = 0, last = first;
  for (const auto& record : rig.records()) {
    before += record.frame < first;
    if (record.frame < first) newest_before = std::max(newest_before, record.frame);
    last = std::max(last, record.frame);
  }
  // While the numbers are still credible the frames count, and are late.
  if (expected - shift >= rig.plan.cell.ring) {
    EXPECT_LE(before, known);
  }
  EXPECT_EQ(rig.records().size(), before + last - first + 1);
  // The radio's numbers went on, or others began.
  const std::uint64_t passed_over = rig.baseband->ingest().counters().passed_over;
  EXPECT_EQ(passed_over, wire == first ? first - newest_before - 1 : 0);
  const std::uint32_t newest = rig.baseband->ingest().wire_frame(last) - shift;
  EXPECT_LT(newest, radiated);
  EXPECT_GE(newest + skipped + 1, radiated);
  test::expect_conservation(rig);
}

// Nothing came of them, but it is known that they were sent: all but one.
TEST(Radio, EachFrameOfOneInThisProcessCounts) {
  test::Rig rig(quick_plan());
  rig.recorder.watch([](std::uint64_t frame) { return frame == 7; });
  rig.baseband->follow(now());
  rig.baseband->announce_until(20);
  while (!rig.baseband->all_announced()) rig.silence(1);
  rig.finish();
  const auto& c = rig.store.counters();
  EXPECT_EQ(c.frames_seen, 19U);
  EXPECT_EQ(c.frames_completed, 0U);
  EXPECT_EQ(rig.recorder.ghosts(), 1U);
  test::expect_conservation(rig);
}

void expect_followed_to(std::uint32_t wire) {
  expect_resynchronised([wire](std::uint32_t) { return wire; });
}
TEST(Radio, RestartsFromFrameZeroAndIsFollowed) { expect_followed_to(0); }
TEST(Radio, JumpsFarAheadAndIsFollowed) { expect_followed_to(1'000'000); }
TEST(Radio, JumpsHalfWayAroundAndIsFollowed) { expect_followed_to(0x7fff'0000); }
TEST(Radio, JumpsBackAndIsFollowed) { expect_followed_to(0xffff'0000); }
TEST(Radio, SlipsByLessThanTheRingAndIsFollowed) {
  expect_resynchronised([](std::uint32_t expected) { return expected - 7; }, 2);
}

TEST(Radio, AForgedFirstPacketDoesNotDeafen) {
  test::Rig rig(quick_plan());
  const std::uint32_t buffer = rig.tap.acquire();
  fronthaul::Outgoing forged{
      {123'456, 0, rig.layout.cell(), 0}, rig.layout.packet_bytes(0), buffer, 0, false};
  EXPECT_EQ(rig.tap.send({&forged, 1}), 1U);
  rig.tap.abandon({&forged.buffer, 1});
  rig.radiate_until([&] { return follows(rig); });
  rig.finish();
  EXPECT_TRUE(follows(rig));
  test::expect_conservation(rig);
}

}  // namespace
}  // namespace carillon
