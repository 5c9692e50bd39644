#include "fronthaul/ingest.hpp"

#include <thread>

#include "emulator/faulty_transport.hpp"
#include "support/fronthaul.hpp"

namespace carillon::fronthaul {
namespace {

using test::CheckingSink;

const Layout kLayout = test::small_layout();
constexpr std::uint32_t kPackets = 12;  // of a frame

// As fast as it goes: frame numbers alone say what is early.
UplinkIngest::Options unpaced() { return {.paced = false}; }

void send_forged(Transport& radio, PacketIds ids, std::uint32_t bytes) {
  Outgoing packet{ids, bytes, radio.acquire(), 0, false};
  radio.send({&packet, 1});
  radio.abandon({&packet.buffer, 1});
}

TEST(UplinkIngest, DeliversEveryPacketOnceWithItsOwnSamples) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    CheckingSink sink(kLayout);
    UplinkIngest ingest(kLayout, *link.baseband, sink, unpaced());
    for (std::uint32_t frame = 0; frame < 50; ++frame) {
      const Tick before = now();
      test::send_frame(*link.radio, kLayout, frame);
      EXPECT_EQ(test::poll_for(ingest, kPackets), kPackets) << name;
      EXPECT_EQ(sink.last_opened.load(), frame) << name;
      const auto arrivals = ingest.arrivals(frame);
      EXPECT_EQ(arrivals.packets, kPackets) << name;
      EXPECT_EQ(arrivals.expected, kPackets) << name;
      EXPECT_GE(arrivals.first_packet, before) << name;
      EXPECT_GE(arrivals.last_packet, arrivals.first_packet) << name;
      EXPECT_TRUE(ingest.complete(frame, 2)) << name;
      EXPECT_EQ(ingest.last_packet(frame, 2), arrivals.last_packet) << name;
      ingest.release(frame);
      EXPECT_FALSE(ingest.complete(frame, 2)) << name;
    }
    EXPECT_EQ(sink.opened.load(), 50U) << name;
    EXPECT_EQ(sink.arrived.load(), 50U * kPackets) << name;
    EXPECT_EQ(sink.wrong.load(), 0U) << name;
    EXPECT_EQ(ingest.counters().accepted, 50U * kPackets) << name;
    EXPECT_EQ(ingest.counters().missing, 0U) << name;
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(UplinkIngest, HandsOnWhatTheRadioUnitReports) {
  struct Listener final : CheckingSink {
    using CheckingSink::CheckingSink;
    void reported(std::uint64_t frame, std::uint32_t replaced) override {
      heard.push_back({frame, replaced});
    }
    std::vector<std::pair<std::uint64_t, std::uint32_t>> heard;
  };
  for (auto& [name, link] : test::each_link(kLayout)) {
    Listener sink(kLayout);
    UplinkIngest ingest(kLayout, *link.baseband, sink, unpaced());
    const std::uint32_t wire = 0x8000'0000;  // as of a radio unit that has been on air for long
    test::send_frame(*link.radio, kLayout, wire);
    test::poll_for(ingest, kPackets);
    const std::uint32_t cell = kLayout.cell();
    send_forged(*link.radio, {wire, kReportSymbol, cell, 5}, kHeaderBytes);
    send_forged(*link.radio, {wire + 1, kReportSymbol, cell, 10}, kHeaderBytes);
    send_forged(*link.radio, {wire + 3, kReportSymbol, cell, 1}, kHeaderBytes);
    send_forged(*link.radio, {wire - 1, kReportSymbol, cell, 1}, kHeaderBytes);
    send_forged(*link.radio, {wire, kReportSymbol, cell + 1, 1}, kHeaderBytes);
    send_forged(*link.radio, {wire, kReportSymbol, cell, 1}, kHeaderBytes + 4);
    test::poll_for(ingest, 6);
    EXPECT_TRUE(sink.heard == (decltype(sink.heard){{0, 5}, {1, 10}})) << name;
    const auto counters = ingest.counters();
    EXPECT_EQ(counters.reports, 2U) << name;
    EXPECT_EQ(counters.rejected_reports, 4U) << name;
    for (const auto why : {Reject::Early, Reject::Old, Reject::Cell, Reject::Length})
      EXPECT_EQ(counters[why], 1U) << name << static_cast<int>(why);
    EXPECT_EQ(counters.received, kPackets + 6U) << name;
    ingest.release(0);
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

// The first frame came late by many others, all that follow are in time, and whoever polls has been
// elsewhere for some frames each time.
TEST(UplinkIngest, AStarvedReceiverFollowsARadioThatItsClockIsBehind) {
  const Layout layout = test::small_layout(4, kMillisecond);
  for (auto& [name, link] : test::each_link(layout)) {
    CheckingSink sink(layout);
    UplinkIngest ingest(layout, *link.baseband, sink, {});
    const Tick start = now() - 30 * layout.duration();
    test::send_frame(*link.radio, layout, 0);
    test::poll_for(ingest, kPackets);
    for (int i = 0; i < 200 && sink.last_opened.load() == 0; ++i) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(3 * layout.duration()));
      test::send_frame(*link.radio, layout,
                       static_cast<std::uint32_t>((now() - start) / layout.duration()));
      test::poll_for(ingest, kPackets);
    }
    EXPECT_GT(ingest.counters()[Reject::Early], 0U) << name;
    EXPECT_GT(sink.last_opened.load(), 0U) << name;
    ingest.release(0);
    ingest.release(sink.last_opened.load());
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

// Whoever polls has stood still for thirty frames, of which the first five come now.
TEST(UplinkIngest, KnowsWhenFramesOfARadioInThisProcessAreOnAir) {
  struct Listener final : CheckingSink {
    using CheckingSink::CheckingSink;
    bool open(std::uint64_t frame, Tick air_start) override {
      starts.push_back(air_start);
      return CheckingSink::open(frame, air_start);
    }
    std::vector<Tick> starts;
  };
  const Layout layout = test::small_layout(4, kMillisecond);
  for (auto& [name, link] : test::each_link(layout)) {
    Listener sink(layout);
    UplinkIngest ingest(layout, *link.baseband, sink, {.ring = 64});
    const Tick start = now() - 30 * layout.duration();
    ingest.follow(start);
    for (std::uint32_t frame = 0; frame < 5; ++frame) {
      test::send_frame(*link.radio, layout, frame);
      test::poll_for(ingest, kPackets);
      EXPECT_EQ(sink.starts.back(), start + frame * layout.duration()) << name;
    }
    EXPECT_EQ(sink.starts.size(), 5U) << name;
    EXPECT_EQ(ingest.counters().accepted, 5U * kPackets) << name;
    EXPECT_EQ(ingest.counters().resynchronisations, 0U) << name;
    for (std::uint32_t frame = 0; frame < 5; ++frame) ingest.release(frame);
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(UplinkIngest, EveryMalformedPacketIsCountedByKindAndHarmsNothing) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    CheckingSink sink(kLayout);
    UplinkIngest ingest(kLayout, *link.baseband, sink, unpaced());
    const std::uint32_t good = kLayout.packet_bytes(1);
    test::send_packet(*link.radio, kLayout, 10, 0, 0);
    for (const std::uint32_t bytes : {0U, 1U, 63U, 64U, good - 1, good + 1, good + 4})
      send_forged(*link.radio, {10, 1, 7, 0}, bytes);
    for (const std::uint32_t cell : {0U, 6U, 8U, 0xffffffffU})
      send_forged(*link.radio, {10, 1, cell, 0}, good);
    for (const std::uint32_t antenna : {4U, 0x80000000U, 0xffffffffU})
      send_forged(*link.radio, {10, 1, 7, antenna}, good);
    for (const std::uint32_t symbol : {3U, 4U, 6U, 0xffffffffU})
      send_forged(*link.radio, {10, symbol, 7, 0}, good);
    for (const std::uint32_t frame : {9U, 2U, 10U - 20, 0x8000000bU})
      send_forged(*link.radio, {frame, 1, 7, 0}, good);
    for (const std::uint32_t frame : {12U, 1000U, 0x7fffffffU})
      send_forged(*link.radio, {frame, 1, 7, 0}, good);
    test::send_packet(*link.radio, kLayout, 10, 0, 0);
    test::poll_for(ingest, 27);
    const auto counters = ingest.counters();
    EXPECT_EQ(counters.received, 27U) << name;
    EXPECT_EQ(counters.accepted, 1U) << name;
    EXPECT_EQ(counters[Reject::Length], 7U) << name;
    EXPECT_EQ(counters[Reject::Cell], 4U) << name;
    EXPECT_EQ(counters[Reject::Antenna], 3U) << name;
    EXPECT_EQ(counters[Reject::Symbol], 4U) << name;
    EXPECT_EQ(counters[Reject::Old], 4U) << name;
    EXPECT_EQ(counters[Reject::Early], 3U) << name;
    EXPECT_EQ(counters[Reject::Duplicate], 1U) << name;
    EXPECT_EQ(sink.arrived.load(), 1U) << name;
    EXPECT_EQ(sink.wrong.load(), 0U) << name;
    ingest.release(10);
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(UplinkIngest, DuplicatesWithOtherSamplesAreCountedApart) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    CheckingSink sink(kLayout);
    UplinkIngest ingest(kLayout, *link.baseband, sink, unpaced());
    test::send_packet(*link.radio, kLayout, 0, 0, 0);
    test::send_packet(*link.radio, kLayout, 0, 0, 0);
    Outgoing forged{{0, 0, 7, 0}, kLayout.packet_bytes(0), link.radio->acquire(), 0, false};
    test::write_stamps(link.radio->samples(forged.buffer), 150, 0, 0, 0);
    link.radio->samples(forged.buffer)[2 * 150 - 1] ^= 1;
    link.radio->send({&forged, 1});
    link.radio->abandon({&forged.buffer, 1});
    test::poll_for(ingest, 3);
    EXPECT_EQ(ingest.counters()[Reject::Duplicate], 1U) << name;
    EXPECT_EQ(ingest.counters()[Reject::Differing], 1U) << name;
    EXPECT_EQ(sink.arrived.load(), 1U) << name;
    EXPECT_EQ(sink.wrong.load(), 0U) << name;
    ingest.release(0);
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

// All of a frame is sent at once, so that the last symbol seems to come far earlier than the
// others.
TEST(UplinkIngest, OneEarlySymbolDoesNotMoveTheClock) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    CheckingSink sink(kLayout);
    UplinkIngest ingest(kLayout, *link.baseband, sink, unpaced());
    const Tick before = now();
    test::send_frame(*link.radio, kLayout, 0);
    test::poll_for(ingest, kPackets);
    const Tick after = ingest.arrivals(0).last_packet;
    ingest.release(0);
    const Tick by_the_others = kLayout.symbols()[1].end;
    EXPECT_GE(ingest.clock().air_start(0), before - by_the_others) << name;
    EXPECT_LE(ingest.clock().air_start(0), after - by_the_others) << name;
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(UplinkIngest, ADuplicateIsKnownEvenAfterItsFrameIsOver) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    CheckingSink sink(kLayout);
    UplinkIngest ingest(kLayout, *link.baseband, sink, unpaced());
    test::send_packet(*link.radio, kLayout, 0, 0, 0);
    test::poll_for(ingest, 1);
    ingest.release(0);
    test::send_packet(*link.radio, kLayout, 0, 0, 0);  // came before
    test::send_packet(*link.radio, kLayout, 0, 0, 1);  // never came: too late now
    test::poll_for(ingest, 2);
    EXPECT_EQ(ingest.counters()[Reject::Duplicate], 1U) << name;
    EXPECT_EQ(ingest.counters()[Reject::Old], 1U) << name;
    EXPECT_EQ(ingest.counters().missing, kPackets - 1) << name;
    EXPECT_EQ(sink.arrived.load(), 1U) << name;
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(UplinkIngest, AFrameOfWhichNothingCameIsMissingAsAWhole) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    CheckingSink sink(kLayout);
    UplinkIngest ingest(kLayout, *link.baseband, sink, unpaced());
    test::send_frame(*link.radio, kLayout, 0);
    test::poll_for(ingest, kPackets);
    ingest.release(0);
    ingest.release(1);
    ingest.release(1);  // again: nothing happens
    EXPECT_EQ(ingest.counters().missing, kPackets) << name;
    test::send_packet(*link.radio, kLayout, 1, 0, 0);
    test::poll_for(ingest, 1);
    EXPECT_EQ(ingest.counters()[Reject::Old], 1U) << name;
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

// It was refused, and the frame that has its place now was opened before that was settled.
TEST(UplinkIngest, AFrameThatNeverHadItsPlaceIsMissingAsAWhole) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    CheckingSink sink(kLayout);
    const UplinkIngest::Options options{.ring = 8, .ahead = 2, .paced = false};
    UplinkIngest ingest(kLayout, *link.baseband, sink, options);
    const std::uint32_t later = 1 + options.ring;
    for (std::uint32_t frame = 0; frame <= later; ++frame) {
      if (frame == 1) continue;
      test::send_frame(*link.radio, kLayout, frame);
      test::poll_for(ingest, kPackets);
      if (frame != later) ingest.release(frame);
    }
    ingest.release(1);
    ingest.release(later);
    EXPECT_EQ(ingest.counters().missing, kPackets) << name;
    EXPECT_EQ(ingest.counters().accepted, later * kPackets) << name;
  }
}

TEST(UplinkIngest, AnArrivalInTheMiddleOfAFrameWaitsForTheNextOne) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    CheckingSink sink(kLayout);
    UplinkIngest ingest(kLayout, *link.baseband, sink, unpaced());
    for (std::uint32_t a = 0; a < 4; ++a) test::send_packet(*link.radio, kLayout, 70, 2, a);
    test::send_frame(*link.radio, kLayout, 71);
    test::poll_for(ingest, 4 + kPackets);
    EXPECT_EQ(ingest.counters()[Reject::Old], 4U) << name;
    EXPECT_EQ(sink.last_opened.load(), 71U) << name;
    EXPECT_EQ(sink.arrived.load(), kPackets) << name;
    ingest.release(71);
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(UplinkIngest, ARefusedFrameCostsOnlyItself) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    CheckingSink sink(kLayout);
    UplinkIngest ingest(kLayout, *link.baseband, sink, unpaced());
    for (std::uint32_t frame = 0; frame < 6; ++frame) {
      sink.accept.store(frame != 3);
      test::send_frame(*link.radio, kLayout, frame);
      test::poll_for(ingest, kPackets);
      ingest.release(frame);
    }
    const auto counters = ingest.counters();
    EXPECT_EQ(counters.refused, 1U) << name;                 // the packet that asked
    EXPECT_EQ(counters[Reject::Old], kPackets - 1) << name;  // the frame is over
    EXPECT_EQ(counters.accepted, 5 * kPackets) << name;
    EXPECT_EQ(counters.missing, 0U) << name;
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(UplinkIngest, FramesThatNobodyReleasesTurnLaterOnesAwayUntilTheyAre) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    CheckingSink sink(kLayout);
    auto options = unpaced();
    options.ring = 4;
    UplinkIngest ingest(kLayout, *link.baseband, sink, options);
    for (std::uint32_t frame = 0; frame < 5; ++frame) test::send_frame(*link.radio, kLayout, frame);
    test::poll_for(ingest, 5 * kPackets);
    EXPECT_EQ(ingest.counters().accepted, 4 * kPackets) << name;
    EXPECT_EQ(ingest.counters().refused, kPackets) << name;
    for (std::uint32_t frame = 0; frame < 4; ++frame) ingest.release(frame);
    test::send_frame(*link.radio, kLayout, 4);
    test::poll_for(ingest, kPackets);
    EXPECT_EQ(ingest.counters().accepted, 5 * kPackets) << name;
    EXPECT_EQ(sink.wrong.load(), 0U) << name;
    ingest.release(4);
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(UplinkIngest, SamplesAreOfTheFrameThatIsAskedFor) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    CheckingSink sink(kLayout);
    const auto options = unpaced();
    UplinkIngest ingest(kLayout, *link.baseband, sink, options);
    test::send_frame(*link.radio, kLayout, 0);
    EXPECT_EQ(test::poll_for(ingest, kPackets), kPackets) << name;
    EXPECT_NE(ingest.samples(0, 2, 0), nullptr) << name;
    EXPECT_EQ(ingest.samples(1, 2, 0), nullptr) << name;
    EXPECT_EQ(ingest.samples(options.ring, 2, 0), nullptr) << name;  // it waits for that place
    ingest.release(0);
    EXPECT_EQ(ingest.samples(0, 2, 0), nullptr) << name;
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(UplinkIngest, DrainThrowsAwayWhatCameBeforeWeWereReady) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    CheckingSink sink(kLayout);
    UplinkIngest ingest(kLayout, *link.baseband, sink, unpaced());
    for (std::uint32_t frame = 0; frame < 5; ++frame) test::send_frame(*link.radio, kLayout, frame);
    ingest.drain();
    EXPECT_EQ(ingest.poll(0), 0U) << name;
    EXPECT_EQ(ingest.counters().received, 0U) << name;
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

void expect_exact(const IngestCounters& counters, const emulator::FaultCounters& faults,
                  std::uint64_t clean, const std::string& name) {
  EXPECT_EQ(counters.accepted, clean + faults.packets - faults.lost) << name;
  EXPECT_EQ(counters.missing, faults.lost) << name;
  EXPECT_EQ(counters[Reject::Duplicate], faults.duplicated) << name;
  for (std::size_t i = 0; i < kRejects; ++i)
    if (static_cast<Reject>(i) != Reject::Duplicate) {
      EXPECT_EQ(counters.rejected[i], faults.forged[i]) << name << " kind " << i;
    }
  EXPECT_EQ(counters.refused, 0U) << name;
  EXPECT_EQ(counters.resynchronisations, 0U) << name;
}

constexpr emulator::Faults kFaults{0.01, 0.02, 0.05, 0.03, 6, 42};
constexpr std::uint32_t kFaultyFrames = 800;

TEST(UplinkIngest, CountsAreExactUnderLossDuplicatesReorderingAndGarbage) {
  for (auto& [name, link] : test::each_link(kLayout)) {
    CheckingSink sink(kLayout);
    UplinkIngest ingest(kLayout, *link.baseband, sink, unpaced());
    test::send_frame(*link.radio, kLayout, 0);
    test::poll_for(ingest, kPackets);
    emulator::FaultyTransport faulty(kLayout, *link.radio, kFaults);
    for (std::uint32_t frame = 1; frame <= kFaultyFrames; ++frame) {
      EXPECT_EQ(test::send_frame(faulty, kLayout, frame), kPackets) << name;
      while (ingest.poll(0) > 0) {
      }
      if (frame >= 3) ingest.release(frame - 3);  // what was held back belongs to frame - 1
    }
    EXPECT_TRUE(faulty.flush()) << name;
    while (ingest.poll(0) > 0) {
    }
    for (std::uint32_t frame = kFaultyFrames - 2; frame <= kFaultyFrames; ++frame)
      ingest.release(frame);
    EXPECT_GT(faulty.faults().lost, 50U);
    EXPECT_GT(faulty.faults().duplicated, 100U);
    EXPECT_GT(faulty.faults().reordered, 300U);
    for (std::size_t i = 1; i < static_cast<std::size_t>(Reject::Duplicate); ++i)
      EXPECT_GT(faulty.faults().forged[i], 20U);
    expect_exact(ingest.counters(), faulty.faults(), kPackets, name);
    EXPECT_EQ(sink.wrong.load(), 0U) << name;
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(UplinkIngest, CountsAreExactWithSeveralReceiversToo) {
  for (auto& [name, link] : test::each_link(kLayout, 2)) {
    CheckingSink sink(kLayout);
    UplinkIngest ingest(kLayout, *link.baseband, sink, unpaced());
    test::send_frame(*link.radio, kLayout, 0);
    test::poll_for(ingest, kPackets / 2, 0);
    test::poll_for(ingest, kPackets / 2, 1);

    emulator::FaultyTransport faulty(kLayout, *link.radio, kFaults);
    std::atomic<bool> stop{false};
    std::vector<std::thread> receivers;
    for (std::uint32_t r = 0; r < 2; ++r)
      receivers.emplace_back([&ingest, &stop, r] {
        while (!stop.load(std::memory_order_relaxed))
          if (ingest.poll(r) == 0) std::this_thread::yield();
      });
    const auto sent = [&] {
      const auto& f = faulty.faults();
      std::uint64_t sum = f.packets - f.lost + f.duplicated;
      for (const auto forged : f.forged) sum += forged;
      return sum;
    };
    const auto catch_up = [&](std::uint64_t margin) {
      for (const Tick begin = now();
           ingest.counters().received + margin < kPackets + sent() && now() - begin < kSecond;)
        std::this_thread::yield();
    };
    for (std::uint32_t frame = 1; frame <= kFaultyFrames; ++frame) {
      EXPECT_EQ(test::send_frame(faulty, kLayout, frame), kPackets) << name;
      catch_up(6);  // the receivers are at most about a frame behind, and one another
      if (frame >= 4) ingest.release(frame - 4);
    }
    EXPECT_TRUE(faulty.flush()) << name;
    catch_up(0);
    stop.store(true);
    for (auto& thread : receivers) thread.join();
    for (std::uint32_t frame = kFaultyFrames - 3; frame <= kFaultyFrames; ++frame)
      ingest.release(frame);
    expect_exact(ingest.counters(), faulty.faults(), kPackets, name);
    EXPECT_EQ(sink.wrong.load(), 0U) << name;
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

// A frame that is released under its receiver's hands gives its packets up to be filled anew.
struct IndifferentSink : SymbolSink {
  bool open(std::uint64_t frame, Tick) override { return newest.store(frame), true; }
  void arrive(std::uint64_t, std::uint32_t, std::uint32_t, const std::int16_t*, Tick) override {}
  std::atomic<std::uint64_t> newest{0};
};

TEST(UplinkIngest, ReleasingWhilePacketsStillComeLeaksNothing) {
  for (auto& [name, link] : test::each_link(kLayout, 2)) {
    IndifferentSink sink;
    UplinkIngest ingest(kLayout, *link.baseband, sink, unpaced());
    std::atomic<bool> stop{false};
    std::vector<std::thread> receivers;
    for (std::uint32_t r = 0; r < 2; ++r)
      receivers.emplace_back([&ingest, &stop, r] {
        while (!stop.load(std::memory_order_relaxed))
          if (ingest.poll(r) == 0) std::this_thread::yield();
      });
    for (std::uint32_t frame = 0; frame < 1000; ++frame) {
      test::send_frame(*link.radio, kLayout, frame);
      ingest.release(frame);  // it may not even have begun
    }
    stop.store(true);
    for (auto& thread : receivers) thread.join();
    // What came late may count as a restarted radio's, and the kernel may still be at the rest.
    const auto all_returned = [&] {
      while (ingest.poll(0) + ingest.poll(1) > 0) continue;
      for (std::uint64_t frame = 0; frame <= sink.newest; ++frame) ingest.release(frame);
      link.radio->send({});
      return test::all_returned(link);
    };
    for (const Tick begin = now(); !all_returned() && now() - begin < 20 * kSecond;)
      std::this_thread::yield();
    EXPECT_TRUE(all_returned()) << name;
  }
}

// Long frames, so that a busy machine's pauses are short beside them.
const Layout kSlow = test::small_layout(4, 5 * kMillisecond);

// Sends frames first…first+count-1 in real time, a symbol at a time, and polls.
void run_paced(UplinkIngest& ingest, Transport& radio, Tick start, std::uint32_t first,
               std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i)
    for (const auto symbol : kSlow.symbols(Carries::Uplink)) {
      const Tick due = start + i * kSlow.duration() + kSlow.symbols()[symbol].end;
      while (now() < due) {
        ingest.poll(0);
        std::this_thread::yield();
      }
      for (std::uint32_t a = 0; a < 4; ++a) test::send_packet(radio, kSlow, first + i, symbol, a);
    }
  while (ingest.poll(0) > 0) {
  }
}

// Releases a frame as soon as another one opens.
struct ReleasingSink : CheckingSink {
  using CheckingSink::CheckingSink;
  bool open(std::uint64_t frame, Tick air_start) override {
    if (ingest != nullptr && opened.load() > 0) ingest->release(last_opened.load());
    disorder += opened.load() > 0 && frame <= last_opened.load();
    return CheckingSink::open(frame, air_start);
  }
  UplinkIngest* ingest = nullptr;
  int disorder = 0;
};

TEST(UplinkIngest, LearnsTheRadiosFrameTimeFromItsPackets) {
  for (auto& [name, link] : test::each_link(kSlow)) {
    ReleasingSink sink(kSlow);
    UplinkIngest ingest(kSlow, *link.baseband, sink, {});
    sink.ingest = &ingest;
    const Tick start = now() + kMillisecond;
    run_paced(ingest, *link.radio, start, 1000, 25);
    // Never before the truth; how long after is up to the machine.
    const std::uint64_t last = sink.last_frame.load();
    const Tick truth = start + (ingest.wire_frame(last) - 1000) * kSlow.duration();
    EXPECT_GE(ingest.clock().air_start(last), truth) << name;
    EXPECT_LT(ingest.clock().air_start(last), truth + kSlow.duration()) << name;
    ingest.release(sink.last_opened.load());
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

// All at once: by the clock that the first packet sets, ten frames are early on any machine.
TEST(UplinkIngest, AFirstPacketThatWasHeldUpCostsNoLaterFrame) {
  const Layout layout = test::small_layout(4, 10 * kSecond);
  for (auto& [name, link] : test::each_link(layout, 1, {16, 4, 16, 8})) {
    CheckingSink sink(layout);
    UplinkIngest ingest(layout, *link.baseband, sink, {.ring = 16});
    for (std::uint32_t frame = 0; frame < 12; ++frame) {
      test::send_frame(*link.radio, layout, frame);
      test::poll_for(ingest, kPackets);
    }
    EXPECT_EQ(ingest.counters().accepted, 12 * kPackets) << name;
    // A forged packet of the frame after the next is early all the same.
    test::send_packet(*link.radio, layout, 13, 0, 0);
    test::poll_for(ingest, 1);
    EXPECT_EQ(ingest.counters()[Reject::Early], 1U) << name;
    for (std::uint32_t frame = 0; frame < 12; ++frame) ingest.release(frame);
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(UplinkIngest, FollowsARadioThatRestartsOrJumpsAndItsOwnNumbersOnlyGrow) {
  for (auto& [name, link] : test::each_link(kSlow)) {
    ReleasingSink sink(kSlow);
    UplinkIngest ingest(kSlow, *link.baseband, sink, {});
    sink.ingest = &ingest;
    sink.wire = [&](std::uint64_t frame) { return ingest.wire_frame(frame); };
    std::uint64_t jumps = 0;
    for (const std::uint32_t first : {5000U, 3U, 70'000U, 0U}) {
      // A busy machine may take longer to see it: it only believes what it sees come.
      std::uint32_t frame = first;
      const Tick start = now() + kMillisecond;
      const std::uint64_t arrived = sink.arrived.load();
      while (sink.arrived.load() < arrived + 10 * kPackets && frame < first + 400) {
        run_paced(ingest, *link.radio, start + (frame - first) * kSlow.duration(), frame, 10);
        frame += 10;
      }
      EXPECT_GE(ingest.wire_frame(sink.last_frame.load()), first) << name;
      EXPECT_LT(ingest.wire_frame(sink.last_frame.load()), frame) << name;
      EXPECT_GE(ingest.counters().resynchronisations, jumps) << name;
      ++jumps;
    }
    EXPECT_EQ(sink.disorder, 0) << name;
    EXPECT_EQ(sink.wrong.load(), 0U) << name;
    ingest.release(sink.last_opened.load());
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(UplinkIngest, ABacklogAfterAPauseOfOursIsNotTakenForARestart) {
  for (auto& [name, link] : test::each_link(kSlow, 1, {64, 4, 16, 8})) {
    ReleasingSink sink(kSlow);
    UplinkIngest ingest(kSlow, *link.baseband, sink, {});
    sink.ingest = &ingest;
    const Tick start = now() + kMillisecond;
    run_paced(ingest, *link.radio, start, 0, 20);
    for (std::uint32_t frame = 20; frame < 50; ++frame) test::send_frame(*link.radio, kSlow, frame);
    while (now() < start + 50 * kSlow.duration()) std::this_thread::yield();
    while (ingest.poll(0) > 0) {
    }
    std::uint32_t frame = 50;
    for (; sink.last_frame.load() < 50 && frame < 400; frame += 10)
      run_paced(ingest, *link.radio, start + frame * kSlow.duration(), frame, 10);
    EXPECT_EQ(ingest.counters().resynchronisations, 0U) << name;
    EXPECT_GT(ingest.counters()[Reject::Old], 10U * kPackets) << name;
    EXPECT_GE(sink.last_frame.load(), 50U) << name;
    EXPECT_LT(sink.last_frame.load(), frame) << name;
    EXPECT_EQ(sink.wrong.load(), 0U) << name;
    ingest.release(sink.last_opened.load());
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

}  // namespace
}  // namespace carillon::fronthaul
