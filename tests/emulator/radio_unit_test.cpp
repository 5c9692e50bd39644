#include "emulator/radio_unit.hpp"

#include <algorithm>
#include <stdexcept>

#include "emulator/faulty_transport.hpp"
#include "fronthaul/downlink.hpp"
#include "fronthaul/forwarding.hpp"
#include "support/fronthaul.hpp"

namespace carillon::emulator {
namespace {

using fronthaul::Carries;
using fronthaul::DownlinkSender;
using fronthaul::Layout;
using fronthaul::UplinkIngest;

const Layout kLayout = test::small_layout(4, 10 * kMillisecond);
constexpr std::uint32_t kReplay = 16;
constexpr Tick kStart = 1000 * kSecond;

void fill_replay(RadioUnit& radio) {
  for (std::uint32_t f = 0; f < kReplay; ++f)
    for (const auto s : kLayout.symbols(Carries::Uplink))
      for (std::uint32_t a = 0; a < 4; ++a)
        test::write_stamps(radio.uplink_samples(f, s, a), kLayout.symbols()[s].samples, f, s, a);
}

// Keeps how late packets came, and releases frames as others open.
struct TimingSink : test::CheckingSink {
  explicit TimingSink(const Tick& time) : CheckingSink(kLayout), instant(time) {
    wire = [](std::uint64_t frame) { return static_cast<std::uint32_t>(frame % kReplay); };
  }
  bool open(std::uint64_t frame, Tick air_start) override {
    if (opened.load() > 0) ingest->release(last_opened.load());
    return CheckingSink::open(frame, air_start);
  }
  void arrive(std::uint64_t frame, std::uint32_t symbol, std::uint32_t antenna,
              const std::int16_t* samples, Tick when) override {
    const Tick due =
        kStart + static_cast<Tick>(frame) * kLayout.duration() + kLayout.symbols()[symbol].end;
    least_delay = std::min(least_delay, instant - due);
    most_delay = std::max(most_delay, instant - due);
    CheckingSink::arrive(frame, symbol, antenna, samples, when);
  }
  const Tick& instant;
  UplinkIngest* ingest = nullptr;
  Tick least_delay = kSecond, most_delay = -kSecond;
};

// All that the radio has sent: a kernel may take its time to bring it, which is none here.
void hear(const RadioUnit& radio, UplinkIngest& ingest) {
  do ingest.poll(0);
  while (ingest.counters().accepted < radio.counters().packets_sent);
}

// All that it was sent, so many packets.
void listen(RadioUnit& radio, Tick instant, std::uint64_t packets) {
  const auto heard = [&] {
    const auto counters = radio.counters();
    return counters.downlink_packets + counters.downlink_late + counters.downlink_rejected;
  };
  while (heard() < packets && !radio.finished()) radio.step(instant);
}

// Lets time pass from event to event until the radio has finished.
void run(RadioUnit& radio, Tick& instant, const std::function<void()>& meanwhile) {
  for (int i = 0; i < 1'000'000 && !radio.finished(); ++i) {
    instant = std::max(instant, radio.next_event());
    radio.step(instant);
    meanwhile();
  }
  EXPECT_TRUE(radio.finished());
}

TEST(RadioUnit, ReplaysItsFramesSymbolBySymbolWhenTheyHaveBeenOnAir) {
  for (const bool spread : {false, true})
    for (auto& [name, link] : test::each_link(kLayout)) {
      {
        RadioUnit radio(kLayout, *link.radio, {.spread = spread});
        fill_replay(radio);
        Tick instant = kStart - kMillisecond;
        TimingSink sink(instant);
        UplinkIngest ingest(kLayout, *link.baseband, sink, {.paced = false});
        sink.ingest = &ingest;
        radio.start(kStart, 20);
        EXPECT_EQ(radio.next_event(), kStart + kLayout.symbols()[0].end) << name;
        run(radio, instant, [&] { hear(radio, ingest); });
        const auto counters = radio.counters();
        EXPECT_EQ(counters.frames_sent, 20U) << name;
        EXPECT_EQ(counters.frames_skipped, 0U) << name;
        EXPECT_EQ(counters.packets_sent, 12U * 20) << name;
        EXPECT_EQ(counters.packets_unsent, 0U) << name;
        EXPECT_EQ(ingest.counters().accepted, 12U * 20) << name;
        EXPECT_EQ(sink.wrong.load(), 0U) << name;
        EXPECT_EQ(sink.least_delay, 0) << name;
        // The last of four antennas leaves three quarters of a symbol later.
        EXPECT_EQ(sink.most_delay, spread ? kLayout.duration() / 8 : 0) << name;
        EXPECT_EQ(counters.pacing_frames, 20U) << name;
        EXPECT_EQ(counters.pacing_error_sum, 0) << name;
        ingest.release(sink.last_opened.load());
      }
      EXPECT_TRUE(test::all_returned(link)) << name;
    }
}

TEST(RadioUnit, TellsHowLateItsFramesBegan) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    RadioUnit radio(kLayout, *link.radio, {});
    radio.start(kStart, 2);
    EXPECT_FALSE(radio.step(radio.next_event() - 1)) << name;
    EXPECT_TRUE(radio.step(radio.next_event() + 300)) << name;
    EXPECT_EQ(radio.counters().pacing_error_sum, 300) << name;
    EXPECT_EQ(radio.counters().pacing_error_square, 90'000U) << name;
    EXPECT_EQ(radio.counters().pacing_frames, 1U) << name;
    fronthaul::Received packet;
    while (link.baseband->receive(0, {&packet, 1}) > 0) link.baseband->recycle({&packet.buffer, 1});
  }
}

TEST(RadioUnit, FramesThatTheMachineSleptThroughAreSkippedNotSentAtOnce) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    RadioUnit radio(kLayout, *link.radio, {});
    radio.start(kStart, 60);
    Tick instant = kStart + 50 * kLayout.duration();
    run(radio, instant, [] {});
    const auto counters = radio.counters();
    EXPECT_EQ(counters.frames_skipped, 49U) << name;  // the 50th is on air
    EXPECT_EQ(counters.frames_sent, 11U) << name;
    EXPECT_EQ(counters.downlink_symbols_substituted, 2U * 11) << name;  // of the same frames
    EXPECT_EQ(counters.downlink_frames, 11U) << name;
    for (std::uint64_t frame = 0; frame < 60; ++frame)
      EXPECT_EQ(radio.skipped(frame), frame < 49) << name << frame;
    fronthaul::Received packet;
    while (link.baseband->receive(0, {&packet, 1}) > 0) link.baseband->recycle({&packet.buffer, 1});
  }
}

