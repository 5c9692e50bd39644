#include "app/recorder.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "emulator/sent_bits.hpp"
#include "emulator/uplink_generator.hpp"
#include "fronthaul/link.hpp"
#include "support/test.hpp"

using namespace carillon;
using frame::Direction;
using telemetry::LateCause;

namespace {

struct File {
  File() {
    char name[] = "/tmp/carillon-recorder-XXXXXX";
    close(mkstemp(name));
    path = name;
  }
  ~File() { unlink(path.c_str()); }
  std::string path;
};

frame::FrameFormat format(bool crc = true, std::uint32_t occasions = 1) {
  frame::FrameFormat f;
  f.antennas = 4;
  f.users = 2;
  f.numerology.fft_size = 128;
  f.numerology.subcarriers = 72;
  f.schedule = occasions == 1 ? "PPUUUUUU" : "PPUUPPUU";
  f.pilots.occasions = occasions;
  f.symbols_per_slot = 4;
  f.deadlines.uplink_budget_ms = 200;
  f.uplink.crc = crc;
  return f;
}

telemetry::Store::Sizes sizes() {
  telemetry::Store::Sizes s;
  s.users = 2;
  s.frames = s.tasks = s.late_tasks = s.gaps = s.constellation = s.nacks = 4096;
  s.opcodes.assign(frame::kOpNames.begin(), frame::kOpNames.end());
  s.threads = {"worker 0"};
  return s;
}

// One thread is radio, receiver, worker and conductor of a small cell.
struct Cell : fronthaul::SymbolSink {
  explicit Cell(double snr_db = 30, bool crc = true, std::uint32_t occasions = 1)
      : frame(format(crc, occasions)),
        pipeline(frame, {}),
        store(file.path, sizes()),
        recorder(store, frame),
        sent(frame, radio(snr_db)),
        generator(frame, radio(snr_db)),
        layout(frame),
        link(fronthaul::open_both({}, layout, {})),
        ingest(layout, *link.baseband, *this, {.ring = 8, .ahead = 4, .paced = false}),
        policy(runtime::make_policy("earliest-frame")),
        runtime(
            {{pipeline.graph().graph, {pipeline.opcodes(), pipeline.context()}, pipeline.ring()}},
            *policy, {.trace = 4096}),
        frames(runtime.source(0)),
        samples(2 * std::size_t{frame.samples()} * format().antennas) {
    const std::uint32_t thread = 0;
    recorder.watch(runtime, 0, {&thread, 1}, {});
  }

  static emulator::RadioPlan radio(double snr_db) {
    emulator::RadioPlan plan;
    plan.snr_db = {snr_db};
    return plan;
  }

  bool open(std::uint64_t number, Tick air_start) override {
    pipeline.begin(number);
    started = air_start;
    return frames.begin(number, air_start, pipeline.chunks(number));
  }
  void arrive(std::uint64_t number, std::uint32_t symbol, std::uint32_t antenna,
              const std::int16_t* iq, Tick) override {
    auto hold = frames.hold(number);
    pipeline.set_samples(number, symbol, antenna, iq);
    hold.arrive(pipeline.graph().receive[symbol], antenna);
  }

  template <typename Lost>
  void send(std::uint32_t number, Lost&& lost, bool read = true) {
    const auto place = [&](std::uint32_t symbol, std::uint32_t antenna) {
      return &samples[2 *
                      (std::size_t{antenna} * frame.samples() + frame.symbol(symbol).first_sample)];
    };
    generator.generate(number, place);
    for (const auto s : layout.symbols(fronthaul::Carries::Uplink))
      for (std::uint32_t a = 0; a < layout.antennas(); ++a) {
        if (lost(s, a)) continue;
        const std::uint32_t buffer = link.radio->acquire();
        std::memcpy(link.radio->samples(buffer), place(s, a), 4 * frame.symbol(s).samples);
        fronthaul::Outgoing packet{
            {number, s, layout.cell(), a}, layout.packet_bytes(s), buffer, a, false};
        link.radio->send({&packet, 1});
        link.radio->abandon({&packet.buffer, 1});
        if (read) ingest.poll(0);
      }
  }

