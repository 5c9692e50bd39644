// IP packets between the two ports of a cell, without a radio.
#pragma once

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "base/random.hpp"
#include "support/test.hpp"

namespace carillon::test {

using Bytes = std::vector<std::uint8_t>;

inline constexpr std::uint32_t kServer = 0x0a2d'0001, kFirst = 0x0a2d'0002;  // 10.45.0.1, …2

/// An IPv4 packet with a number in it.
inline Bytes packet(std::uint32_t source, std::uint32_t destination, std::uint32_t number,
                    std::size_t length) {
  Bytes bytes(length, static_cast<std::uint8_t>(number));
  bytes[0] = 0x45;
  for (std::size_t i = 0; i < 4; ++i) {
    bytes[12 + i] = static_cast<std::uint8_t>(source >> (24 - 8 * i));
    bytes[16 + i] = static_cast<std::uint8_t>(destination >> (24 - 8 * i));
    bytes[4 + i] = static_cast<std::uint8_t>(number >> (24 - 8 * i));
  }
  return bytes;
}

inline std::uint32_t number_of(const Bytes& packet) {
  return std::uint32_t{packet[4]} << 24 | std::uint32_t{packet[5]} << 16 |
         std::uint32_t{packet[6]} << 8 | packet[7];
}

/// Stands in for a TUN device: passes one packet at a time.
struct Device {
  Device() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
      throw std::runtime_error("socketpair");
    port = Descriptor(ends[0]);
    host = Descriptor(ends[1]);
  }
  bool send(const Bytes& bytes) const {
    return ::send(host.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  /// Whether the port has read all that was sent.
  bool all_taken() const {
    int left = 0;
    return ioctl(host.number(), SIOCOUTQ, &left) == 0 && left == 0;
  }
  std::vector<Bytes> received() const {
    std::vector<Bytes> all;
    Bytes bytes(65536);
    for (ssize_t n; (n = recv(host.number(), bytes.data(), bytes.size(), 0)) > 0;)
      all.emplace_back(bytes.begin(), bytes.begin() + n);
    return all;
  }
  Descriptor port, host;
};

/// 0 … count - 1, as chance has it.
inline std::vector<std::uint32_t> shuffled(std::size_t count, Random& random) {
  std::vector<std::uint32_t> order(count);
  for (std::uint32_t i = 0; i < count; ++i) order[i] = i;
  for (std::size_t i = count; i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.next() % i)]);
  return order;
}

/// So many packets of each of two users in each direction arrive, each user's in order. `Air` has
/// both ends, and passes a frame.
template <typename Air>
void expect_all_in_order(Air& air, std::size_t packets, std::size_t longest) {
  std::vector<std::vector<Bytes>> up(2), down(2), got_up(2), got_down(2);
  const auto all_there = [&] {
    for (const Bytes& bytes : air.server.device.received()) got_up[bytes[15] - 2U].push_back(bytes);
    for (const Bytes& bytes : air.users.device.received())
      got_down[bytes[19] - 2U].push_back(bytes);
    return got_up[0].size() + got_up[1].size() + got_down[0].size() + got_down[1].size() ==
           4 * packets;
  };
  for (std::uint32_t n = 0; !all_there(); ++n) {
    for (std::uint32_t u = 0; u < 2 && n < packets; ++u) {
      const std::size_t length = 20 + air.random.next() % longest;
      up[u].push_back(packet(kFirst + u, kServer, n, length));
      down[u].push_back(packet(kServer, kFirst + u, n, length));
      while (!air.users.device.send(up[u].back())) air.frame_goes();
      while (!air.server.device.send(down[u].back())) air.frame_goes();
    }
    air.frame_goes();
  }
  for (std::uint32_t u = 0; u < 2; ++u) {
    EXPECT_TRUE(got_up[u] == up[u]);
    EXPECT_TRUE(got_down[u] == down[u]);
  }
  air.server.ip.finish();  // what they did last is counted
  air.users.ip.finish();
  for (const auto* ip : {&air.server.ip, &air.users.ip}) {
    const auto counters = ip->counters();
    EXPECT_EQ(counters.sent, 2 * packets);
    EXPECT_EQ(counters.delivered, 2 * packets);
    EXPECT_EQ(counters.dropped + counters.foreign + counters.broken + counters.refused, 0U);
  }
}

}  // namespace carillon::test
