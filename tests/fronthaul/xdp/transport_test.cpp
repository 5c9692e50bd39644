#include "fronthaul/xdp/transport.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fronthaul/veth.hpp"
#include "support/test.hpp"
#include "support/transport.hpp"

namespace carillon::fronthaul::xdp {
namespace {

using test::says;
using test::what;

UdpOptions options_at(std::size_t end) {
  UdpOptions options;
  options.io = UdpIo::AfXdp;
  options.address = VirtualCable::address(end);
  options.ports = {static_cast<std::uint16_t>(8000 + end)};
  options.peer_address = VirtualCable::address(1 - end);
  options.peer_ports = {static_cast<std::uint16_t>(8001 - end)};
  options.buffers = 64;
  options.buffer_bytes = 704;
  options.packet_bytes = 640;
  return options;
}

// What two namespaces with a cable permit; else the reason.
struct Bench {
  explicit Bench(std::uint32_t mtu = 1500) {
    why = what([&] {
      cable = std::make_unique<VirtualCable>(mtu);
      open_at(0, options_at(0));
    });
  }
  std::unique_ptr<UdpTransport> open_at(std::size_t end, const UdpOptions& options) const {
    std::unique_ptr<UdpTransport> opened;
    cable->end(end).inside([&] { opened = UdpTransport::open(options); });
    return opened;
  }
  std::string refusal(std::size_t end, const UdpOptions& options) const {
    return what([&] { open_at(end, options); });
  }
  std::unique_ptr<VirtualCable> cable;
  std::string why;
};

void send_one(UdpTransport& from, std::uint32_t frame, std::uint32_t receiver = 0) {
  Outgoing packet{{frame, 0, 0, 0}, 640, from.acquire(), receiver, false};
  ASSERT_EQ(from.send({&packet, 1}), 1U);
  from.abandon({&packet.buffer, 1});
}

TEST(Xdp, OrdinarySocketsHearItAndItHearsThem) {
  const Bench bench;
  if (!bench.why.empty()) GTEST_SKIP() << bench.why;
  const auto own = bench.open_at(0, options_at(0));
  UdpOptions options = options_at(1);
  options.io = UdpIo::Socket;
  const auto other = bench.open_at(1, options);
  for (const auto& [from, to] :
       {std::pair{own.get(), other.get()}, std::pair{other.get(), own.get()}}) {
    send_one(*from, 7);
    const auto packets = test::receive(*to, 1);
    ASSERT_EQ(packets.size(), 1U);
    EXPECT_EQ(packets[0].ids.frame, 7U);
    EXPECT_EQ(packets[0].bytes, 640U);
    test::recycle(*to, packets);
  }
}

TEST(Xdp, SamplesAreAlignedAsOthersAre) {
  const Bench bench;
  if (!bench.why.empty()) GTEST_SKIP() << bench.why;
  const auto own = bench.open_at(0, options_at(0)), other = bench.open_at(1, options_at(1));
  send_one(*other, 1);
  const auto packets = test::receive(*own, 1);
  ASSERT_EQ(packets.size(), 1U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(packets[0].samples) % 64, 0U);
  test::recycle(*own, packets);
}

TEST(Xdp, HearsOnlyThePeer) {
  const Bench bench;
  if (!bench.why.empty()) GTEST_SKIP() << bench.why;
  const auto own = bench.open_at(0, options_at(0));
  UdpOptions options = options_at(1);
  options.io = UdpIo::Socket;
  options.ports = {9999};
  const auto stranger = bench.open_at(1, options), peer = bench.open_at(1, options_at(1));
  send_one(*stranger, 1);
  send_one(*peer, 2);
  const auto packets = test::receive(*own, 1);
  ASSERT_EQ(packets.size(), 1U);
  EXPECT_EQ(packets[0].ids.frame, 2U);
  EXPECT_EQ(own->foreign(), 1U);
  EXPECT_TRUE(says(own->findings().back(), "did not come from 198.18.0.2"));
  test::recycle(*own, packets);
}

TEST(Xdp, AnInterfacesMtuMayBeLargerThanAPage) {
  const Bench bench(8028);
  if (!bench.why.empty()) GTEST_SKIP() << bench.why;
  const auto own = bench.open_at(0, options_at(0)), other = bench.open_at(1, options_at(1));
  send_one(*other, 3);
  const auto packets = test::receive(*own, 1);
  EXPECT_EQ(packets.size(), 1U);
  test::recycle(*own, packets);
}

TEST(Xdp, ErrorsNameWhatIsWrongAndWhatToDo) {
  const Bench bench;
  if (!bench.why.empty()) GTEST_SKIP() << bench.why;
  UdpOptions options = options_at(0);
  options.packet_bytes = 3777;
  options.buffer_bytes = 4096;
  EXPECT_TRUE(says(bench.refusal(0, options), "3776 at most"));
  options = options_at(0);
  options.peer_address = "198.18.0.77";
  EXPECT_TRUE(says(bench.refusal(0, options), "has the address 198.18.0.77"));
  const auto first = bench.open_at(0, options_at(0));
  options = options_at(0);
  options.ports = {8100};
  EXPECT_TRUE(says(bench.refusal(0, options), "another AF_XDP socket"));
}

TEST(Xdp, TheLoopbackIsNoEthernet) {
  UdpOptions options = options_at(0);
  options.address = options.peer_address = "127.0.0.1";
  options.ports = {0};
  EXPECT_TRUE(says(what([&] { UdpTransport::open(options); }), "is no Ethernet interface"));
}

}  // namespace
}  // namespace carillon::fronthaul::xdp