  // The frame from the air to its record; `give_up` ends it before its last task.
  template <typename Lost>
  void run(
      std::uint32_t number, Lost&& lost, bool give_up = false,
      const std::function<void()>& meddle = [] {}) {
    send(number, lost);
    if (give_up) frames.abandon(number);
    finish(number, meddle);
  }
  void finish(
      std::uint32_t number, const std::function<void()>& meddle = [] {}) {
    for (const Tick begun = now(); now() - begun < 2 * kSecond;) {
      ingest.poll(0);
      runtime.work(0);
      runtime::FrameEvent event;
      if (frames.poll({&event, 1}) == 0) continue;
      if (event.kind == runtime::FrameEvent::Kind::Committed) continue;
      meddle();
      recorder.ended({number, event.slot, started, pipeline, frames.board(), ingest, downlink,
                      &sent, number, true, true, false},
                     event);
      ingest.release(number);
      frames.release(number);
      return;
    }
    EXPECT_TRUE(false) << "frame " << number << " never ended";
  }
  void run(std::uint32_t number) {
    run(number, [](std::uint32_t, std::uint32_t) { return false; });
  }

  std::size_t blocks() const { return frame.program().transport_blocks(Direction::Uplink).size(); }

  const File file;
  frame::Frame frame;
  frame::Pipeline pipeline;
  telemetry::Store store;
  app::Recorder recorder;
  const emulator::SentBits sent;
  emulator::UplinkGenerator generator;
  fronthaul::Layout layout;
  fronthaul::Link link;
  fronthaul::UplinkIngest ingest;
  std::unique_ptr<runtime::Policy> policy;
  runtime::Runtime runtime;
  runtime::Runtime::Source frames;
  std::vector<std::int16_t> samples;
  app::Downlink downlink;
  Tick started = 0;
};

// All blocks of a frame failed: those of the first slot for their noise.
void expect_lost_in_the_second_slot(Cell& cell) {
  const auto blocks = cell.frame.program().transport_blocks(Direction::Uplink);
  ASSERT_EQ(cell.store.nacks().count(), blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i)
    EXPECT_EQ(
        cell.store.nacks()[i].cause,
        static_cast<std::uint32_t>(blocks[i].last_symbol < 4 ? LateCause::None : LateCause::Lost));
}

}  // namespace

TEST(Recorder, CountsFramesBlocksAndTasks) {
  Cell cell;
  for (std::uint32_t i = 0; i < 5; ++i) cell.run(i);
  cell.recorder.close();
  const auto& c = cell.store.counters();
  EXPECT_EQ(c.frames_seen, 5U);
  EXPECT_EQ(c.frames_completed, 5U);
  EXPECT_EQ(c.frames_nacked, 0U);
  EXPECT_EQ(c.uplink_blocks, 5 * cell.blocks());
  EXPECT_EQ(c.uplink_failed, 0U);
  EXPECT_EQ(c.harq_nacks, 0U);
  EXPECT_EQ(cell.store.frames().count(), 5U);
  EXPECT_EQ(cell.store.users()[0].uplink_blocks + cell.store.users()[1].uplink_blocks,
            c.uplink_blocks);
  const auto& graph = cell.pipeline.graph().graph;
  std::array<std::uint64_t, frame::kOps> chunks{};
  for (const auto& instruction : graph.instructions())
    chunks[instruction.opcode] += 5 * instruction.chunks;
  for (std::size_t op = 0; op < frame::kOps; ++op)
    EXPECT_EQ(cell.store.stages()[op].chunks, chunks[op]) << frame::kOpNames[op];
}

