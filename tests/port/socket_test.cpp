#include "port/socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/test.hpp"

using namespace carillon;
using frame::Direction;
using frame::Verdict;
using port::Exchange;
using port::Message;
using port::MessageType;
using port::Refusal;
using port::SocketPort;

namespace {

constexpr int kLong = 30'000;  // ms: for longer than any busy machine takes

frame::FrameFormat format() {
  frame::FrameFormat f;
  f.antennas = 4;
  f.users = 2;
  f.cell_id = 5;
  f.numerology.fft_size = 4096;
  f.numerology.subcarriers = 3276;
  f.schedule = "PP" + std::string(30, 'U') + "GGGG" + std::string(30, 'D');
  f.symbols_per_slot = 66;
  f.uplink.modulation = f.downlink.modulation = frame::ModulationChoice::Qam256;
  f.uplink.rate = f.downlink.rate = 0.8;
  f.deadlines.downlink_lead_ms = 0;
  return f;
}

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/carillon-port-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

class Client {
 public:
  explicit Client(const std::string& path)
      : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::ranges::copy(path, address.sun_path);
    if (connect(socket_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
        0)
      throw std::runtime_error(std::strerror(errno));
  }

  struct Datagram {
    Message message;
    std::vector<std::uint8_t> bytes;
  };
  /// Nothing: the port has closed the connection.
  std::optional<Datagram> receive() {
    pollfd file{socket_.number(), POLLIN, 0};
    EXPECT_EQ(poll(&file, 1, kLong), 1);
    std::vector<std::uint8_t> bytes(65536);
    const ssize_t length = recv(socket_.number(), bytes.data(), bytes.size(), 0);
    if (length <= 0) return std::nullopt;
    bytes.resize(static_cast<std::size_t>(length));
    Datagram datagram;
    EXPECT_GE(bytes.size(), sizeof(Message));
    std::memcpy(&datagram.message, bytes.data(), sizeof(Message));
    datagram.bytes.assign(bytes.begin() + sizeof(Message), bytes.end());
    return datagram;
  }
  /// A message of all its pieces.
  Datagram whole(std::size_t bytes) {
    Datagram first = receive().value_or(Datagram{});
    while (first.bytes.size() < bytes) {
      const auto next = receive();
      if (!next) break;
      EXPECT_EQ(next->message.offset, first.bytes.size());
      first.bytes.insert(first.bytes.end(), next->bytes.begin(), next->bytes.end());
    }
    return first;
  }
  void send(const Message& message, std::span<const std::uint8_t> bytes) {
    std::vector<std::uint8_t> datagram(sizeof(message) + bytes.size());
    std::memcpy(datagram.data(), &message, sizeof(message));
    std::ranges::copy(bytes, datagram.begin() + sizeof(message));
    send(datagram);
  }
  void send(std::span<const std::uint8_t> datagram) {
    EXPECT_EQ(::send(socket_.number(), datagram.data(), datagram.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(datagram.size()));
  }

 private:
  Descriptor socket_;
};

struct Port {
  explicit Port(const std::string& path) : socket(path, frame, exchange) {}

  void begin(std::uint32_t number) {
    bits.resize(frame.program().transport_blocks(Direction::Downlink).size());
    exchange.take({number, 0}, 1000 * number, bits);
  }
  std::vector<std::uint8_t> uplink_bits(std::uint32_t block) const {
    const auto& tb = frame.program().transport_blocks(Direction::Uplink)[block];
    std::vector<std::uint8_t> made(port::bytes_for(frame.program().plan(tb).A()));
    for (std::size_t i = 0; i < made.size(); ++i)
      made[i] = static_cast<std::uint8_t>(i * 7 + block);
    return made;
  }
  void receive(std::uint32_t number, std::uint32_t block, Verdict verdict = Verdict::Good) {
    const auto made = uplink_bits(block);
    exchange.receive({number, 0}, {.block = block, .verdict = verdict, .at = 9, .bits = made});
  }
  std::size_t carrier_bytes() const { return port::rows_of(frame).size() * sizeof(port::BlockRow); }

