// The whole baseband unit, decoding, under a sender that loses, repeats, reorders and forges.
// CARILLON_SOAK_FRAMES makes it longer (scripts/soak).
#include <cstdlib>

#include "app/rig.hpp"
#include "fronthaul/udp.hpp"

namespace carillon {
namespace {

using fronthaul::LinkKind;
using fronthaul::Reject;

std::uint64_t frames_to_send() {
  const char* text = std::getenv("CARILLON_SOAK_FRAMES");
  return text == nullptr ? 60 : std::strtoull(text, nullptr, 10);
}

const char* name(LinkKind kind) { return kind == LinkKind::Shm ? "shm" : "udp"; }

void print(LinkKind kind, test::Rig& rig, const fronthaul::IngestCounters& in) {
  const auto& f = rig.sender.faults();
  const auto& c = rig.store.counters();
  std::printf(
      "%s: %llu packets, %llu lost, %llu repeated, %llu reordered; received %llu, rejected:"
      " length %llu, cell %llu, antenna %llu, symbol %llu, old %llu, early %llu, duplicate %llu;"
      " missing %llu\n     %llu frames, %llu completed, %llu nacked; %llu blocks, %llu failed\n",
      name(kind), f.packets + 0ULL, f.lost + 0ULL, f.duplicated + 0ULL, f.reordered + 0ULL,
      in.received + 0ULL, in[Reject::Length] + 0ULL, in[Reject::Cell] + 0ULL,
      in[Reject::Antenna] + 0ULL, in[Reject::Symbol] + 0ULL, in[Reject::Old] + 0ULL,
      in[Reject::Early] + 0ULL, in[Reject::Duplicate] + 0ULL, in.missing + 0ULL,
      c.frames_seen + 0ULL, c.frames_completed + 0ULL, c.frames_nacked + 0ULL,
      c.uplink_blocks + 0ULL, c.uplink_failed + 0ULL);
}

// What each frame got is known from the tap; frames that the machine slept through were not sent.
void expect_exact(test::Rig& rig, const fronthaul::IngestCounters& in) {
  const auto& faults = rig.sender.faults();
  const auto forged = [&](Reject why) { return faults.forged[static_cast<std::size_t>(why)]; };
  EXPECT_EQ(in.received, rig.tap.sent());
  for (const auto why : {Reject::Length, Reject::Cell, Reject::Antenna, Reject::Symbol, Reject::Old,
                         Reject::Early}) {
    EXPECT_GT(forged(why), 0U);
    EXPECT_EQ(in[why], forged(why)) << "reason" << static_cast<int>(why);
  }
  EXPECT_EQ(in[Reject::Duplicate], faults.duplicated);
  EXPECT_EQ(in.refused, 0U);
  EXPECT_EQ(in.resynchronisations, 0U);

  std::uint64_t missing = 0;
  std::uint64_t next = 0;
  for (const auto& record : rig.records()) {
    missing += rig.packets() - rig.tap.of_frame(static_cast<std::uint32_t>(record.frame));
    next = std::max(next, record.frame + 1);
  }
  EXPECT_EQ(rig.records().size(), next);  // from number 0 on, none left out
  const auto ghosts = rig.recorder.ghosts() * rig.packets();
  EXPECT_EQ(in.missing, missing + ghosts);
}

void expect_only_touched_frames_suffer(test::Rig& rig) {
  std::uint64_t whole = 0;
  for (const auto& record : rig.records()) {
    const auto came = rig.tap.of_frame(static_cast<std::uint32_t>(record.frame));
    if (came < rig.packets()) continue;
    ++whole;
    EXPECT_EQ(record.missing_packets, 0U) << "frame" << record.frame;
    EXPECT_EQ(record.uplink_failed, 0U) << "frame" << record.frame;
    EXPECT_EQ(record.nack, 0U) << "frame" << record.frame;
  }
  EXPECT_GT(whole, 0U);
}

void expect_traced_packets_are_uplink(test::Rig& rig, std::uint64_t frames) {
  auto& tasks = rig.store.tasks();
  std::uint64_t traced = 0;
  for (std::uint64_t i = 0; i < tasks.count(); ++i) {
    if (tasks[i].opcode != telemetry::kPacketEvent) continue;
    ++traced;
    EXPECT_NE(rig.frame.symbol(tasks[i].step).kind, frame::SymbolKind::Guard);
  }
  EXPECT_EQ(traced, frames * rig.packets() / rig.plan.cell.antennas);
}

TEST(Faults, AreCountedExactlyAndHurtOnlyTheirOwnFrames) {
  for (const auto kind : {LinkKind::Shm, LinkKind::Udp}) {
    auto plan = test::patient_plan();
    plan.fronthaul.kind = kind;
    plan.fronthaul.receivers = 2;
    test::Rig rig(plan, {.loss = 0.01, .duplicate = 0.02, .reorder = 0.05, .garbage = 0.05});
    rig.radiate(frames_to_send());
    rig.finish();
    const auto in = rig.baseband->ingest().counters();
    print(kind, rig, in);
    expect_exact(rig, in);
    expect_only_touched_frames_suffer(rig);
    test::expect_conservation(rig);
  }
}

TEST(Faults, NoneMeansThatEveryBlockIsRight) {
  for (const auto kind : {LinkKind::Shm, LinkKind::Udp}) {
    auto plan = test::patient_plan();
    plan.fronthaul.kind = kind;
    test::Rig rig(plan);
    const auto radio = rig.radiate(20);
    rig.finish();
    const auto& c = rig.store.counters();
    EXPECT_EQ(rig.tap.sent(), radio.packets_sent);
    expect_traced_packets_are_uplink(rig, radio.frames_sent);
    // Of those that the radio slept through, all but the last ones count, as lost.
    EXPECT_LE(c.frames_seen, 20U) << name(kind);
    EXPECT_GE(c.frames_seen, radio.frames_sent) << name(kind);
    EXPECT_EQ(c.frames_completed, radio.frames_sent) << name(kind);
    const std::size_t blocks =
        rig.frame.program().transport_blocks(frame::Direction::Uplink).size();
    EXPECT_EQ(c.uplink_failed, (c.frames_seen - radio.frames_sent) * blocks) << name(kind);
    EXPECT_EQ(c.harq_nacks, c.uplink_failed) << name(kind);
    expect_only_touched_frames_suffer(rig);
    test::expect_conservation(rig);
  }
}

// Somebody else forges each frame's packets before the radio sends them.
TEST(Faults, ForgedPacketsFromAnotherAddressChangeNothing) {
  auto plan = test::patient_plan();
  plan.fronthaul.kind = LinkKind::Udp;
  test::Rig rig(plan);
  fronthaul::UdpOptions options;
  options.buffers = 64;
  options.buffer_bytes = rig.layout.buffer_bytes();
  options.packet_bytes = rig.layout.most_packet_bytes();
  options.peer_ports = dynamic_cast<fronthaul::UdpTransport&>(*rig.link.baseband).ports();
  const auto stranger = fronthaul::UdpTransport::open(options);
  std::atomic<bool> over{false};
  std::uint64_t forged = 0;
  std::thread forger([&] {
    std::uint64_t frame = 0;
    while (!over.load()) {
      if (rig.baseband->ingest().newest() < frame) {
        std::this_thread::yield();
        continue;
      }
      forged += test::send_frame(*stranger, rig.layout, static_cast<std::uint32_t>(++frame));
    }
  });
  rig.radiate(20);
  over.store(true);
  forger.join();
  rig.finish();
  const auto in = rig.baseband->ingest().counters();
  EXPECT_GT(forged, 0U);
  EXPECT_EQ(rig.link.baseband->foreign(), forged);
  EXPECT_EQ(in.received, rig.tap.sent());
  EXPECT_EQ(in[Reject::Duplicate] + in[Reject::Differing] + in[Reject::Early], 0U);
  expect_only_touched_frames_suffer(rig);
  test::expect_conservation(rig);
}

TEST(Faults, AFloodOfGarbageNeitherStopsNorConfusesTheUnit) {
  // With this seed no forged packet of a credible form is the first of all.
  test::Rig rig(test::patient_plan(),
                {.loss = 0.01, .duplicate = 0.3, .reorder = 0.3, .garbage = 1, .seed = 2});
  rig.radiate(20);
  rig.finish();
  const auto in = rig.baseband->ingest().counters();
  expect_exact(rig, in);
  expect_only_touched_frames_suffer(rig);
  test::expect_conservation(rig);
}

}  // namespace
}  // namespace carillon