TEST(Recorder, OrdersAFramesMilestones) {
  Cell cell;
  for (std::uint32_t i = 0; i < 3; ++i) cell.run(i);
  cell.recorder.close();
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& r = cell.store.frames()[i];
    EXPECT_EQ(r.frame, i);
    EXPECT_EQ(r.completed, 1U);
    EXPECT_EQ(r.late_cause, 0U);
    EXPECT_EQ(r.missing_packets, 0U);
    EXPECT_EQ(r.uplink_blocks, cell.blocks());
    EXPECT_EQ(r.code_blocks, cell.frame.program().code_blocks(Direction::Uplink).size());
    EXPECT_GE(r.iterations, 1U);
    EXPECT_LE(r.first_packet, r.last_packet);
    EXPECT_LE(r.first_packet, r.started);
    EXPECT_LT(r.started, r.pilots_done);
    EXPECT_LT(r.pilots_done, r.combiner_done);
    EXPECT_LT(r.combiner_done, r.uplink_done);
  }
}

TEST(Recorder, SumsUpQualityPerUser) {
  Cell cell(20);
  for (std::uint32_t i = 0; i < 6; ++i) cell.run(i);
  cell.recorder.close();
  for (std::size_t u = 0; u < 2; ++u) {
    const auto& user = cell.store.users()[u];
    EXPECT_GT(user.symbols, 0U);
    EXPECT_GT(user.error_power, 0.0);
    EXPECT_LT(user.error_power / static_cast<double>(user.symbols), 0.2);
    EXPECT_GT(user.iterations, 0U);
  }
  EXPECT_GT(cell.store.constellation().count(), 0U);
}

TEST(Recorder, ComparesBlocksWithoutACrcWithWhatWasSent) {
  Cell cell(30, false);
  cell.run(0);
  auto& wrong = cell.pipeline.slot(1).payload;  // as decoded: its parity checks hold
  cell.run(
      1, [](std::uint32_t, std::uint32_t) { return false; }, false, [&] { wrong[0] ^= 1; });
  auto& good = cell.pipeline.slot(2).good;  // though all are, as where parity was not sent
  cell.run(
      2, [](std::uint32_t, std::uint32_t) { return false; }, false,
      [&] { std::ranges::fill(good, std::uint8_t{0}); });
  cell.recorder.close();
  EXPECT_EQ(cell.store.frames()[0].uplink_failed, 0U);
  EXPECT_EQ(cell.store.frames()[1].uplink_failed, 1U);
  EXPECT_EQ(cell.store.frames()[2].uplink_failed, 0U);
}

// Each frame adds one code block's errors against what its user sent: whichever block that is, it
// is counted whether it was decoded or not.
TEST(Recorder, CountsRawErrorsOfBlocksThatFailToo) {
  Cell cell(2);
  const auto places = cell.frame.program().code_blocks(Direction::Uplink);
  const auto blocks = cell.frame.program().transport_blocks(Direction::Uplink);
  std::vector<std::uint32_t> counted(places.size());
  std::uint32_t failed = 0, sampled = 0;
  for (std::uint32_t n = 0; n < 16; ++n) {
    std::uint64_t bits[2], errors[2];
    for (std::uint32_t u = 0; u < 2; ++u) {
      bits[u] = cell.store.users()[u].raw_bits;
      errors[u] = cell.store.users()[u].raw_errors;
    }
    cell.run(n);
    auto& users = cell.store.users();
    // A frame that a busy machine let wait says nothing about the channel.
    if (users[0].raw_bits == bits[0] && users[1].raw_bits == bits[1]) continue;
    ++sampled;
    const auto& slot = cell.pipeline.slot(n);
    std::uint32_t matches = 0;
    for (std::size_t c = 0; c < places.size(); ++c) {
      const auto& map = cell.frame.program().code_block(Direction::Uplink, places[c]).map;
      const std::uint32_t user = blocks[places[c].transport_block].user;
      std::uint64_t wrong = 0;
      for (std::uint32_t p = 0; p < map.piece_count; ++p)
        for (std::uint32_t i = 0; i < map.pieces[p].count; ++i) {
          const std::uint32_t e = map.pieces[p].e + i;
          const bool one =
              (cell.generator.coded()[places[c].coded_offset + e / 8] >> e % 8 & 1) != 0;
          wrong += one != (slot.soft[places[c].coded_offset + map.pieces[p].d + i] < 0);
        }
      const auto& now = cell.store.users()[user];
      if (now.raw_bits - bits[user] != map.E || now.raw_errors - errors[user] != wrong) continue;
      ++matches;
      ++counted[c];
      failed += !slot.results[c].good;
    }
    EXPECT_GE(matches, 1U) << "frame " << n;
  }
  EXPECT_GT(sampled, 4U);
  EXPECT_GT(failed, 0U);
  for (const std::uint32_t count : counted) EXPECT_GE(count, sampled == 16 ? 2U : 0U);
}

