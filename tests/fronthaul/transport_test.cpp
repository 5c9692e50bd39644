#include "fronthaul/transport.hpp"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "base/thread.hpp"
#include "fronthaul/udp.hpp"
#include "support/card_link.hpp"
#include "support/transport.hpp"

namespace carillon::fronthaul {
namespace {

using test::receive;
using test::recycle;
using test::says;
using test::what;

const Layout kLayout = test::small_layout();

// Of each kind, and through the network card that is none.
std::vector<test::NamedLink> every_link(const Layout& layout, std::uint32_t receivers = 1,
                                        const LinkDepth& depth = {}) {
  auto links = test::each_link(layout, receivers, depth);
  test::fake_verbs().fresh();
  links.push_back({"card", test::card_link(layout, receivers, depth)});
  return links;
}

TEST(Transport, PacketsArriveInOrderWithTheirSamples) {
  for (auto& [name, link] : every_link(kLayout)) {
    for (std::uint32_t frame = 0; frame < 3; ++frame)
      EXPECT_EQ(test::send_frame(*link.radio, kLayout, frame), 12U) << name;
    const auto packets = receive(*link.baseband, 36);
    ASSERT_EQ(packets.size(), 36U) << name;
    std::uint32_t i = 0;
    for (std::uint32_t frame = 0; frame < 3; ++frame)
      for (const auto s : kLayout.symbols(Carries::Uplink))
        for (std::uint32_t a = 0; a < 4; ++a, ++i) {
          EXPECT_TRUE(packets[i].ids == (PacketIds{frame, s, 7, a})) << name;
          EXPECT_EQ(packets[i].bytes, kLayout.packet_bytes(s)) << name;
          EXPECT_TRUE(
              test::has_stamps(packets[i].samples, kLayout.symbols()[s].samples, frame, s, a))
              << name;
        }
    recycle(*link.baseband, packets);
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(Transport, ASentBufferMayBeWrittenAgainAtOnce) {
  for (auto& [name, link] : every_link(kLayout)) {
    Outgoing packet{{1, 1, 7, 2}, kLayout.packet_bytes(1), link.radio->acquire(), 0, false};
    test::write_stamps(link.radio->samples(packet.buffer), 144, 1, 1, 2);
    EXPECT_EQ(link.radio->send({&packet, 1}), 1U) << name;
    test::write_stamps(link.radio->samples(packet.buffer), 144, 9, 9, 9);
    const auto packets = receive(*link.baseband, 1);
    ASSERT_EQ(packets.size(), 1U) << name;
    EXPECT_TRUE(test::has_stamps(packets[0].samples, 144, 1, 1, 2)) << name;
    recycle(*link.baseband, packets);
    link.radio->abandon({&packet.buffer, 1});
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(Transport, ResidentSamplesAreSentAgainUnderAnotherHeader) {
  for (auto& [name, link] : every_link(kLayout)) {
    Outgoing packet{{1, 1, 7, 2}, kLayout.packet_bytes(1), link.radio->acquire(), 0, true};
    const std::uint32_t buffer = packet.buffer;
    test::write_stamps(link.radio->samples(buffer), 144, 1, 1, 2);
    for (std::uint32_t frame = 1; frame < 4; ++frame) {
      packet.ids.frame = frame;
      EXPECT_EQ(link.radio->send({&packet, 1}), 1U) << name;
      EXPECT_EQ(packet.buffer, buffer) << name;
    }
    const auto packets = receive(*link.baseband, 3);
    ASSERT_EQ(packets.size(), 3U) << name;
    for (std::uint32_t i = 0; i < 3; ++i) {
      EXPECT_EQ(packets[i].ids.frame, i + 1) << name;
      EXPECT_TRUE(test::has_stamps(packets[i].samples, 144, 1, 1, 2)) << name;
      // Shared memory: read where they were written.
      if (name == "shm") {
        EXPECT_EQ(packets[i].samples, link.radio->samples(buffer));
      }
    }
    recycle(*link.baseband, packets);
    link.radio->abandon({&buffer, 1});
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(Transport, DatagramsOfAnyLengthShowTheirLength) {
  for (auto& [name, link] : every_link(kLayout)) {
    const std::uint32_t lengths[] = {0, 1, 63, 64, 65, kLayout.buffer_bytes()};
    for (const auto bytes : lengths) {
      Outgoing packet{{1, 1, 7, 2}, bytes, link.radio->acquire(), 0, false};
      EXPECT_EQ(link.radio->send({&packet, 1}), 1U) << name;
      link.radio->abandon({&packet.buffer, 1});
    }
    const auto packets = receive(*link.baseband, 6);
    ASSERT_EQ(packets.size(), 6U) << name;
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(packets[i].bytes, lengths[i]) << name;
    recycle(*link.baseband, packets);
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(Transport, EachPacketGoesToTheReceiverItNames) {
  for (auto& [name, link] : every_link(kLayout, 3)) {
    EXPECT_EQ(link.baseband->receivers(), 3U);
    EXPECT_EQ(test::send_frame(*link.radio, kLayout, 5), 12U) << name;
    for (std::uint32_t r = 0; r < 3; ++r) {
      const auto packets = receive(*link.baseband, r == 0 ? 6 : 3, r);  // antennas 0 and 3; 1; 2
      EXPECT_EQ(packets.size(), r == 0 ? 6U : 3U) << name;
      for (const auto& p : packets) EXPECT_EQ(p.ids.antenna % 3, r) << name;
      recycle(*link.baseband, packets);
    }
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(Transport, BatchesMayBeOfAnySize) {
  for (auto& [name, link] : every_link(kLayout)) {
    std::vector<Outgoing> batch;
    for (std::uint32_t i = 0; i < 150; ++i)
      batch.push_back({{i, 1, 7, 0}, kLayout.packet_bytes(1), link.radio->acquire(), 0, true});
    EXPECT_EQ(link.radio->send(batch), 150U) << name;
    const auto packets = receive(*link.baseband, 150);
    ASSERT_EQ(packets.size(), 150U) << name;
    for (std::uint32_t i = 0; i < 150; ++i) EXPECT_EQ(packets[i].ids.frame, i) << name;
    recycle(*link.baseband, packets);
    for (const auto& p : batch) link.radio->abandon({&p.buffer, 1});
    EXPECT_EQ(link.radio->send_time().packets, 150U) << name;
    EXPECT_EQ(link.baseband->receive_time(0).packets, 150U) << name;
    EXPECT_EQ(link.baseband->receive_time(0).bytes, 150U * kLayout.packet_bytes(1)) << name;
    if (name == "udp") {
      EXPECT_GT(link.baseband->receive_time(0).busy, 0);
    }
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(Transport, WhereNothingIsPendingAllIsReceived) {
  for (auto& [name, link] : every_link(kLayout)) {
    std::vector<Outgoing> batch;
    for (std::uint32_t i = 0; i < 150; ++i)
      batch.push_back({{i, 1, 7, 0}, kLayout.packet_bytes(1), link.radio->acquire(), 0, true});
    EXPECT_EQ(link.radio->send(batch), 150U) << name;
    EXPECT_EQ(link.radio->send(batch), 150U) << name;
    recycle(*link.baseband, receive(*link.baseband, 1));
    std::size_t count = 0, total = 1;
    do {
      std::array<Received, 16> some;
      count = link.baseband->receive(0, some);
      for (const Received& packet : std::span(some).first(count))
        link.baseband->recycle({&packet.buffer, 1});
      total += count;
    } while (count > 0 || link.baseband->pending(0));
    EXPECT_EQ(total, 300U) << name;
    for (const auto& p : batch) link.radio->abandon({&p.buffer, 1});
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(Transport, ABatchMayMixLengthsAndReceivers) {
  for (auto& [name, link] : every_link(kLayout, 2)) {
    EXPECT_EQ(link.radio->peer_receivers(), 2U);
    std::vector<Outgoing> batch;
    const std::uint32_t lengths[] = {640, 640, 0, 0, 640, 664, 664, 664, 3, 640};
    for (std::uint32_t i = 0; i < 60; ++i)
      batch.push_back({{i, 1, 7, 0}, lengths[i % 10], link.radio->acquire(), i / 7 % 2, true});
    EXPECT_EQ(link.radio->send(batch), 60U) << name;
    std::uint32_t expected = 0;
    for (std::uint32_t r = 0; r < 2; ++r)
      for (std::uint32_t i = 0; i < 60; ++i) {
        if (i / 7 % 2 != r) continue;
        const auto packets = receive(*link.baseband, 1, r);
        ASSERT_EQ(packets.size(), 1U) << name;
        EXPECT_EQ(packets[0].bytes, lengths[i % 10]) << name;
        if (packets[0].bytes >= kHeaderBytes) {
          EXPECT_EQ(packets[0].ids.frame, i) << name;
        }
        recycle(*link.baseband, packets);
        ++expected;
      }
    EXPECT_EQ(expected, 60U);
    for (const auto& p : batch) link.radio->abandon({&p.buffer, 1});
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(Transport, AReceiverThatReturnsNothingRunsDryAndRecovers) {
  for (auto& [name, link] : every_link(kLayout, 1, {1, 1, 1, 1})) {
    std::vector<Received> held;
    const std::uint32_t frames = link.baseband->buffers() / 12 + 50;
    for (std::uint32_t frame = 0; frame < frames; ++frame) {
      test::send_frame(*link.radio, kLayout, frame);
      std::array<Received, 16> batch;
      const std::size_t count = link.baseband->receive(0, batch);
      held.insert(held.end(), batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(count));
    }
    EXPECT_LE(held.size(), link.baseband->buffers()) << name;  // the stock is bounded
    recycle(*link.baseband, held);
    recycle(*link.baseband, receive(*link.baseband, 12 * frames, 0, 100 * kMillisecond));
    EXPECT_EQ(test::send_frame(*link.radio, kLayout, frames), 12U) << name;
    const auto packets = receive(*link.baseband, 12);
    EXPECT_EQ(packets.size(), 12U) << name;
    recycle(*link.baseband, packets);
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(Transport, AReceiverMayPassToAnotherThreadWhenItsOwnHasEnded) {
  for (auto& [name, link] : every_link(kLayout)) {
    for (std::uint32_t frame = 0; frame < 3; ++frame) {
      test::send_frame(*link.radio, kLayout, frame);
      std::vector<Received> packets;
      std::thread([&] { packets = receive(*link.baseband, 12); }).join();
      ASSERT_EQ(packets.size(), 12U) << name;
      recycle(*link.baseband, packets);
    }
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(Transport, AReceiverMayPassToAnotherThreadWhileItsOwnIsBusy) {
  for (auto& [name, link] : every_link(kLayout)) {
    std::atomic<bool> first_done = false, stop = false;
    std::thread first([&] {  // keeps its core, and enters the kernel no more
      std::array<Received, 16> none;
      EXPECT_EQ(link.baseband->receive(0, none), 0U) << name;
      for (first_done = true; !stop.load(std::memory_order_relaxed);) spin_pause();
    });
    while (!first_done) std::this_thread::yield();
    test::send_frame(*link.radio, kLayout, 3);
    const auto packets = receive(*link.baseband, 12);
    EXPECT_EQ(packets.size(), 12U) << name;
    recycle(*link.baseband, packets);
    stop = true;
    first.join();
    EXPECT_TRUE(test::all_returned(link)) << name;
  }
}

TEST(Transport, ALoopbackLinkHasNothingToComplainOf) {
  LinkOptions options;
  options.kind = LinkKind::Udp;
  options.bbu_port = options.radio_port = 0;
  const auto link = open_both(options, kLayout, {});
  EXPECT_EQ(link.baseband->notes().size(), 0U);
  EXPECT_EQ(link.radio->notes().size(), 0U);
}

// A socket of its own that sends to an end's first port.
std::unique_ptr<UdpTransport> stranger_to(Transport& end) {
  UdpOptions options;
  options.buffers = 64;
  options.buffer_bytes = kLayout.buffer_bytes();
  options.packet_bytes = kLayout.most_packet_bytes();
  options.peer_ports = {dynamic_cast<UdpTransport&>(end).ports().front()};
  return UdpTransport::open(options);
}

void hears_only_the_peer(const Link& link) {
  for (const auto& [to, from] : {std::pair{link.baseband.get(), link.radio.get()},
                                 std::pair{link.radio.get(), link.baseband.get()}}) {
    const auto stranger = stranger_to(*to);
    for (std::uint32_t frame = 0; frame < 4; ++frame) test::send_frame(*stranger, kLayout, frame);
    test::send_packet(*from, kLayout, 9, 1, 2);
    const auto packets = receive(*to, 1);  // behind 48 that are not heard
    ASSERT_EQ(packets.size(), 1U);
    EXPECT_TRUE(test::has_stamps(packets[0].samples, 144, 9, 1, 2));
    recycle(*to, packets);
    EXPECT_EQ(to->foreign(), 48U);
    const auto findings = to->findings();
    ASSERT_GE(findings.size(), 1U);
    const std::string who = "127.0.0.1 port ";
    EXPECT_TRUE(says(findings[0],
                     "48, one of them from " + who + std::to_string(stranger->ports().front())))
        << findings[0];
    EXPECT_TRUE(
        says(findings[0], who + std::to_string(dynamic_cast<UdpTransport&>(*from).ports().front())))
        << findings[0];
  }
  EXPECT_TRUE(test::all_returned(link));
}

std::vector<test::NamedLink> udp_links() {
  auto links = test::each_link(kLayout);
  std::erase_if(links, [](const test::NamedLink& each) {
    return each.name == "shm" || each.name == "af-xdp";
  });
  return links;
}

TEST(Udp, HearsOnlyThePeerAndNamesWhoElseKnocked) {
  for (const auto& [name, link] : udp_links()) hears_only_the_peer(link);
}

TEST(Udp, OthersThanThePeerLeaveSomethingPendingUntilAllIsSeen) {
  for (const auto& [name, link] : udp_links()) {
    const auto stranger = stranger_to(*link.baseband);
    for (std::uint32_t frame = 0; frame < 3; ++frame) test::send_frame(*stranger, kLayout, frame);
    std::array<Received, 16> batch;
    EXPECT_EQ(link.baseband->receive(0, batch), 0U) << name;
    EXPECT_TRUE(link.baseband->pending(0)) << name;
    while (link.baseband->pending(0)) EXPECT_EQ(link.baseband->receive(0, batch), 0U) << name;
    EXPECT_EQ(link.baseband->foreign(), 36U) << name;
  }
}

TEST(Udp, BusyPollingSaysWhereThereIsNothingToPoll) {
  for (const auto& [name, link] : udp_links()) {
    test::send_packet(*link.radio, kLayout, 9, 1, 2);
    recycle(*link.baseband, receive(*link.baseband, 1));
    const auto findings = link.baseband->findings();
    EXPECT_EQ(findings.size(), name == "busy-poll" ? 1U : 0U) << name;
    if (!findings.empty()) {
      EXPECT_TRUE(says(findings[0], "no queue to poll")) << findings[0];
    }
  }
}

UdpOptions udp_options() {
  UdpOptions options;
  options.buffers = 64;
  options.buffer_bytes = 4096;
  options.packet_bytes = 4000;
  return options;
}

TEST(Udp, SaysWhenDatagramsDoNotFitTheWay) {
  auto options = udp_options();
  options.peer_address = "192.0.2.1";  // for documentation only; nothing is sent
  const auto notes = UdpTransport::open(options)->notes();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(says(notes[0], "MTU") || says(notes[0], "no route")) << notes[0];
  EXPECT_TRUE(says(notes[0], "192.0.2.1")) << notes[0];
}

// A network of its own for this process, with nothing but a loopback of that MTU.
bool enter_small_network(int mtu) {
  if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_mtu = mtu;
  bool done = ioctl(fd, SIOCSIFMTU, &request) == 0;
  request.ifr_flags = IFF_UP;
  done = done && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  close(fd);
  return done;
}

TEST(Udp, DatagramsBeyondTheMtuAreNotedAndArriveInFragments) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (!enter_small_network(1500)) _exit(77);
    const Layout layout(7, 4, kMillisecond, {{Carries::Uplink, 2048, 0, kMillisecond, 0}});
    LinkOptions options;
    options.kind = LinkKind::Udp;
    options.bbu_port = options.radio_port = 0;
    const auto link = open_both(options, layout, {});
    const auto notes = link.radio->notes();
    bool good = false;
    for (const auto& note : notes)
      good |= says(note, "8256 bytes do not fit the MTU of 1500") && says(note, "6 fragments");
    std::vector<Outgoing> batch;
    for (std::uint32_t a = 0; a < 4; ++a) {
      batch.push_back({{9, 0, 7, a}, layout.packet_bytes(0), link.radio->acquire(), 0, true});
      test::write_stamps(link.radio->samples(batch[a].buffer), 2048, 9, 0, a);
    }
    good &= link.radio->send(batch) == 4;
    const auto packets = receive(*link.baseband, 4);
    good &= packets.size() == 4;
    for (const auto& p : packets) good &= test::has_stamps(p.samples, 2048, 9, 0, p.ids.antenna);
    _exit(good ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
    GTEST_SKIP() << "this system gives no network namespaces";
  EXPECT_EQ(status, 0);
}

TEST(Udp, ErrorsNameWhatIsWrongAndWhatToDo) {
  auto options = udp_options();
  options.peer_address = "radio.example";
  EXPECT_TRUE(says(what([&] { UdpTransport::open(options); }), "'radio.example' is not an IPv4"));

  options = udp_options();
  const auto first = UdpTransport::open(options);
  options.ports = first->ports();
  EXPECT_TRUE(says(what([&] { UdpTransport::open(options); }), "another process uses it"));

  options = udp_options();
  options.address = "192.0.2.1";
  EXPECT_TRUE(says(what([&] { UdpTransport::open(options); }), "no interface"));

  options = udp_options();
  options.packet_bytes = 65508;
  options.buffer_bytes = 65600;
  EXPECT_TRUE(says(what([&] { UdpTransport::open(options); }), "65507 at most"));
}

}  // namespace
}  // namespace carillon::fronthaul