TEST(RadioUnit, EndsNoSoonerThanTheFramesThatWereBegun) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    RadioUnit radio(kLayout, *link.radio, {});
    Tick instant = kStart;
    radio.start(kStart);
    run(radio, instant, [&] {
      if (instant > kStart + 3 * kLayout.duration()) radio.stop(6);
    });
    EXPECT_EQ(radio.counters().frames_sent, 6U) << name;
  }
}

// Takes packets every other time only.
struct Reluctant final : fronthaul::ForwardingTransport {
  using ForwardingTransport::ForwardingTransport;
  std::size_t send(std::span<fronthaul::Outgoing> packets) noexcept override {
    return (willing = !willing) ? inner_.send(packets) : 0;
  }
  bool willing = true;
};

TEST(RadioUnit, PacesEachFrameOnceHoweverOftenItTriesToSendIt) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    Reluctant reluctant(*link.radio);
    RadioUnit radio(kLayout, reluctant, {});
    Tick instant = kStart;
    radio.start(kStart, 5);
    fronthaul::Received packet;
    run(radio, instant, [&] {
      while (link.baseband->receive(0, {&packet, 1}) > 0)
        link.baseband->recycle({&packet.buffer, 1});
    });
    EXPECT_EQ(radio.counters().frames_sent, 5U) << name;
    EXPECT_EQ(radio.counters().pacing_frames, 5U) << name;
  }
}

TEST(RadioUnit, StopsAfterTheFrameOnAir) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    RadioUnit radio(kLayout, *link.radio, {});
    Tick instant = kStart;
    radio.start(kStart);
    run(radio, instant, [&] {
      if (instant > kStart + 3 * kLayout.duration()) radio.stop();
    });
    const auto counters = radio.counters();
    EXPECT_EQ(counters.frames_sent, 4U) << name;
    EXPECT_EQ(counters.downlink_symbols_substituted, 2U * 4) << name;
    EXPECT_FALSE(radio.step(instant)) << name;
    EXPECT_GT(radio.next_event(), instant + 1000 * kSecond) << name;
  }
}