TEST(Recorder, LostPacketsFailBlocksWithoutMakingTheFrameLate) {
  Cell cell;
  cell.run(0);
  cell.run(1, [](std::uint32_t symbol, std::uint32_t) { return symbol >= 4; });  // the second slot
  cell.recorder.close();
  const auto& c = cell.store.counters();
  const auto& hurt = cell.store.frames()[1];
  EXPECT_EQ(hurt.missing_packets, 4U * 4U);
  EXPECT_EQ(hurt.uplink_failed, 2U);  // one block of each user
  EXPECT_EQ(cell.store.frames()[0].uplink_failed, 0U);
  EXPECT_EQ(c.uplink_failed, 2U);
  EXPECT_EQ(c.harq_nacks, 2U);
  EXPECT_EQ(c.overload_nacks, 0U);
  EXPECT_EQ(c.frames_completed, 2U);
  std::uint64_t bits = 0, right = 0;
  for (std::uint32_t u = 0; u < 2; ++u) bits += cell.store.users()[u].uplink_bits;
  const auto& program = cell.frame.program();
  for (const auto& block : program.transport_blocks(Direction::Uplink))
    right += program.plan(block).A() * (block.last_symbol < 4 ? 2 : 1);  // in both frames, or one
  EXPECT_EQ(bits, right);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(cell.store.nacks()[i].frame, 1U);
    EXPECT_EQ(cell.store.nacks()[i].cause, static_cast<std::uint32_t>(LateCause::Lost));
  }
}

TEST(Recorder, NamesMissingPacketsAsTheCauseOfTheBlocksThatLackThem) {
  Cell cell(-30);  // so that every block fails
  cell.run(0, [](std::uint32_t symbol, std::uint32_t) { return symbol >= 4; });  // the second slot
  cell.run(1, [](std::uint32_t symbol, std::uint32_t antenna) { return symbol + antenna == 0; });
  cell.recorder.close();
  const auto blocks = cell.frame.program().transport_blocks(Direction::Uplink);
  ASSERT_EQ(cell.store.nacks().count(), 2 * blocks.size());
  for (std::size_t i = 0; i < cell.store.nacks().count(); ++i) {
    const bool noise = i < blocks.size() && blocks[i].last_symbol < 4;
    EXPECT_EQ(cell.store.nacks()[i].cause,
              static_cast<std::uint32_t>(noise ? LateCause::None : LateCause::Lost))
        << "nack " << i;
  }
}

// Pilots of the second slot are no cause for blocks of the first.
TEST(Recorder, NamesPilotsOfTheirOwnOccasionAlone) {
  Cell cell(-30, true, 2);
  cell.run(0,
           [](std::uint32_t symbol, std::uint32_t antenna) { return symbol == 4 && antenna == 0; });
  cell.recorder.close();
  expect_lost_in_the_second_slot(cell);
}

