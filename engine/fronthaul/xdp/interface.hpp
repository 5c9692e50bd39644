// The Ethernet interface that has an IPv4 address, and its neighbours, in the network namespace of
// the calling thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace carillon::fronthaul::xdp {

using EthernetAddress = std::array<std::uint8_t, 6>;

struct Interface {
  std::string name;
  unsigned index = 0;
  EthernetAddress ethernet{};
  std::uint32_t receive_queues = 1;
};

/// Throws std::runtime_error when no Ethernet interface has the address.
Interface interface_with(const std::string& address);

/// The Ethernet address of a neighbour, asked of the network (ARP) where the kernel does not know
/// it; takes up to 3 s. Throws std::runtime_error when nobody answers.
EthernetAddress ethernet_of(const std::string& address, const Interface& through);

}  // namespace carillon::fronthaul::xdp