TEST(RadioUnit, SaysWhenTheReplayDoesNotFit) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    std::string text;
    try {
      RadioUnit radio(kLayout, *link.radio, {.replay = 100'000});
    } catch (const std::runtime_error& error) {
      text = error.what();
    }
    EXPECT_TRUE(text.find("replay of 100000 frames needs 1200000") != std::string::npos) << text;
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

// The baseband unit of these tests: sends a frame's downlink when told.
struct Downlink {
  explicit Downlink(fronthaul::Transport& transport) : sender(kLayout, transport, 4) {}
  void send(std::uint32_t frame, std::uint32_t symbol) {
    for (std::uint32_t a = 0; a < 4; ++a)
      test::write_stamps(sender.samples(frame % 4, symbol, a), 144, frame, symbol, a);
    sender.send(frame, frame % 4, symbol);
  }
  DownlinkSender sender;
};

bool all_zero(const std::int16_t* samples) {
  return std::all_of(samples, samples + 2 * 144, [](std::int16_t v) { return v == 0; });
}

// As 10·frame + symbol. All samples are the baseband unit's, or zeros.
void note_substituted(const DownlinkFrame& frame, const std::string& name,
                      std::vector<std::uint32_t>& substituted) {
  const auto number = static_cast<std::uint32_t>(frame.frame());
  for (const std::uint32_t s : {4U, 5U}) {
    if (frame.substituted(s)) substituted.push_back(number * 10 + s);
    for (std::uint32_t a = 0; a < 4; ++a)
      EXPECT_TRUE(frame.substituted(s) ? all_zero(frame.samples(s, a))
                                       : test::has_stamps(frame.samples(s, a), 144, number, s, a))
          << name << " frame " << number << " symbol " << s;
  }
}

TEST(RadioUnit, ASilentBasebandUnitLeavesNoHoleOnAir) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    RadioUnit radio(kLayout, *link.radio, {});
    for (std::uint32_t a = 0; a < 4; ++a)
      test::write_stamps(radio.contingency_samples(4, a), 144, 99, 4, a);
    Tick instant = kStart;
    radio.start(kStart, 6);
    std::uint64_t next = 0;
    const auto users = [&] {
      while (const auto* frame = radio.take()) {
        EXPECT_EQ(frame->frame(), next++) << name;
        EXPECT_EQ(frame->substituted_symbols(), 2U) << name;
        for (std::uint32_t a = 0; a < 4; ++a) {
          EXPECT_TRUE(test::has_stamps(frame->samples(4, a), 144, 99, 4, a)) << name;
          EXPECT_TRUE(all_zero(frame->samples(5, a))) << name;  // nothing was preloaded
        }
        radio.give_back(frame);
      }
    };
    run(radio, instant, users);
    users();
    EXPECT_EQ(next, 6U) << name;
    EXPECT_EQ(radio.counters().downlink_symbols_substituted, 12U) << name;
    EXPECT_EQ(radio.counters().downlink_symbols_sent, 0U) << name;
  }
}