// All but a frame's first symbol is worked on when it is long due.
TEST(Recorder, PacketsThatNobodyReadAreNotLateAndThoseThatNobodyFoundAre) {
  for (const bool lay_there : {true, false}) {
    Cell cell;
    cell.run(0);
    cell.send(1, [](std::uint32_t symbol, std::uint32_t) { return symbol > 0; });
    cell.ingest.poll(0);
    const auto first = [](std::uint32_t symbol, std::uint32_t) { return symbol == 0; };
    if (lay_there) cell.send(1, first, false);
    const Tick due = now() + 600 * kMillisecond;  // a budget of 200, and as much for a pause
    while (now() < due)
      if (!lay_there) cell.ingest.poll(0);
    if (!lay_there) cell.send(1, first);
    cell.finish(1);
    cell.recorder.close();
    const auto& c = cell.store.counters();
    EXPECT_EQ(c.lates_processing, lay_there ? 1U : 0U);
    EXPECT_EQ(c.lates_fronthaul, lay_there ? 0U : 1U);
  }
}

TEST(Recorder, CountsIllConditionedCombinersOfWholeFramesOnly) {
  Cell cell;
  const auto none = [](std::uint32_t, std::uint32_t) { return false; };
  cell.run(0, none, false, [&] { cell.pipeline.slot(0).combiners->ill_conditioned = 3; });
  cell.run(1, [](std::uint32_t symbol, std::uint32_t) { return symbol < 2; });
  EXPECT_GT(cell.pipeline.slot(1).combiners->ill_conditioned.load(), 0U);
  cell.recorder.close();
  EXPECT_EQ(cell.store.counters().ill_conditioned, 3U);
}

TEST(Recorder, ADiscardedFrameIsNackedWithAllItsBlocks) {
  Cell cell;
  cell.run(0);
  cell.run(
      1, [](std::uint32_t symbol, std::uint32_t) { return symbol == 7; }, true);
  cell.run(2);
  cell.recorder.close();
  const auto& c = cell.store.counters();
  const auto& dropped = cell.store.frames()[1];
  EXPECT_EQ(dropped.nack, telemetry::kDiscarded);
  EXPECT_EQ(dropped.completed, 0U);
  EXPECT_EQ(dropped.uplink_failed, cell.blocks());
  EXPECT_NE(dropped.late_cause, 0U);
  EXPECT_EQ(c.overload_nacks, 1U);
  EXPECT_EQ(c.frames_nacked, 1U);
  EXPECT_EQ(c.frames_completed, 2U);
  EXPECT_EQ(c.lates_lost + c.lates_fronthaul + c.lates_processing, 1U);
  EXPECT_EQ(c.uplink_failed, cell.blocks());
}

TEST(Recorder, BlocksOfADiscardedFrameThatWereDecodedAreReceived) {
  Cell cell;
  cell.send(0, [](std::uint32_t, std::uint32_t) { return false; });
  runtime::FrameEvent first;
  while (cell.frames.poll({&first, 1}) == 0) cell.runtime.work(0);
  ASSERT_EQ(first.kind, runtime::FrameEvent::Kind::Committed);  // the first slot's Decode
  cell.frames.abandon(0);
  cell.finish(0);
  cell.recorder.close();
  const auto& record = cell.store.frames()[0];
  EXPECT_EQ(record.nack, telemetry::kDiscarded);
  EXPECT_EQ(record.uplink_blocks, cell.blocks());
  EXPECT_EQ(record.uplink_failed, cell.blocks() - 2);
  EXPECT_EQ(record.code_blocks, 2U);
  EXPECT_EQ(cell.store.counters().harq_nacks, cell.blocks() - 2);
}

