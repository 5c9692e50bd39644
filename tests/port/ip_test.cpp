#include "port/ip.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "frame/grants.hpp"
#include "port/ip_air.hpp"
#include "port/small_cell.hpp"
#include "support/test.hpp"

using namespace carillon;
using frame::Direction;
using frame::Verdict;
using port::Exchange;
using port::IpPort;
using port::Message;
using port::Sequencer;
using test::Bytes;
using test::Device;
using test::kFirst;
using test::kServer;
using test::packet;

namespace {

frame::FrameFormat format() {
  frame::FrameFormat f = small_cell("PPUUUUGGGGDDDDDD");
  f.uplink.block = frame::BlockSpan::Symbol;
  f.uplink.rate = f.downlink.rate = 0.6;
  return f;
}

// One side of the air.
struct End {
  End(const frame::Frame& frame, Direction sends)
      : exchange(frame, sends, 4), ip(std::move(device.port), kFirst, frame, exchange) {}
  Device device;
  Exchange exchange;
  IpPort ip;
};

// What a cell and its users do, but for the air: each frame's blocks go across, by chance in
// another order or not at all.
struct Air {
  void frame_goes(double loss = 0) {
    for (End* end : {&users, &server}) end->ip.look();
    std::vector<std::vector<const std::uint8_t*>> bits(2);
    for (End* end : {&users, &server}) {
      const Direction sends = end->exchange.sends();
      bits[static_cast<std::size_t>(sends)].resize(frame.program().transport_blocks(sends).size());
      end->exchange.take({number, 0}, 0, bits[static_cast<std::size_t>(sends)]);
    }
    for (End* end : {&users, &server}) {
      const Direction receives = end->exchange.receives();
      const auto blocks = frame.program().transport_blocks(receives);
      for (const std::uint32_t b : test::shuffled(blocks.size(), random)) {
        const std::uint8_t* const from = bits[static_cast<std::size_t>(receives)][b];
        const bool lost = random.uniform() < loss;
        end->exchange.receive(
            {number, 0}, {.block = b,
                          .verdict = lost ? Verdict::Failed : Verdict::Good,
                          .at = 0,
                          .bits = {from, port::bytes_for(frame.program().plan(blocks[b]).A())}});
      }
    }
    for (End* end : {&users, &server}) end->exchange.release({number, 0});
    ++number;
  }

  frame::Frame frame{format()};
  End server{frame, Direction::Downlink}, users{frame, Direction::Uplink};
  Random random{5, 0};
  std::uint32_t number = 0;
};

Message block_message(const frame::Frame& frame, std::uint32_t number, std::uint32_t block) {
  return port::message_of(port::MessageType::Block, frame, frame.program(number), Direction::Uplink,
                          number, block);
}

}  // namespace

TEST(Sequencer, OrdersEachUsersBlocksWhateverOrderTheyComeIn) {
  const frame::Frame frame(format());
  const auto blocks = frame.program().transport_blocks(Direction::Uplink);
  Random random(1, 0);
  for (int round = 0; round < 100; ++round) {
    Sequencer sequencer(frame, Direction::Uplink);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> coming;  // frame, block
    for (std::uint32_t n = 0; n < 6; ++n)
      for (std::uint32_t b = 0; b < blocks.size(); ++b) coming.push_back({100 + n, b});
    // The first of each user says where it begins.
    for (std::size_t i = coming.size() - 1; i > blocks.size(); --i)
      std::swap(
          coming[i],
          coming[blocks.size() + static_cast<std::size_t>(random.next() % (i - blocks.size()))]);
    std::vector<std::vector<std::uint8_t>> got(2);
    for (const auto& [n, b] : coming) {
      Message message = block_message(frame, n, b);
      message.verdict = (n + b) % 5 == 0 ? 1 : 0;
      const std::uint8_t name = static_cast<std::uint8_t>(10 * (n - 100) + b);
      sequencer.push(message, {&name, 1},
                     [&](std::uint32_t user, auto bits) { got[user].push_back(bits[0]); });
    }
    for (std::uint32_t user = 0; user < 2; ++user) {
      std::vector<std::uint8_t> wanted;
      for (std::uint32_t n = 100; n < 106; ++n)
        for (std::uint32_t b = 0; b < blocks.size(); ++b)
          if (blocks[b].user == user && (n + b) % 5 != 0)
            wanted.push_back(static_cast<std::uint8_t>(10 * (n - 100) + b));
      EXPECT_TRUE(got[user] == wanted) << "round" << round;
    }
  }
}

// A user that has nothing for twenty frames has not missed what comes first on air then, though a
// later block may be decoded before it.
TEST(Sequencer, KeepsTheOrderOfAUserThatWasIdle) {
  frame::FrameFormat f = format();
  f.grants = test::listed({{0, 0, Direction::Uplink, 0, 6}, {1, 5, Direction::Uplink, 0, 6}}, 20);
  const frame::Frame frame(f);
  Sequencer sequencer(frame, Direction::Uplink);
  std::vector<std::uint32_t> got;
  const auto push = [&](std::uint32_t n, std::uint32_t b) {
    const auto name = static_cast<std::uint8_t>(10 * n + b);
    sequencer.push(block_message(frame, n, b), {&name, 1},
                   [&](std::uint32_t, auto bits) { got.push_back(bits[0]); });
  };
  for (const std::uint32_t n : {0U, 20U}) {
    push(n, 0);
    push(n, n == 0 ? 1 : 2);
    push(n, n == 0 ? 2 : 1);
    push(n, 3);
  }
  EXPECT_EQ(got, (std::vector<std::uint32_t>{0, 1, 2, 3, 200, 201, 202, 203}));
  got.clear();
  for (const std::uint32_t b : {3U, 1U, 0U, 2U}) push(40, b);
  std::vector<std::uint32_t> wanted;
  for (std::uint32_t b = 0; b < 4; ++b) wanted.push_back((400 + b) % 256);
  EXPECT_EQ(got, wanted);
}