TEST(RadioUnit, OnlyLateOrIncompleteSymbolsAreSubstituted) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    {
      RadioUnit radio(kLayout, *link.radio, {});
      Downlink baseband(*link.baseband);
      // Before frame 0 is on air. Frame 1 has only symbol 5; frame 2 lacks an antenna of symbol 4.
      baseband.send(0, 4);
      baseband.send(0, 5);
      baseband.send(1, 5);
      for (std::uint32_t a = 0; a < 3; ++a) test::send_packet(*link.baseband, kLayout, 2, 4, a);
      baseband.send(2, 5);
      Tick instant = kStart;
      radio.start(kStart, 5);
      std::vector<std::uint32_t> substituted;
      const auto meanwhile = [&] {
        while (const auto* frame = radio.take()) {
          note_substituted(*frame, name, substituted);
          if (frame->frame() == 1) baseband.send(1, 4);  // its air time is over
          radio.give_back(frame);
        }
      };
      run(radio, instant, meanwhile);
      meanwhile();
      EXPECT_TRUE(substituted == (std::vector<std::uint32_t>{14, 24, 34, 35, 44, 45})) << name;
      EXPECT_EQ(radio.counters().downlink_late, 4U) << name;
      EXPECT_EQ(radio.counters().downlink_packets, 4U * 4 + 3) << name;
      EXPECT_EQ(radio.counters().downlink_symbols_sent, 4U) << name;
      EXPECT_EQ(radio.counters().downlink_rejected, 0U) << name;
      // One report for each frame, in which bit 0 is the frame itself.
      std::vector<std::pair<std::uint32_t, std::uint32_t>> reports;
      fronthaul::Received packet;
      while (link.baseband->receive(0, {&packet, 1}) > 0) {
        if (packet.ids.symbol == fronthaul::kReportSymbol) {
          reports.push_back({packet.ids.frame, packet.ids.antenna});
          EXPECT_EQ(packet.bytes, fronthaul::kHeaderBytes) << name;
          EXPECT_EQ(packet.ids.cell, kLayout.cell()) << name;
        }
        link.baseband->recycle({&packet.buffer, 1});
      }
      EXPECT_TRUE(reports == (decltype(reports){{0, 0}, {1, 1}, {2, 3}, {3, 7}, {4, 15}})) << name;
    }
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

// Symbol 5 goes on air with symbol 4, or not at all.
Layout with_units() {
  std::vector<fronthaul::SymbolLayout> symbols(kLayout.symbols().begin(), kLayout.symbols().end());
  symbols[5].into_unit = 1;
  return {kLayout.cell(), kLayout.antennas(), kLayout.duration(), symbols};
}