TEST(Recorder, ADiscardedFrameLacksAlsoWhatWasNeverWorkedOn) {
  Cell cell;
  cell.run(0);
  cell.send(1, [](std::uint32_t symbol, std::uint32_t antenna) { return symbol + antenna == 7; });
  for (const auto s : cell.layout.symbols(fronthaul::Carries::Uplink))
    cell.frames.close(1, cell.pipeline.graph().receive[s]);
  cell.frames.abandon(1);
  cell.finish(1);
  cell.recorder.close();
  EXPECT_EQ(cell.store.frames()[1].missing_packets, 4U);
  EXPECT_EQ(cell.store.counters().lates_lost, 1U);
}

TEST(Recorder, ARefusedFrameIsLateAndNacked) {
  Cell cell;
  cell.run(0);
  cell.recorder.refused(1, 1, now());
  cell.recorder.close();
  const auto& c = cell.store.counters();
  EXPECT_EQ(c.frames_seen, 2U);
  EXPECT_EQ(c.frames_nacked, 1U);
  EXPECT_EQ(c.lates_processing, 1U);
  EXPECT_EQ(c.uplink_blocks, 2 * cell.blocks());
  EXPECT_EQ(c.uplink_failed, cell.blocks());
  const auto& record = cell.store.frames()[1];
  EXPECT_EQ(record.nack, telemetry::kRefused);
  EXPECT_EQ(record.frame, 1U);
}

// The first frame was on air when the only thread came.
TEST(Recorder, AFrameThatTheOnlyThreadCameTooLateForIsNoFaultOfTheWork) {
  struct Nothing final : app::Duty {
    app::RoleKind kind() const override { return app::RoleKind::Worker; }
    bool step() noexcept override { return loop->stop(), true; }
    Tick next_event() noexcept override { return runtime::kNever; }
    app::Loop* loop = nullptr;
  } nothing;
  app::Loop loop({.name = "only"}, {&nothing});
  nothing.loop = &loop;
  Cell cell;
  app::Loop* const loops[] = {&loop};
  cell.recorder.watch(cell.runtime, 0, {}, loops);
  const Tick begun = now() - kSecond;
  std::thread([&] { loop.run(begun); }).join();  // it pins itself
  cell.recorder.refused(0, 0, begun);
  cell.recorder.close();
  const auto& c = cell.store.counters();
  EXPECT_EQ(c.lates_processing, 0U);
  EXPECT_EQ(c.lates_operating_system, 1U);  // without real-time priority
  EXPECT_EQ(cell.store.frames()[0].gap, 1U);
}

// Its packets came a second before their time by a clock that delayed ones had set.
TEST(Recorder, AFrameThatIsRefusedBeforeItIsOnAirIsTheFronthauls) {
  Cell cell;
  cell.run(0);
  cell.recorder.refused(1, 1, now() + kSecond);
  cell.recorder.close();
  EXPECT_EQ(cell.store.counters().frames_nacked, 1U);
  EXPECT_EQ(cell.store.counters().lates_fronthaul, 1U);
}

TEST(Recorder, AFrameThatTheRadioNeverSentIsNotCounted) {
  Cell cell;
  cell.run(0);
  cell.recorder.refused(1, 1, cell.started + cell.frame.duration(), false);
  cell.recorder.close();
  EXPECT_EQ(cell.store.counters().frames_seen, 1U);
  EXPECT_EQ(cell.recorder.ghosts(), 1U);
}

// Tasks of frames that nobody sent are no cost of the run.
TEST(Recorder, WhatAGhostTookIsNotCounted) {
  const auto cost = [](std::uint32_t ghosts) {
    Cell cell;
    cell.run(0);
    cell.recorder.heard({0, 0});
    for (std::uint32_t n = 1; n <= ghosts; ++n) {
      cell.open(n, now());
      for (const auto s : cell.layout.symbols(fronthaul::Carries::Uplink))
        cell.frames.close(n, cell.pipeline.graph().receive[s]);
      cell.finish(n);
    }
    cell.recorder.close();
    EXPECT_EQ(cell.recorder.ghosts(), ghosts);
    EXPECT_EQ(cell.recorder.ghosts_sent_away(), ghosts);
    EXPECT_EQ(cell.recorder.ghosts_handed_back(), 0U);
    EXPECT_EQ(cell.store.counters().frames_seen, 1U);
    EXPECT_EQ(cell.store.counters().ghost_busy > 0, ghosts > 0);
    std::uint64_t chunks = 0;
    for (std::size_t op = 0; op < frame::kOps; ++op) chunks += cell.store.stages()[op].chunks;
    return chunks;
  };
  const std::uint64_t alone = cost(0);
  EXPECT_GT(alone, 0U);
  EXPECT_EQ(cost(3), alone);
}

