// Datagrams as they are on a cable: Ethernet, IPv4 and UDP around them, with sums as RFC 1071 and
// 768 have them, and a radio whose cable ends in the network card that is none.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "fronthaul/forwarding.hpp"
#include "fronthaul/gpu/headers.hpp"
#include "fronthaul/network_meter.hpp"
#include "support/fake_verbs.hpp"

namespace carillon::test {

using Bytes = std::vector<std::byte>;

inline constexpr fronthaul::gpu::Destination kHere{
    {2, 0, 0, 0, 0, 7}, 0x7f000001, 8000, 0x7f000002, 9000};

/// What a sender may do otherwise than it should.
struct Manner {
  Bytes tag = {};      ///< between Ethernet's addresses and its type
  Bytes options = {};  ///< of IPv4, whole words
  std::uint16_t fragment = 0;
  bool summed = true;  ///< UDP has a checksum
};

inline void put_half(Bytes& bytes, std::size_t at, std::uint32_t value) {
  bytes[at] = static_cast<std::byte>(value >> 8);
  bytes[at + 1] = static_cast<std::byte>(value);
}

inline void append(Bytes& to, std::span<const std::byte> more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// What makes the sum of all 16-bit words 0xffff.
inline std::uint32_t complement(std::span<const std::byte> bytes, std::uint64_t sum = 0) {
  for (std::size_t at = 0; at < bytes.size(); ++at)
    sum += std::to_integer<std::uint64_t>(bytes[at]) << (at % 2 == 0 ? 8 : 0);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint32_t>(~sum & 0xffff);
}

inline Bytes frame_of(std::span<const std::byte> datagram,
                      const fronthaul::gpu::Destination& to = kHere, const Manner& manner = {}) {
  Bytes udp(8);
  put_half(udp, 0, to.peer_port);
  put_half(udp, 2, to.port);
  put_half(udp, 4, static_cast<std::uint32_t>(8 + datagram.size()));
  append(udp, datagram);

  Bytes ip(20);
  append(ip, manner.options);
  ip[0] = static_cast<std::byte>(0x40 | ip.size() / 4);
  put_half(ip, 2, static_cast<std::uint32_t>(ip.size() + udp.size()));
  put_half(ip, 6, manner.fragment);
  ip[8] = std::byte{64};
  ip[9] = std::byte{17};
  put_half(ip, 12, to.peer_address >> 16);
  put_half(ip, 14, to.peer_address);
  put_half(ip, 16, to.address >> 16);
  put_half(ip, 18, to.address);
  put_half(ip, 10, complement(ip));
  if (manner.summed) {
    Bytes sum(ip.begin() + 12, ip.begin() + 20);
    const auto pseudo = ~complement(sum) & 0xffff;
    const std::uint32_t check = complement(udp, pseudo + 17 + udp.size());
    put_half(udp, 6, check == 0 ? 0xffff : check);
  }

  Bytes frame(12);
  for (std::size_t i = 0; i < 6; ++i) {
    frame[i] = std::byte{to.ethernet[i]};
    frame[6 + i] = static_cast<std::byte>(i);
  }
  append(frame, manner.tag);
  frame.push_back(std::byte{0x08});
  frame.push_back(std::byte{0x00});
  append(frame, ip);
  append(frame, udp);
  if (frame.size() < 60) frame.resize(60);
  return frame;
}

/// What it sends comes over the card's cable; to the socket behind it comes what no rule is for.
class CabledTransport final : public fronthaul::ForwardingTransport {
 public:
  CabledTransport(std::unique_ptr<fronthaul::Transport> inner, const FakeVerbs& verbs,
                  std::vector<fronthaul::gpu::Destination> to)
      : ForwardingTransport(*inner), owned_(std::move(inner)), verbs_(verbs), to_(std::move(to)) {}

  std::size_t send(std::span<fronthaul::Outgoing> packets) noexcept override {
    for (std::size_t i = 0; i < packets.size(); ++i) {
      const auto& packet = packets[i];
      fronthaul::write_ids(packet.ids, memory(packet.buffer));
      const Bytes frame =
          frame_of({memory(packet.buffer), packet.bytes}, to_[packet.receiver % to_.size()]);
      if (verbs_.come(frame))
        meter_.count(0, 1, packet.bytes);
      else if (inner_.send({&packets[i], 1}) == 0)
        return i;
    }
    return packets.size();
  }
  /// By the cable.
  fronthaul::NetworkTime send_time() const noexcept override { return meter_.read(); }

 private:
  std::unique_ptr<fronthaul::Transport> owned_;
  fronthaul::NetworkMeter meter_;
  const FakeVerbs verbs_;
  const std::vector<fronthaul::gpu::Destination> to_;
};

}  // namespace carillon::test
