// Packets with a code that needs a key: the code itself, the file of the key, and what becomes of
// packets that were made without it.
#include "fronthaul/authenticated.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "fronthaul/downlink.hpp"
#include "fronthaul/key_file.hpp"
#include "fronthaul/udp.hpp"
#include "support/fronthaul.hpp"

namespace carillon::fronthaul {
namespace {

const Layout kLayout = test::small_layout();
constexpr std::uint32_t kPackets = 12;  // of a frame's uplink

Key counting_key() {
  Key key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i);
  return key;
}

std::string told(const std::function<void()>& act) {
  try {
    act();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

UdpOptions udp_options(const std::vector<std::uint16_t>& peer_ports = {}) {
  UdpOptions options;
  options.buffers = 256;
  options.buffer_bytes = kLayout.buffer_bytes(kCodeBytes);
  options.packet_bytes = kLayout.most_packet_bytes() + kCodeBytes;
  options.peer_ports = peer_ports;
  return options;
}

// Both ends over UDP. What is sent by `forger` comes in the radio unit's name, without its key.
struct Pair {
  explicit Pair(const Key& at_baseband = counting_key(), const Key& at_radio = counting_key(),
                Side second = Side::Radio) {
    auto first_udp = UdpTransport::open(udp_options());
    auto second_udp = UdpTransport::open(udp_options(first_udp->ports()));
    first_udp->set_peer_ports(second_udp->ports());
    forger = second_udp.get();
    link = {
        std::make_unique<AuthenticatedTransport>(std::move(first_udp), SipHash(at_baseband),
                                                 Side::Baseband),
        std::make_unique<AuthenticatedTransport>(std::move(second_udp), SipHash(at_radio), second)};
  }
  Link link;
  UdpTransport* forger = nullptr;
};

// Takes what has come until nothing does for a while.
std::vector<Received> receive_all(Transport& from, std::size_t expected) {
  std::vector<Received> all;
  const Tick patience = expected > 0 ? kSecond : 20 * kMillisecond;
  for (Tick quiet = now(); now() - quiet < patience && (expected == 0 || all.size() < expected);) {
    std::array<Received, 16> batch;
    const std::size_t count = from.receive(0, batch);
    all.insert(all.end(), batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(count));
    if (count > 0) quiet = now();
  }
  return all;
}

void recycle(Transport& to, const std::vector<Received>& packets) {
  for (const Received& packet : packets) to.recycle({&packet.buffer, 1});
}

// Until so many were refused, or long enough.
void wait_for_unauthentic(Transport& end, std::uint64_t count) {
  for (const Tick begun = now(); end.unauthentic() < count && now() - begun < kSecond;)
    recycle(end, receive_all(end, 0));
}

bool has_libsodium() {
  return told([] { SipHash{counting_key()}; }) == "nothing was thrown";
}
#define NEEDS_LIBSODIUM() \
  if (!has_libsodium()) GTEST_SKIP() << "no libsodium; apt install libsodium23"

}  // namespace

// Of the designers' reference: the key is 0, 1, …, 15, messages are 0, 1, 2, …
TEST(SipHash, IsThatOfItsDesigners) {
  NEEDS_LIBSODIUM();
  const SipHash hash(counting_key());
  std::array<std::byte, 64> message;
  for (std::size_t i = 0; i < message.size(); ++i) message[i] = static_cast<std::byte>(i);
  const auto of = [&](std::size_t length) { return hash({message.data(), length}); };
  EXPECT_EQ(of(15), 0xa129ca6149be45e5U);  // the paper's own, appendix A
  EXPECT_EQ(of(0), 0x726fdb47dd0e0e31U);
  EXPECT_EQ(of(1), 0x74f839c593dc67fdU);
  EXPECT_EQ(of(8), 0x93f5f5799a932462U);
  EXPECT_EQ(of(63), 0x958a324ceb064572U);
}

TEST(SipHash, SaysWhatToInstallWhereThereIsNone) {
  const std::string why = told([] { SipHash(counting_key(), "libnowhere.so.1"); });
  EXPECT_TRUE(says(why, "libnowhere.so.1")) << why;
  EXPECT_TRUE(says(why, "apt install libsodium23")) << why;
}

TEST(KeyFile, HoldsSixteenBytesThatItsOwnerAloneMayRead) {
  char name[] = "/tmp/carillon-key-XXXXXX";
  close(mkstemp(name));
  const auto reads = [&](const std::string& text, mode_t mode = 0600) {
    chmod(name, 0600);
    std::ofstream(name) << text;
    chmod(name, mode);
    return told([&] { EXPECT_TRUE(read_key(name) == counting_key()); });
  };
  const std::string good = "000102030405060708090a0b0c0d0e0f", fine = "nothing was thrown";
  EXPECT_EQ(reads(good), fine);
  EXPECT_EQ(reads(good + "\n"), fine);
  EXPECT_EQ(reads("000102030405060708090A0B0C0D0E0F\r\n"), fine);
  EXPECT_EQ(reads(good, 0400), fine);
  for (const std::string& bad :
       {std::string(), good.substr(1), good + "0", good + "\n" + good, "-1" + good.substr(2),
        "0x" + good.substr(2), " " + good, good + "\n\n\n00"})
    EXPECT_TRUE(says(reads(bad), "32 hexadecimal digits")) << bad;
  for (const mode_t open : {0640U, 0604U, 0620U})
    EXPECT_TRUE(says(reads(good, open), std::string("chmod 600 ") + name)) << open;
  unlink(name);
  EXPECT_TRUE(says(told([&] { read_key(name); }), "make one: (umask 077; python3 -c"));
  EXPECT_TRUE(says(told([&] { read_key("/tmp"); }), "must be a regular file"));
  ASSERT_EQ(mkfifo(name, 0600), 0);  // nobody will ever write to it
  EXPECT_TRUE(says(told([&] { read_key(name); }), "must be a regular file"));
  unlink(name);
}

TEST(Authenticated, LosesNothingBetweenEndsWithTheSameKey) {
  NEEDS_LIBSODIUM();
  Pair pair;
  test::CheckingSink sink(kLayout);
  UplinkIngest ingest(kLayout, *pair.link.baseband, sink, {.ring = 8, .paced = false});
  for (std::uint32_t frame = 0; frame < 4; ++frame) {
    ASSERT_EQ(test::send_frame(*pair.link.radio, kLayout, frame), kPackets);
    EXPECT_EQ(test::poll_for(ingest, kPackets), kPackets);
    ingest.release(frame);
  }
  EXPECT_EQ(ingest.counters().accepted, 4 * kPackets);
  EXPECT_EQ(sink.wrong.load(), 0U);

  {
    DownlinkSender sender(kLayout, *pair.link.baseband, 1);
    for (std::uint32_t a = 0; a < 4; ++a) test::write_stamps(sender.samples(0, 4, a), 144, 3, 4, a);
    EXPECT_EQ(sender.send(3, 0, 4), 4U);
    const auto packets = receive_all(*pair.link.radio, 4);
    ASSERT_EQ(packets.size(), 4U);
    for (const Received& packet : packets) {
      EXPECT_TRUE(check(packet.ids, packet.bytes, kLayout, Carries::Downlink) == Reject::None);
      EXPECT_TRUE(test::has_stamps(packet.samples, 144, 3, 4, packet.ids.antenna));
    }
    recycle(*pair.link.radio, packets);
  }
  EXPECT_EQ(pair.link.baseband->unauthentic() + pair.link.radio->unauthentic(), 0U);
  EXPECT_TRUE(pair.link.baseband->findings().empty());
  EXPECT_TRUE(test::all_returned(pair.link));
}

// The radio unit sends the same samples again in later frames.
TEST(Authenticated, SignsABufferThatStaysAnewForEachFrame) {
  NEEDS_LIBSODIUM();
  Pair pair;
  Transport& radio = *pair.link.radio;
  const std::uint32_t buffer = radio.acquire();
  test::write_stamps(radio.samples(buffer), 144, 0, 1, 2);
  for (std::uint32_t frame = 0; frame < 3; ++frame) {
    Outgoing packet{{frame, 1, kLayout.cell(), 2}, kLayout.packet_bytes(1), buffer, 0, true};
    ASSERT_EQ(radio.send({&packet, 1}), 1U);
    EXPECT_EQ(packet.bytes, kLayout.packet_bytes(1));
    const auto packets = receive_all(*pair.link.baseband, 1);
    ASSERT_EQ(packets.size(), 1U);
    EXPECT_EQ(packets[0].ids.frame, frame);
    EXPECT_EQ(packets[0].bytes, kLayout.packet_bytes(1));
    recycle(*pair.link.baseband, packets);
  }
  radio.abandon({&buffer, 1});
}

TEST(Authenticated, HearsNothingThatWasMadeWithAnotherKey) {
  NEEDS_LIBSODIUM();
  Key other = counting_key();
  other[15] ^= std::byte{1};
  Pair pair(counting_key(), other);
  test::CheckingSink sink(kLayout);
  UplinkIngest ingest(kLayout, *pair.link.baseband, sink, {.ring = 8, .paced = false});
  for (std::uint32_t frame = 0; frame < 3; ++frame)
    test::send_frame(*pair.link.radio, kLayout, frame);
  for (const Tick begin = now();
       pair.link.baseband->unauthentic() < 3 * kPackets && now() - begin < 20 * kSecond;)
    EXPECT_EQ(ingest.poll(0), 0U);
  EXPECT_EQ(pair.link.baseband->unauthentic(), 3 * kPackets);
  EXPECT_EQ(ingest.counters().received, 0U);
  EXPECT_EQ(sink.opened.load(), 0U);
  EXPECT_FALSE(ingest.clock().locked());
  const auto findings = pair.link.baseband->findings();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_TRUE(says(findings[0], "fronthaul.key_file: 36")) << findings[0];
  EXPECT_TRUE(test::all_returned(pair.link));
}

// Each end also knows the code of what it sends itself.
TEST(Authenticated, DoesNotHearItsOwnSidesPackets) {
  NEEDS_LIBSODIUM();
  Pair pair(counting_key(), counting_key(), Side::Baseband);
  test::send_frame(*pair.link.radio, kLayout, 0);
  wait_for_unauthentic(*pair.link.baseband, kPackets);
  EXPECT_EQ(pair.link.baseband->unauthentic(), kPackets);
}

TEST(Authenticated, RefusesAPacketWithAnyBitTurnedOver) {
  NEEDS_LIBSODIUM();
  Pair pair;
  Transport& forger = *pair.forger;
  const std::uint32_t genuine = kLayout.packet_bytes(1), signed_bytes = genuine + kCodeBytes;
  // What a genuine packet is like on the wire.
  test::send_packet(*pair.link.radio, kLayout, 5, 1, 2);
  const auto heard = receive_all(*pair.link.baseband, 1);
  ASSERT_EQ(heard.size(), 1U);
  const SipHash hash(counting_key());
  std::vector<std::byte> wire(signed_bytes);
  std::memcpy(wire.data(), pair.link.baseband->memory(heard[0].buffer), genuine);
  const std::uint64_t from_radio = 1;
  std::memcpy(&wire[genuine], &from_radio, 8);
  const std::uint64_t code = hash(wire);
  std::memcpy(&wire[genuine], &code, 8);
  recycle(*pair.link.baseband, heard);

  const auto send = [&](std::span<const std::byte> bytes) {
    const std::uint32_t buffer = forger.acquire();
    std::memcpy(forger.memory(buffer), bytes.data(), bytes.size());
    Outgoing packet{read_ids(wire), static_cast<std::uint32_t>(bytes.size()), buffer};
    if (bytes.size() >= kHeaderBytes) packet.ids = read_ids(bytes);
    forger.send({&packet, 1});
    forger.abandon({&packet.buffer, 1});
  };
  send(wire);  // replayed as it was, it is believed: the frame clock knows it for old
  const auto replayed = receive_all(*pair.link.baseband, 1);
  EXPECT_EQ(replayed.size(), 1U);
  recycle(*pair.link.baseband, replayed);

  std::uint64_t sent = 0;
  for (std::uint32_t bit = 0; bit < 8 * signed_bytes; bit += 61) {
    auto damaged = wire;
    damaged[bit / 8] ^= std::byte{1} << bit % 8;
    send(damaged);
    ++sent;
    if (sent % 64 == 0) wait_for_unauthentic(*pair.link.baseband, sent);
  }
  for (std::uint32_t bytes : {0U, 16U, 63U, 64U, 71U, 72U, genuine, signed_bytes - 1}) {
    send({wire.data(), bytes});
    ++sent;
  }
  auto longer = wire;
  longer.push_back({});
  send(longer);
  ++sent;
  wait_for_unauthentic(*pair.link.baseband, sent);
  EXPECT_EQ(pair.link.baseband->unauthentic(), sent);
  EXPECT_TRUE(receive_all(*pair.link.baseband, 0).empty());
  EXPECT_TRUE(test::all_returned(pair.link));
}

// For each packet somebody sends one with the same header and other samples in the radio unit's
// name before it, and one of a far frame.
TEST(Authenticated, IsNotMovedByAFloodInTheOtherSidesName) {
  NEEDS_LIBSODIUM();
  Pair pair;
  test::CheckingSink sink(kLayout);
  UplinkIngest ingest(kLayout, *pair.link.baseband, sink, {.ring = 8, .paced = false});
  constexpr std::uint32_t kFrames = 20;
  std::uint64_t forged = 0;
  for (std::uint32_t frame = 0; frame < kFrames; ++frame) {
    forged += test::send_frame(*pair.forger, kLayout, frame);
    forged += test::send_frame(*pair.forger, kLayout, frame + 1000);
    test::send_frame(*pair.link.radio, kLayout, frame);
    EXPECT_EQ(test::poll_for(ingest, kPackets), kPackets);
    ingest.release(frame);
  }
  const IngestCounters in = ingest.counters();
  EXPECT_EQ(forged, 2 * kFrames * kPackets);
  EXPECT_EQ(pair.link.baseband->unauthentic(), forged);
  EXPECT_EQ(in.received, kFrames * kPackets);
  EXPECT_EQ(in.accepted, kFrames * kPackets);
  EXPECT_EQ(std::accumulate(in.rejected.begin(), in.rejected.end(), std::uint64_t{0}), 0U);
  EXPECT_EQ(in.resynchronisations + in.missing + in.refused, 0U);
  EXPECT_EQ(ingest.newest(), kFrames - 1);
  EXPECT_EQ(sink.wrong.load(), 0U);
}

TEST(Authenticated, LinksTakeTheKeyFromAFileAndLeaveSharedMemoryAlone) {
  NEEDS_LIBSODIUM();
  char name[] = "/tmp/carillon-key-XXXXXX";
  close(mkstemp(name));
  LinkOptions options;
  options.key_file = name;
  options.bbu_port = options.radio_port = 0;
  options.kind = LinkKind::Shm;
  EXPECT_EQ(told([&] { open_both(options, kLayout, {}); }), "nothing was thrown");
  options.kind = LinkKind::Udp;
  const std::string why = told([&] { open_both(options, kLayout, {}); });
  EXPECT_TRUE(says(why, std::string("fronthaul.key_file is '") + name)) << why;
  std::ofstream(name) << "000102030405060708090a0b0c0d0e0f\n";
  const Link link = open_both(options, kLayout, {});
  test::send_packet(*link.radio, kLayout, 0, 0, 1);  // the longest
  const auto packets = receive_all(*link.baseband, 1);
  ASSERT_EQ(packets.size(), 1U);
  EXPECT_TRUE(test::has_stamps(packets[0].samples, 150, 0, 0, 1));
  recycle(*link.baseband, packets);
  unlink(name);
}

}  // namespace carillon::fronthaul