// Its downlink left in time, and the radio unit had no use for it any more.
TEST(Recorder, AFrameThatTheRadioUnitReplacedIsLate) {
  Cell cell;
  cell.downlink = {2, 0, 1, 2};
  cell.run(0);
  cell.recorder.reported(0, 0);
  cell.run(1);
  cell.run(2);
  cell.recorder.reported(2, 0b10);
  cell.run(3);
  cell.recorder.heard({3, 0});
  cell.recorder.collect();
  EXPECT_EQ(cell.store.counters().frames_seen, 3U);  // the last one's report may still come
  cell.recorder.close();
  const auto& c = cell.store.counters();
  EXPECT_EQ(c.frames_seen, 4U);
  EXPECT_EQ(c.frames_completed, 3U);
  EXPECT_EQ(c.frames_substituted, 1U);
  EXPECT_EQ(c.frames_unreported, 1U);
  EXPECT_EQ(c.lates_fronthaul, 1U);
  for (std::size_t n = 0; n < 4; ++n) {
    const telemetry::FrameRecord& record = cell.store.frames()[n];
    EXPECT_EQ(record.substituted, n == 1 ? 1U : 0U);
    EXPECT_EQ(record.completed, n == 1 ? 0U : 1U);
    EXPECT_EQ(record.late_cause,
              static_cast<std::uint32_t>(n == 1 ? LateCause::Fronthaul : LateCause::None));
    EXPECT_EQ(record.gap, 0U);
  }
}

// What came too late was its downlink: blocks of its uplink fail by what they lack themselves.
TEST(Recorder, BlocksOfAFrameThatTheRadioUnitReplacedKeepTheirOwnCause) {
  Cell cell(-30);  // so that every block fails
  cell.downlink = {2, 0, 1, 2};
  cell.run(0, [](std::uint32_t symbol, std::uint32_t) { return symbol >= 4; });  // the second slot
  cell.recorder.reported(0, 0b1);
  cell.recorder.close();
  EXPECT_EQ(cell.store.counters().lates_fronthaul, 1U);
  expect_lost_in_the_second_slot(cell);
}

TEST(Recorder, ARadioUnitThatReportsNothingIsNotWaitedForLong) {
  Cell cell;
  cell.downlink = {2, 0, 1, 2};
  for (std::uint32_t n = 0; n < 3; ++n) cell.run(n);
  cell.recorder.heard({2, 0});
  cell.recorder.collect();
  EXPECT_EQ(cell.store.counters().frames_seen, 1U);
  cell.recorder.close();
  EXPECT_EQ(cell.store.counters().frames_completed, 3U);
  EXPECT_EQ(cell.store.counters().frames_unreported, 3U);
}

TEST(Recorder, ASilentFrameCountsAsSoonAsTheRadioGoesOn) {
  Cell cell;
  cell.run(0);
  cell.recorder.refused(1, 1, cell.started + cell.frame.duration(), false);
  cell.ingest.release(1);
  cell.run(2);
  cell.recorder.close();
  EXPECT_EQ(cell.store.counters().frames_seen, 3U);
  EXPECT_EQ(cell.store.counters().frames_completed, 2U);
  EXPECT_EQ(cell.recorder.ghosts(), 0U);
  EXPECT_EQ(cell.store.frames()[1].frame, 1U);
}
