// The bytes in front of a datagram's samples, which a card puts apart: Ethernet, IPv4 and UDP
// without options, then our own header. The card cuts at a fixed length, so that samples are in
// their place only if every header is as long as it should be.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fronthaul/packet.hpp"

namespace carillon::fronthaul::gpu {

inline constexpr std::uint32_t kEthernetBytes = 14, kIpv4Bytes = 20, kUdpBytes = 8;
inline constexpr std::uint32_t kNetworkBytes = kEthernetBytes + kIpv4Bytes + kUdpBytes;
inline constexpr std::uint32_t kBeforeSamples = kNetworkBytes + kHeaderBytes;

/// Where datagrams come to, and whose are heard. Numbers as the machine has them.
struct Destination {
  std::array<std::uint8_t, 6> ethernet{};
  std::uint32_t address = 0;
  std::uint16_t port = 0;
  std::uint32_t peer_address = 0;
  std::uint16_t peer_port = 0;
};

/// Why a frame's samples are not believed to be in their place.
enum class Misfit : std::uint8_t {
  None,
  Short,     ///< no whole headers
  NotIpv4,   ///< something else follows the Ethernet addresses, such as a VLAN tag
  Options,   ///< an IPv4 header with options
  Fragment,  ///< of a longer datagram
  Stranger,  ///< not UDP, not for this address and port, or not from the peer's
  Length,    ///< lengths contradict each other
  Checksum,  ///< of the IPv4 header
};
inline constexpr std::size_t kMisfits = 8;

struct Headers {
  Misfit misfit = Misfit::None;
  bool summed = false;      ///< the sender has made a checksum of the UDP datagram
  std::uint32_t bytes = 0;  ///< of the datagram, our header included; 0 for a misfit
};

/// Reads the headers of an Ethernet frame of `frame_bytes`, of which the first lie here, as many as
/// kBeforeSamples or all. Pure. The first reason in the order above.
Headers read_headers(std::span<const std::byte> first, std::size_t frame_bytes,
                     const Destination& ours) noexcept;

}  // namespace carillon::fronthaul::gpu