TEST(RadioUnit, AUnitGoesOnAirWholeOrNotAtAll) {
  const Layout layout = with_units();
  for (auto& [name, link] : test::each_link(layout)) {
    {
      RadioUnit radio(layout, *link.radio, {});
      Downlink baseband(*link.baseband);
      // Frame 3 lacks symbol 5 when its symbol 4 is due.
      for (const std::uint32_t frame : {0U, 1U, 3U}) baseband.send(frame, 4);
      for (const std::uint32_t frame : {0U, 2U}) baseband.send(frame, 5);
      Tick instant = kStart;
      radio.start(kStart, 5);
      std::vector<std::uint32_t> substituted;
      bool sent = false;
      run(radio, instant, [&] {
        if (!sent && instant >= radio.air_start(3) + layout.symbols()[4].start) {
          baseband.send(3, 5);
          sent = true;
        }
        while (const auto* frame = radio.take()) {
          note_substituted(*frame, name, substituted);
          radio.give_back(frame);
        }
      });
      EXPECT_TRUE(substituted == (std::vector<std::uint32_t>{14, 15, 24, 25, 34, 35, 44, 45}))
          << name;
      EXPECT_EQ(radio.counters().downlink_late, 4U) << name;
      EXPECT_EQ(radio.counters().downlink_symbols_sent, 2U) << name;
      EXPECT_EQ(radio.counters().downlink_symbols_substituted, 8U) << name;
      EXPECT_EQ(radio.counters().downlink_rejected, 0U) << name;
      fronthaul::Received report;
      while (link.baseband->receive(0, {&report, 1}) > 0)
        link.baseband->recycle({&report.buffer, 1});
    }
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

struct LatePattern {
  const char* name;
  bool (*late)(std::uint32_t frame);
  std::uint32_t frames = 300;
};

// What is late leaves when its frame's last symbol is on air. Samples say where they belong.
void expect_alignment(test::NamedLink& named, const LatePattern& pattern) {
  const std::uint32_t frames = pattern.frames;
  const std::string name = named.name + ", " + pattern.name;
  {
    RadioUnit radio(kLayout, *named.link.radio, {});
    fill_replay(radio);
    for (const std::uint32_t s : {4U, 5U})
      for (std::uint32_t a = 0; a < 4; ++a)
        test::write_stamps(radio.contingency_samples(s, a), 144, 999, s, a);
    Downlink baseband(*named.link.baseband);
    Tick instant = kStart;
    TimingSink sink(instant);
    UplinkIngest ingest(kLayout, *named.link.baseband, sink, {.paced = false});
    sink.ingest = &ingest;
    radio.start(kStart, frames);
    std::uint32_t prepared = 0, on_air = 0, late = 0;
    std::uint64_t sent = 0;
    const auto send = [&](std::uint32_t frame) {
      for (const std::uint32_t s : {4U, 5U}) baseband.send(frame, s);
      sent += 8;
      listen(radio, instant, sent);
    };
    const auto meanwhile = [&] {
      hear(radio, ingest);
      for (; prepared < frames &&
             instant + 2 * kLayout.duration() > kStart + prepared * kLayout.duration();
           ++prepared)
        if (!pattern.late(prepared)) send(prepared);
      while (const auto* frame = radio.take()) {
        EXPECT_EQ(frame->frame(), on_air) << name;
        EXPECT_EQ(instant, kStart + on_air * kLayout.duration() + kLayout.symbols()[5].start)
            << name;
        const std::uint32_t source = pattern.late(on_air) ? 999 : on_air;
        for (const std::uint32_t s : {4U, 5U})
          for (std::uint32_t a = 0; a < 4; ++a)
            EXPECT_TRUE(test::has_stamps(frame->samples(s, a), 144, source, s, a))
                << name << " frame " << on_air << " symbol " << s;
        radio.give_back(frame);
        if (pattern.late(on_air)) {
          send(on_air);
          ++late;
        }
        ++on_air;
      }
    };
    run(radio, instant, meanwhile);
    meanwhile();
    EXPECT_EQ(on_air, frames) << name;
    const auto counters = radio.counters();
    EXPECT_EQ(counters.downlink_symbols_substituted, 2U * late) << name;
    EXPECT_EQ(counters.downlink_symbols_sent, 2U * (frames - late)) << name;
    EXPECT_EQ(counters.downlink_late, 8U * late) << name;
    // The uplink goes on as if nothing had been late.
    EXPECT_EQ(counters.frames_sent, frames) << name;
    EXPECT_EQ(counters.frames_skipped, 0U) << name;
    EXPECT_EQ(ingest.counters().accepted, 12U * frames) << name;
    EXPECT_EQ(ingest.counters().reports, frames) << name;
    EXPECT_EQ(sink.wrong.load(), 0U) << name;
    EXPECT_EQ(sink.least_delay, 0) << name;
    EXPECT_EQ(sink.most_delay, 0) << name;
    ingest.release(sink.last_opened.load());
  }
  EXPECT_TRUE(test::all_returned(named.link)) << name;
}

// The last frame is in time in each, so that all that was late has been collected by the end.
TEST(RadioUnit, TheAirNeverSlipsByASampleHoweverManyFramesAreLate) {
  const LatePattern patterns[] = {
      {"none", [](std::uint32_t) { return false; }},
      {"one", [](std::uint32_t frame) { return frame == 100; }},
      {"a burst", [](std::uint32_t frame) { return frame >= 100 && frame < 160; }},
      {"every second", [](std::uint32_t frame) { return frame % 2 == 0; }},
      {"all but every fifth", [](std::uint32_t frame) { return frame % 5 != 4; }},
  };
  for (const LatePattern& pattern : patterns)
    for (auto& named : test::each_link(kLayout)) expect_alignment(named, pattern);
  // Of frames of 10 ms.
  const LatePattern minute{"every second for a minute",
                           [](std::uint32_t frame) { return frame % 2 == 0; }, 6000};
  expect_alignment(test::each_link(kLayout).front(), minute);
}

TEST(RadioUnit, ForgedDownlinkPacketsAreCountedAndNeverReachTheAir) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    {
      RadioUnit radio(kLayout, *link.radio, {});
      const auto forge = [&](fronthaul::PacketIds ids, std::uint32_t bytes) {
        fronthaul::Outgoing packet{ids, bytes, link.baseband->acquire(), 0, false};
        test::write_stamps(link.baseband->samples(packet.buffer), 144, 99, 9, 9);
        link.baseband->send({&packet, 1});
        link.baseband->abandon({&packet.buffer, 1});
      };
      const std::uint32_t good = kLayout.packet_bytes(4);
      forge({0, 4, 7, 0}, good - 4);
      forge({0, 4, 6, 0}, good);
      forge({0, 1, 7, 0}, good);
      forge({0, 4, 7, 4}, good);
      forge({4, 4, 7, 0}, good);  // beyond what is collected
      test::send_packet(*link.baseband, kLayout, 0, 4, 0);
      test::send_packet(*link.baseband, kLayout, 0, 4, 0);
      forge({0, 4, 7, 0}, good);           // other samples than the first one's
      forge({0xffffffff, 4, 7, 0}, good);  // the frame before the first: late
      Tick instant = kStart;
      radio.start(kStart, 2);
      run(radio, instant, [] {});
      EXPECT_EQ(radio.counters().downlink_rejected, 7U) << name;
      EXPECT_EQ(radio.counters().downlink_differing, 1U) << name;
      EXPECT_EQ(radio.counters().downlink_late, 1U) << name;
      EXPECT_EQ(radio.counters().downlink_packets, 1U) << name;
      EXPECT_EQ(radio.counters().downlink_symbols_substituted, 4U) << name;
      fronthaul::Received packet;
      while (link.baseband->receive(0, {&packet, 1}) > 0)
        link.baseband->recycle({&packet.buffer, 1});
    }
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(RadioUnit, FramesThatUsersHaveNoTimeForAreUnverifiedAndLeakNothing) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    {
      RadioUnit radio(kLayout, *link.radio, {.queue = 3});
      Downlink baseband(*link.baseband);
      Tick instant = kStart;
      radio.start(kStart, 12);
      std::uint32_t next = 0;
      const DownlinkFrame* held = nullptr;
      run(radio, instant, [&] {
        if (next < 12 && instant + 2 * kLayout.duration() > kStart + next * kLayout.duration()) {
          baseband.send(next, 4);
          baseband.send(next, 5);
          ++next;
        }
        if (held == nullptr) held = radio.take();  // and never given back
      });
      EXPECT_EQ(radio.counters().downlink_frames, 12U) << name;
      EXPECT_EQ(radio.counters().downlink_frames_unverified, 9U) << name;
      ASSERT_TRUE(held != nullptr) << name;
      EXPECT_EQ(held->frame(), 0U) << name;
      for (std::uint32_t s : {4U, 5U})
        for (std::uint32_t a = 0; a < 4 && !held->substituted(s); ++a)
          EXPECT_TRUE(test::has_stamps(held->samples(s, a), 144, 0, s, a)) << name;
      fronthaul::Received packet;
      while (link.baseband->receive(0, {&packet, 1}) > 0)
        link.baseband->recycle({&packet.buffer, 1});
      while (link.radio->receive(0, {&packet, 1}) > 0) link.radio->recycle({&packet.buffer, 1});
    }
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(RadioUnit, RunsOverALinkThatMisbehavesWithExactCounts) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    {
      FaultyTransport faulty(kLayout, *link.radio, {0.01, 0.02, 0.05, 0.03, 3, 7});
      RadioUnit radio(kLayout, faulty, {});
      fill_replay(radio);
      Tick instant = kStart;
      TimingSink sink(instant);
      UplinkIngest ingest(kLayout, *link.baseband, sink, {.ahead = 1, .paced = false});
      sink.ingest = &ingest;
      test::send_packet(*link.radio, kLayout, 0, 0, 0);  // both agree on frame 0 whatever is lost
      test::poll_for(ingest, 1);
      radio.start(kStart, 100);
      run(radio, instant, [&] { ingest.poll(0); });
      EXPECT_TRUE(faulty.flush()) << name;
      while (ingest.poll(0) > 0) {
      }
      const auto& faults = faulty.faults();
      const auto counters = ingest.counters();
      EXPECT_EQ(faults.packets, radio.counters().packets_sent) << name;
      std::uint64_t forged = 0, rejected = 0;
      for (const auto count : faults.forged) forged += count;
      for (const auto count : counters.rejected) rejected += count;
      EXPECT_GT(forged, 10U) << name;
      EXPECT_EQ(counters.received,
                1 + faults.packets - faults.lost + faults.duplicated + forged + faults.reports)
          << name;
      EXPECT_EQ(counters.accepted + rejected + counters.refused + counters.reports,
                counters.received)
          << name;
      for (const auto kind : {fronthaul::Reject::Length, fronthaul::Reject::Cell,
                              fronthaul::Reject::Antenna, fronthaul::Reject::Symbol})
        EXPECT_EQ(counters[kind], faults.forged[static_cast<std::size_t>(kind)]) << name;
      ingest.release(sink.last_opened.load());
    }
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

}  // namespace
}  // namespace carillon::emulator