  frame::Frame frame{format()};
  Exchange exchange{frame, Direction::Downlink, 4};
  std::vector<const std::uint8_t*> bits;
  SocketPort socket;
};

std::string failure(const std::string& path) {
  try {
    const Port port(path);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST(SocketPort, GreetsAClientWithWhatTheCellCarries) {
  const Folder folder;
  Port port(folder / "cell.sock");
  Client client(folder / "cell.sock");
  const auto carrier = client.whole(port.carrier_bytes());
  EXPECT_EQ(carrier.message.magic, Message::kMagic);
  EXPECT_EQ(carrier.message.type, MessageType::Carrier);
  EXPECT_EQ(carrier.message.cell, 5U);
  EXPECT_EQ(carrier.message.frame, Exchange::kAhead);
  EXPECT_EQ(carrier.message.time, port.frame.duration());
  const auto rows = port::rows_of(port.frame);
  ASSERT_EQ(carrier.message.block, rows.size());
  EXPECT_EQ(std::memcmp(carrier.bytes.data(), rows.data(), port.carrier_bytes()), 0);
  EXPECT_EQ(rows.front().direction, 0U);
  EXPECT_EQ(rows.back().direction, 1U);
}

TEST(SocketPort, LongBlocksTravelInPiecesBothWays) {
  const Folder folder;
  Port port(folder / "cell.sock");
  Client client(folder / "cell.sock");
  (void)client.whole(port.carrier_bytes());
  const auto sent = port.uplink_bits(1);
  ASSERT_GT(sent.size(), 2 * port::kPiece);
  port.receive(3, 1);
  const auto block = client.whole(sent.size());
  EXPECT_EQ(block.message.type, MessageType::Block);
  EXPECT_EQ(block.message.frame, 3U);
  EXPECT_EQ(block.message.block, 1U);
  EXPECT_EQ(block.message.time, 9);
  EXPECT_TRUE(block.bytes == sent);

  port.begin(3);
  const auto frame = client.receive();
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->message.type, MessageType::Frame);
  EXPECT_EQ(frame->message.frame, 3U);
  EXPECT_EQ(frame->message.time, 3000);
  Message message = port::message_of(MessageType::Bits, port.frame, port.frame.program(),
                                     Direction::Downlink, 4, 0);
  std::vector<std::uint8_t> bits(port::bytes_for(message.bits), 0x5a);
  const std::span<const std::uint8_t> all(bits);
  for (; message.offset < bits.size(); message.offset += port::kPiece) {
    const auto rest = all.subspan(message.offset);
    client.send(message, rest.first(std::min(rest.size(), port::kPiece)));
  }
  message.offset = 0;
  client.send(message, all.first(1));  // once more, so that it is known when all was heard
  const auto refused = client.receive();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->message.type, MessageType::Refused);
  EXPECT_EQ(refused->message.verdict, static_cast<std::uint8_t>(Refusal::Order));
  EXPECT_EQ(port.exchange.counters().accepted, 1U);
  port.begin(4);
  EXPECT_EQ(std::memcmp(port.bits[0], bits.data(), bits.size() - 1), 0);
}

TEST(SocketPort, RefusesWhatIsNoMessage) {
  const Folder folder;
  Port port(folder / "cell.sock");
  Client client(folder / "cell.sock");
  (void)client.whole(port.carrier_bytes());
  port.begin(0);
  (void)client.receive();
  const Message good = port::message_of(MessageType::Bits, port.frame, port.frame.program(),
                                        Direction::Downlink, 1, 0);
  const std::vector<std::uint8_t> bits(port::bytes_for(good.bits));
  const auto expect_refused = [&](Refusal why) {
    const auto refused = client.receive();
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->message.type, MessageType::Refused);
    EXPECT_EQ(refused->message.verdict, static_cast<std::uint8_t>(why));
  };
  const auto send_changed = [&](auto&& change) {
    Message changed = good;
    change(changed);
    client.send(changed, std::span(bits).first(8));
  };
  client.send(std::vector<std::uint8_t>(3));
  expect_refused(Refusal::Format);
  client.send(good, std::vector<std::uint8_t>(port::kPiece + 1));
  expect_refused(Refusal::Format);
  send_changed([](Message& m) { m.magic = 1; });
  expect_refused(Refusal::Format);
  send_changed([](Message& m) { m.type = MessageType::Block; });
  expect_refused(Refusal::Format);
  send_changed([](Message& m) { m.cell = 6; });
  expect_refused(Refusal::Format);
  send_changed([](Message& m) { m.frame = 0; });
  expect_refused(Refusal::Late);
  const auto counters = port.socket.counters();
  EXPECT_EQ(counters.refused[static_cast<std::size_t>(Refusal::Format)], 5U);
  EXPECT_EQ(counters.refused[static_cast<std::size_t>(Refusal::Late)], 1U);
}

TEST(SocketPort, ServesOneClientAfterAnother) {
  const Folder folder;
  Port port(folder / "cell.sock");
  auto first = std::make_unique<Client>(folder / "cell.sock");
  (void)first->whole(port.carrier_bytes());
  {
    Client second(folder / "cell.sock");
    const auto refused = second.receive();
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->message.type, MessageType::Refused);
    EXPECT_EQ(refused->message.verdict, static_cast<std::uint8_t>(Refusal::Busy));
    EXPECT_FALSE(second.receive());
  }
  first.reset();
  // That the first has gone is found out sooner or later.
  for (bool served = false; !served;) {
    Client next(folder / "cell.sock");
    const auto greeting = next.receive();
    served = greeting && greeting->message.type == MessageType::Carrier;
  }
  EXPECT_EQ(port.socket.counters().clients, 2U);
}

