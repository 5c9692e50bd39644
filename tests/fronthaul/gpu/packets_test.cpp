// Datagrams through a network card, which here is a library that stands in for libibverbs: samples
// have arrived when they are handed on, nothing that lies elsewhere is believed, and whatever goes
// wrong leaves a receiver behind that the system feeds.
#include "fronthaul/gpu/packets.hpp"

#include <array>
#include <string>
#include <thread>

#include "base/random.hpp"
#include "support/card_link.hpp"
#include "support/test.hpp"

namespace carillon::fronthaul::gpu {
namespace {

using test::Bytes;
using test::FakeCard;

const Layout kLayout = test::small_layout();

FakeCard& fresh() { return test::fake_verbs().fresh(); }

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<Received> poll(Transport& end, int times, std::uint32_t receiver = 0) {
  std::vector<Received> all;
  std::array<Received, 16> batch;
  for (int i = 0; i < times; ++i) {
    const std::size_t count = end.receive(receiver, batch);
    all.insert(all.end(), batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return all;
}

void recycle(Transport& end, const std::vector<Received>& packets) {
  for (const auto& packet : packets) end.recycle({&packet.buffer, 1});
}

bool whole(const Received& packet) {
  const auto& [frame, symbol, cell, antenna] = packet.ids;
  return packet.bytes == kLayout.packet_bytes(symbol) &&
         test::has_stamps(packet.samples, kLayout.symbols()[symbol].samples, frame, symbol,
                          antenna);
}

// What kHere's cell would send.
Bytes datagram(std::uint32_t frame, std::uint32_t symbol, std::uint32_t antenna) {
  Bytes bytes(kLayout.packet_bytes(symbol));
  write_ids({frame, symbol, kLayout.cell(), antenna}, bytes.data());
  test::write_stamps(reinterpret_cast<std::int16_t*>(bytes.data() + kHeaderBytes),
                     kLayout.symbols()[symbol].samples, frame, symbol, antenna);
  return bytes;
}

// A receiver of its own, with the destination that frames have to have.
struct Receiver {
  explicit Receiver(LinkDepth depth = {}) : link(test::udp_link(kLayout, 1, depth)) {
    const auto plan =
        test::packet_plan(kLayout, dynamic_cast<UdpTransport&>(*link.baseband).ports(), depth);
    to = plan.destinations.front();
    card = CardTransport::open(
        link.baseband, plan, test::sample_room(std::size_t{plan.places} * plan.sample_bytes), why);
  }
  bool come(const Bytes& frame) const { return test::fake_verbs().come(frame); }

  Link link;
  Destination to;
  std::string why;
  std::unique_ptr<CardTransport> card;
};

TEST(CardTransport, SamplesHaveArrivedWhenTheyAreHandedOn) {
  for (const int late : {0, 1, 7}) {
    FakeCard& card = fresh();
    card.empty_polls = late;
    auto link = test::card_link(kLayout);
    const ReceivedMemory memory = link.baseband->received_memory();
    std::size_t came = 0;
    for (std::uint32_t frame = 0; frame < 200; ++frame) {
      EXPECT_EQ(test::send_frame(*link.radio, kLayout, frame), 12U);
      const auto packets = poll(*link.baseband, 5);
      for (const auto& packet : packets) {
        EXPECT_TRUE(whole(packet));
        EXPECT_FALSE(memory.within_reach(packet.samples));
      }
      came += packets.size();
      recycle(*link.baseband, packets);
    }
    const auto rest = poll(*link.baseband, 3000);
    for (const auto& packet : rest) EXPECT_TRUE(whole(packet));
    recycle(*link.baseband, rest);
    EXPECT_EQ(came + rest.size() + card.dropped, 2400U) << late;
    EXPECT_TRUE(test::all_returned(link));
  }
  EXPECT_EQ(test::fake_verbs().card().alive, 0);
}

// Of many batches, too, none of which has arrived when it is first looked.
TEST(CardTransport, WhatHasComeBeforeABeginningCanBeThrownAway) {
  FakeCard& card = fresh();
  auto link = test::card_link(kLayout);
  card.reads_nothing = true;
  for (std::uint32_t frame = 0; frame < 8; ++frame) test::send_frame(*link.radio, kLayout, frame);
  EXPECT_EQ(poll(*link.baseband, 1).size(), 0U);
  EXPECT_TRUE(link.baseband->pending(0));
  card.reads_nothing = false;
  test::CheckingSink sink(kLayout);
  UplinkIngest ingest(kLayout, *link.baseband, sink, {.paced = false});
  ingest.drain();
  EXPECT_FALSE(link.baseband->pending(0));
  EXPECT_EQ(poll(*link.baseband, 100).size(), 0U);
  EXPECT_TRUE(test::all_returned(link));
}

// The card has told of them, but what it wrote may still be on its way.
TEST(CardTransport, HandsOnNothingBeforeItsFlushIsOver) {
  FakeCard& card = fresh();
  auto link = test::card_link(kLayout);
  card.reads_nothing = true;
  test::send_frame(*link.radio, kLayout, 0);
  EXPECT_EQ(poll(*link.baseband, 50).size(), 0U);
  EXPECT_EQ(card.posts, 1U) << "one flush for all that came together";
  test::send_frame(*link.radio, kLayout, 1);
  EXPECT_EQ(poll(*link.baseband, 50).size(), 0U);
  card.reads_nothing = false;
  for (std::uint32_t frame = 0; frame < 2; ++frame) {
    const auto packets = poll(*link.baseband, 1);  // one flush ends each time
    EXPECT_EQ(packets.size(), 12U);
    for (const auto& packet : packets) {
      EXPECT_EQ(packet.ids.frame, frame);
      EXPECT_TRUE(whole(packet));
    }
    recycle(*link.baseband, packets);
  }
  EXPECT_TRUE(test::all_returned(link));
}

// What a radio unit says of the air has no samples that could be written elsewhere.
TEST(CardTransport, HandsOnAHeaderAlone) {
  fresh();
  Receiver receiver;
  ASSERT_EQ(receiver.why, "");
  Bytes report(kHeaderBytes);
  write_ids({7, kReportSymbol, kLayout.cell(), 5}, report.data());
  EXPECT_TRUE(receiver.come(test::frame_of(report, receiver.to)));
  EXPECT_TRUE(receiver.come(test::frame_of(datagram(1, 1, 2), receiver.to)));
  const auto packets = poll(*receiver.card, 5);
  ASSERT_EQ(packets.size(), 2U);
  EXPECT_EQ(packets[0].bytes, kHeaderBytes);
  EXPECT_TRUE(packets[0].ids == (PacketIds{7, kReportSymbol, kLayout.cell(), 5}));
  EXPECT_TRUE(whole(packets[1]));
}

TEST(CardTransport, DatagramsWithSamplesElsewhereHaveNoLength) {
  FakeCard& card = fresh();
  Receiver receiver;
  ASSERT_EQ(receiver.why, "");
  const Bytes good = datagram(1, 1, 2);
  const Bytes tag{std::byte{0x81}, std::byte{0}, std::byte{0}, std::byte{5}};
  const auto frame = [&](const test::Manner& manner) {
    return test::frame_of(good, receiver.to, manner);
  };
  Bytes cut = frame({});
  cut.resize(cut.size() - 1);
  Bytes sum = frame({});
  sum[kEthernetBytes + 8] ^= std::byte{1};
  const Bytes longer = test::frame_of(Bytes(9000), receiver.to);
  for (const Bytes& each : {frame({.tag = tag}), frame({.options = Bytes(8)}),
                            frame({.fragment = 0x2000}), cut, sum, longer, frame({})})
    EXPECT_TRUE(receiver.come(each));
  const auto packets = poll(*receiver.card, 5);
  ASSERT_EQ(packets.size(), 7U);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(packets[i].bytes, 0U) << i;
  EXPECT_TRUE(whole(packets[6]));
  const CardCounts counts = receiver.card->counts();
  EXPECT_EQ(counts.received, 7U);
  EXPECT_EQ(counts[Misfit::NotIpv4], 1U);
  EXPECT_EQ(counts[Misfit::Options], 1U);
  EXPECT_EQ(counts[Misfit::Fragment], 1U);
  EXPECT_EQ(counts[Misfit::Length], 2U);
  EXPECT_EQ(counts[Misfit::Checksum], 1U);
  EXPECT_EQ(card.wild, 0U);
  const auto findings = receiver.card->findings();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_TRUE(says(findings[0], "of 7 datagrams from fake_0, 6 had other headers")) << findings[0];
}

TEST(CardTransport, BelievesNoSamplesThatTheCardFoundDamaged) {
  for (const bool looks : {true, false})
    for (const bool summed : {true, false}) {
      FakeCard& card = fresh();
      card.checksums = looks;
      Receiver receiver;
      Bytes frame = test::frame_of(datagram(1, 1, 2), receiver.to, {.summed = summed});
      frame[kBeforeSamples + 100] ^= std::byte{4};
      receiver.come(frame);
      const auto packets = poll(*receiver.card, 5);
      ASSERT_EQ(packets.size(), 1U);
      EXPECT_EQ(packets[0].bytes == 0, looks && summed);
      EXPECT_EQ(receiver.card->counts().damaged, looks && summed ? 1U : 0U);
      bool told = false;
      for (const auto& note : receiver.card->notes()) told |= says(note, "verifies no checksums");
      EXPECT_EQ(told, !looks);
    }
}

TEST(CardTransport, WhatNoRuleIsForComesByTheSocket) {
  fresh();
  auto link = test::card_link(kLayout);
  test::send_frame(*link.radio, kLayout, 0);
  auto packets = poll(*link.baseband, 5);
  EXPECT_EQ(packets.size(), 12U);
  recycle(*link.baseband, packets);

  // Past the card, as from a program on this machine.
  Receiver receiver;
  test::send_frame(*receiver.link.radio, kLayout, 3);
  packets = poll(*receiver.card, 500);
  ASSERT_EQ(packets.size(), 12U);
  for (const auto& packet : packets) {
    EXPECT_TRUE(whole(packet));
    EXPECT_TRUE(receiver.card->received_memory().within_reach(packet.samples));
  }
  recycle(*receiver.card, packets);
  EXPECT_EQ(receiver.card->counts().received, 0U);
}

TEST(CardTransport, WhatIsNotThePeersIsLeftToTheSocketWhichHearsItNot) {
  fresh();
  Receiver receiver;
  for (const auto change : {+[](Destination& from) { from.peer_address ^= 1; },
                            +[](Destination& from) { from.peer_port ^= 1; }}) {
    Destination from = receiver.to;
    change(from);
    EXPECT_FALSE(receiver.come(test::frame_of(datagram(1, 1, 2), from)));
  }
  auto other = test::udp_link(kLayout);
  auto& stranger = dynamic_cast<UdpTransport&>(*other.radio);
  stranger.set_peer_ports({receiver.to.port});
  test::send_frame(stranger, kLayout, 3);
  EXPECT_EQ(poll(*receiver.card, 500).size(), 0U);
  EXPECT_EQ(receiver.card->foreign(), 12U);
}

TEST(CardTransport, ACardWithoutAPlaceDropsAndGoesOn) {
  FakeCard& card = fresh();
  auto link = test::card_link(kLayout, 1, {1, 1, 1, 1});
  std::vector<Received> held;
  for (std::uint32_t frame = 0; frame < 60; ++frame) {
    test::send_frame(*link.radio, kLayout, frame);
    for (const auto& packet : poll(*link.baseband, 3)) held.push_back(packet);
  }
  EXPECT_EQ(held.size() + card.dropped, 720U);
  EXPECT_GT(card.dropped, 100U);
  auto& receiver = dynamic_cast<CardTransport&>(*link.baseband);
  EXPECT_EQ(receiver.counts().dry, 1U);
  for (const auto& packet : held) EXPECT_TRUE(whole(packet)) << "written over";
  recycle(*link.baseband, held);
  (void)poll(*link.baseband, 20);
  test::send_frame(*link.radio, kLayout, 100);
  const auto packets = poll(*link.baseband, 5);
  EXPECT_EQ(packets.size(), 12U);
  recycle(*link.baseband, packets);
  EXPECT_TRUE(test::all_returned(link));
}

// Each thing that a card can lack or refuse at first, the words by which it is told, and a socket
// that is as it was.
TEST(CardTransport, WhatACardCannotIsToldBeforeItBegins) {
  struct {
    const char* part;
    void (*change)(FakeCard&);
  } const cases[] = {
      {"no RDMA device is called fake_0", [](auto& card) { card.present = false; }},
      {"opening fake_0: Permission denied", [](auto& card) { card.opens = false; }},
      {"no port of fake_0 is active", [](auto& card) { card.active_ports = 0; }},
      {"is not one of Ethernet", [](auto& card) { card.ethernet = false; }},
      {"does not divide what it receives", [](auto& card) { card.pieces = 1; }},
      {"a queue pair on fake_0: Operation not permitted; root may",
       [](auto& card) { card.raw = false; }},
      {"has no GID", [](auto& card) { card.has_gid = false; }},
      {"registering host memory with fake_0", [](auto& card) { card.refuse_registration = 0; }},
      {"registering the memory where samples go with fake_0: Bad address",
       [](auto& card) {
         card.refuse_registration = 1;
         card.registration_error = 14;
       }},
      {"cannot be set up for packets", [](auto& card) { card.refuse_state = 1; }},
      {"cannot receive packets", [](auto& card) { card.refuse_state = 2; }},
      {"the driver of fake_0 knows no rules", [](auto& card) { card.rules = false; }},
      {"a rule of fake_0 for UDP port", [](auto& card) { card.refuse_rule = true; }},
  };
  for (const auto& [part, change] : cases) {
    FakeCard& card = fresh();
    change(card);
    Receiver receiver;
    EXPECT_EQ(receiver.card, nullptr) << part;
    EXPECT_TRUE(says(receiver.why, part)) << "'" << receiver.why << "' is not: " << part;
    EXPECT_EQ(card.alive, 0) << part;
    ASSERT_NE(receiver.link.baseband, nullptr);
    test::send_frame(*receiver.link.radio, kLayout, 0);
    EXPECT_EQ(poll(*receiver.link.baseband, 500).size(), 12U);
  }
}

// In the middle of a run: what the card had is lost, the next packets come by the socket.
TEST(CardTransport, WhenTheCardFailsTheSystemReceives) {
  struct {
    const char* part;
    void (*change)(FakeCard&);
  } const cases[] = {
      {"ended a packet with 'remote access error'",
       [](auto& card) { card.fail_receive_at = card.taken + 5; }},
      {"ended block 1 with 'transport retry counter exceeded'",
       [](auto& card) { card.port_down_at = 0; }},
      {"takes no request for block 1", [](auto& card) { card.refuse_post = card.posts; }},
      {"does not read what it has written", [](auto& card) { card.reads_nothing = true; }},
  };
  for (const auto& [part, change] : cases) {
    FakeCard& card = fresh();
    auto link = test::card_link(kLayout);
    test::send_frame(*link.radio, kLayout, 0);
    auto packets = poll(*link.baseband, 3);
    EXPECT_EQ(packets.size(), 12U);
    test::fake_verbs().change(change);
    test::send_frame(*link.radio, kLayout, 1);
    for (const Tick begin = now();
         link.baseband->findings().empty() && now() - begin < 5 * kSecond;)
      EXPECT_EQ(poll(*link.baseband, 10).size(), 0U) << part;
    const std::uint64_t taken = card.taken;
    poll(*link.baseband, 1);
    test::send_frame(*link.radio, kLayout, 2);
    const auto later = poll(*link.baseband, 500);
    EXPECT_EQ(later.size(), 12U) << part;
    for (const auto& packet : later) {
      EXPECT_EQ(packet.ids.frame, 2U);
      EXPECT_TRUE(whole(packet));
      EXPECT_TRUE(link.baseband->received_memory().within_reach(packet.samples));
    }
    for (const auto& packet : packets) EXPECT_TRUE(whole(packet)) << "its places are still held";
    EXPECT_EQ(card.taken, taken) << "a rule was left";
    EXPECT_EQ(card.wild, 0U);
    ASSERT_EQ(link.baseband->findings().size(), 1U);
    EXPECT_TRUE(says(link.baseband->findings()[0], part)) << link.baseband->findings()[0];
    recycle(*link.baseband, packets);
    recycle(*link.baseband, later);
    EXPECT_TRUE(test::all_returned(link)) << part;
    link = {};
    EXPECT_EQ(card.alive, 0) << part;
  }
}

TEST(CardTransport, LeavesADeviceThatFailedForGood) {
  FakeCard& card = fresh();
  auto link = test::card_link(kLayout, 2);
  test::send_frame(*link.radio, kLayout, 0);
  (void)poll(*link.baseband, 1);  // a flush is under way
  link.baseband->receive_in_host();
  for (std::uint32_t r = 0; r < 2; ++r) EXPECT_EQ(poll(*link.baseband, 3, r).size(), 0U);
  test::send_frame(*link.radio, kLayout, 1);
  std::size_t count = 0;
  for (std::uint32_t r = 0; r < 2; ++r) {
    const auto packets = poll(*link.baseband, 500, r);
    for (const auto& packet : packets)
      EXPECT_TRUE(link.baseband->received_memory().within_reach(packet.samples));
    recycle(*link.baseband, packets);
    count += packets.size();
  }
  EXPECT_EQ(count, 12U);
  EXPECT_TRUE(link.baseband->findings().empty()) << "others know why";
  EXPECT_TRUE(test::all_returned(link));
  link = {};
  EXPECT_EQ(card.alive, 0);
}

// Headers of any kind: what is believed has its samples.
TEST(CardTransport, OfForgedFramesOnlyThoseWithTheirSamplesAreBelieved) {
  FakeCard& card = fresh();
  Receiver receiver;
  Random random(5);
  std::size_t believed = 0, refused = 0;
  for (std::uint32_t round = 0; round < 20'000; ++round) {
    const Bytes sent = datagram(round, 1 + round % 2, round % 4);
    Bytes frame = test::frame_of(sent, receiver.to, {.summed = random.next() % 2 == 0});
    for (std::uint64_t i = 0, count = random.next() % 4; i < count; ++i)
      frame[random.next() % kNetworkBytes] ^= static_cast<std::byte>(1 << random.next() % 8);
    if (random.next() % 8 == 0) frame.resize(random.next() % 1500);
    receiver.come(frame);
    const auto packets = poll(*receiver.card, 3);
    for (const auto& packet : packets) {
      (packet.bytes == 0 ? refused : believed) += 1;
      if (packet.bytes == 0) continue;
      EXPECT_EQ(packet.bytes, sent.size());
      EXPECT_TRUE(whole(packet));
      EXPECT_EQ(packet.ids.frame, round);
    }
    recycle(*receiver.card, packets);
  }
  EXPECT_GT(believed, 2000U);
  EXPECT_GT(refused, 1000U);
  EXPECT_EQ(card.dropped, 0U);
  EXPECT_EQ(card.wild, 0U);
  EXPECT_EQ(receiver.card->available(), receiver.card->buffers());
}

// Two threads receive what the radio sends meanwhile; each symbol is as it was sent.
TEST(CardTransport, AnIngestReceivesFromItAsFromAnyTransport) {
  FakeCard& card = fresh();
  card.empty_polls = 1;
  const Layout layout = test::small_layout(4, 5 * kMillisecond);
  constexpr std::uint32_t kFrames = 100;
  {
    auto link = test::card_link(layout, 2);
    test::CheckingSink sink(layout);
    UplinkIngest ingest(layout, *link.baseband, sink, {.paced = false});
    std::atomic<bool> over{false};
    std::vector<std::thread> threads;
    for (std::uint32_t r = 0; r < 2; ++r)
      threads.emplace_back([&, r] {
        while (!over) ingest.poll(r);
      });
    for (std::uint32_t frame = 0; frame < kFrames; ++frame) {
      test::send_frame(*link.radio, layout, frame);
      for (const Tick begin = now();
           ingest.counters().accepted < 12 * (frame + 1) && now() - begin < kSecond;)
        std::this_thread::yield();
      ingest.release(frame);
    }
    over = true;
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(ingest.counters().accepted, 12U * kFrames);
    EXPECT_EQ(sink.wrong.load(), 0U);
    EXPECT_TRUE(test::all_returned(link));
  }
  EXPECT_EQ(card.alive, 0);
  EXPECT_EQ(card.wild, 0U);
}

}  // namespace
}  // namespace carillon::fronthaul::gpu