TEST(Sequencer, GoesOnAfterBlocksThatNeverCome) {
  const frame::Frame frame(format());
  Sequencer sequencer(frame, Direction::Uplink);
  std::vector<std::uint32_t> got;
  const auto push = [&](std::uint32_t n) {
    const std::uint8_t name = static_cast<std::uint8_t>(n);
    for (std::uint32_t b = 0; b < frame.program().transport_blocks(Direction::Uplink).size(); ++b)
      sequencer.push(block_message(frame, n, b), {&name, 1}, [&](std::uint32_t user, auto bits) {
        if (user == 0) got.push_back(bits[0]);
      });
  };
  push(1);
  for (std::uint32_t n = 3; n < 12; ++n) push(n);  // not 2
  EXPECT_EQ(got.back(), 11U);
  EXPECT_TRUE(std::ranges::is_sorted(got));
  EXPECT_EQ(std::ranges::count(got, 2U), 0);
  EXPECT_EQ(std::ranges::count(got, 3U), std::ranges::count(got, 1U));
  push(200);  // another radio unit's numbers
  EXPECT_EQ(got.back(), 200U);
  push(5);
  EXPECT_EQ(got.back(), 5U);
}

TEST(IpPort, PacketsArriveInOrderBothWays) {
  Air air;
  air.frame_goes();
  test::expect_all_in_order(air, 150, 200);
}

TEST(IpPort, LostBlocksLoseTheirPacketsAndTheOthersArrive) {
  Air air;
  air.frame_goes();
  constexpr std::uint32_t kPackets = 300;
  std::uint32_t last = 0, arrived = 0;
  bool ordered = true;
  const auto look = [&] {
    for (const Bytes& bytes : air.server.device.received()) {
      const std::uint32_t number = bytes[6] * 256U + bytes[7];
      ordered &= bytes == packet(kFirst, kServer, number, 60) && (arrived == 0 || number > last);
      last = number;
      ++arrived;
    }
    return air.users.ip.counters().sent == kPackets;
  };
  for (std::uint32_t n = 0; !look(); ++n) {
    if (n < kPackets)
      while (!air.users.device.send(packet(kFirst, kServer, n, 60))) air.frame_goes();
    air.frame_goes(0.1);
  }
  for (int i = 0; i < 20; ++i) air.frame_goes();
  // A last packet says that all before it has been delivered.
  for (Bytes end = packet(kFirst, kServer, kPackets, 60); last != kPackets;) {
    if (air.users.ip.counters().sent == kPackets && !air.users.device.send(end)) continue;
    air.frame_goes();
    look();
  }
  EXPECT_TRUE(ordered);
  EXPECT_LT(arrived, kPackets);
  EXPECT_GT(arrived, kPackets / 3);
}

TEST(IpPort, NobodySpeaksForAnotherAndOtherPacketsAreForeign) {
  Air air;
  air.frame_goes();
  const auto wait_for = [&](auto&& holds) {
    while (!holds()) air.frame_goes();
  };
  EXPECT_TRUE(air.server.device.send(packet(kServer, kFirst + 2, 0, 40)));  // no such user
  EXPECT_TRUE(air.server.device.send(packet(kServer, kServer, 0, 40)));
  EXPECT_TRUE(air.server.device.send(Bytes(40, 0x60)));  // IPv6
  wait_for([&] { return air.server.ip.counters().foreign == 3; });
  EXPECT_EQ(air.users.ip.counters().delivered, 0U);
  // User 0's blocks bring a packet in the name of user 1, and one of its own.
  port::Packer packer(1000);
  EXPECT_TRUE(packer.push(packet(kFirst + 1, kServer, 1, 30)));
  EXPECT_TRUE(packer.push(packet(kFirst, kServer, 2, 30)));
  const auto blocks = air.frame.program().transport_blocks(Direction::Uplink);
  Bytes bits(air.frame.program().plan(blocks[0]).A() / 8);
  for (std::uint32_t n = air.number + 20; !packer.empty(); ++n)
    for (std::uint32_t b = 0; b < blocks.size(); ++b) {
      const bool own = blocks[b].user == 0 && packer.fill(bits);
      if (own) (void)packer.sent();
      const Bytes made = own ? bits : Bytes(bits.size());
      Bytes whole(port::bytes_for(air.frame.program().plan(blocks[b]).A()));
      std::ranges::copy(made, whole.begin());
      air.server.exchange.receive({n, 0},
                                  {.block = b, .verdict = Verdict::Good, .at = 0, .bits = whole});
    }
  air.server.ip.finish();
  EXPECT_EQ(air.server.ip.counters().foreign, 4U);
  const auto got = air.server.device.received();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_TRUE(got[0] == packet(kFirst, kServer, 2, 30));
}

TEST(IpPort, AFullQueueDrops) {
  Air air;  // no frame goes
  std::uint64_t sent = 0;
  while (air.users.ip.counters().dropped < 10) {
    sent += air.users.device.send(packet(kFirst, kServer, 0, 1400));
    air.users.ip.look();
  }
  air.users.ip.finish();
  const auto counters = air.users.ip.counters();
  EXPECT_EQ(counters.sent, 0U);
  EXPECT_GE(sent, counters.dropped + IpPort::kQueue / 1400);
}

TEST(OpenTun, SaysWhatIsWrongWithAName) {
  std::string why;
  try {
    (void)port::open_tun("a-name-that-is-too-long");
  } catch (const std::runtime_error& error) {
    why = error.what();
  }
  EXPECT_NE(why.find("at most 15 bytes"), std::string::npos);
}