TEST(SocketPort, BlocksAreSentDroppedOrUnheard) {
  const Folder folder;
  Port port(folder / "cell.sock");
  constexpr std::uint32_t kBlocks = 600;
  for (std::uint32_t n = 0; n < kBlocks / 2; ++n) port.receive(n, 0);
  auto client = std::make_unique<Client>(folder / "cell.sock");
  (void)client->whole(port.carrier_bytes());
  port.receive(kBlocks, 1);
  // What came before the client may have been sent to it, or to nobody.
  Client::Datagram block;
  do block = client->whole(port.uplink_bits(0).size());
  while (block.message.block != 1);
  for (std::uint32_t n = 0; n < kBlocks / 2; ++n) port.receive(n, 0);  // it does not fetch them
  port.socket.finish();
  const auto blocks = port.exchange.counters();
  const auto counters = port.socket.counters();
  EXPECT_EQ(blocks.good, kBlocks + 1);
  EXPECT_EQ(counters.sent + counters.unheard + blocks.dropped, kBlocks + 1);
  EXPECT_GT(blocks.dropped, 0U);
}

TEST(SocketPort, OnlyItsOwnerMayConnectAndNothingIsLeft) {
  const Folder folder;
  const std::string path = folder / "cell.sock";
  {
    const Port port(path);
    struct stat status {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_TRUE(S_ISSOCK(status.st_mode));
    EXPECT_EQ(status.st_mode & 0777, 0600U);
    EXPECT_NE(failure(path).find("another process listens there"), std::string::npos);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SocketPort, ASocketOfADeadProcessMakesRoomAndAnythingElseStays) {
  const Folder folder;
  const std::string stale = folder / "stale.sock", file = folder / "file";
  {
    const Descriptor dead(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::ranges::copy(stale, address.sun_path);
    ASSERT_EQ(bind(dead.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  EXPECT_EQ(failure(stale), "");
  std::fclose(std::fopen(file.c_str(), "w"));
  EXPECT_NE(failure(file).find("is no socket"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(file));
  EXPECT_NE(failure(folder / "none/cell.sock").find("No such file"), std::string::npos);
  EXPECT_NE(failure(folder / std::string(120, 'x').c_str()).find("at most 107"), std::string::npos);
}

// What a client says of a frame comes back as the blocks that it has, and what cannot be done with
// its grant and the reason.
TEST(SocketPort, AnswersWork) {
  const Folder folder;
  frame::FrameFormat scheduled = format();
  scheduled.grants.kind = frame::GrantKind::Port;
  const frame::Frame frame(scheduled);
  Exchange exchange(frame, Direction::Downlink, 4);
  SocketPort socket(folder / "cell.sock", frame, exchange);
  Client client(folder / "cell.sock");
  const auto carrier = client.receive();
  ASSERT_TRUE(carrier);
  EXPECT_EQ(carrier->message.slot, 0U) << "as Work says";
  EXPECT_EQ(carrier->message.block, 0U);
  exchange.take({0, 0}, 0, {});
  (void)client.receive();

  const std::array<port::GrantRow, 3> rows{
      port::GrantRow{.user = 1, .direction = 1, .modulation = 2, .blocks = 10, .rate = 5120},
      port::GrantRow{.user = 2, .blocks = 10},
      port::GrantRow{.user = 0, .harq_process = 3, .modulation = 5, .blocks = 10}};
  const auto bytes = [&](std::size_t count) {
    const auto* first = reinterpret_cast<const std::uint8_t*>(rows.data());
    return std::span(first, count * sizeof(port::GrantRow));
  };
  Message work{.type = MessageType::Work, .cell = 5, .frame = 2, .block = 3};
  client.send(work, bytes(2));
  const auto short_one = client.receive();
  ASSERT_TRUE(short_one);
  EXPECT_EQ(short_one->message.verdict, static_cast<std::uint8_t>(Refusal::Format));
  client.send(work, bytes(3));
  for (const std::uint32_t grant : {1U, 2U}) {
    const auto refused = client.receive();
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->message.type, MessageType::Refused);
    EXPECT_EQ(refused->message.verdict, static_cast<std::uint8_t>(Refusal::Grant));
    EXPECT_EQ(refused->message.block, grant);
    EXPECT_EQ(refused->message.user, rows[grant].user);
    const std::string why(refused->bytes.begin(), refused->bytes.end());
    EXPECT_EQ(why.substr(0, 6), grant == 1 ? "user i" : "modula") << why;
  }
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->message.type, MessageType::Work);
  EXPECT_EQ(answer->message.frame, 2U);
  ASSERT_EQ(answer->message.block, 1U);
  port::BlockRow row;
  ASSERT_EQ(answer->bytes.size(), sizeof(row));
  std::memcpy(&row, answer->bytes.data(), sizeof(row));
  EXPECT_EQ(row.direction, 1U);
  EXPECT_EQ(row.user, 1U);
  EXPECT_EQ(row.bits, exchange.program(2).plan(0).A());
  EXPECT_EQ(socket.counters().refused[static_cast<std::size_t>(Refusal::Grant)], 2U);
  socket.finish();
}
