// Fronthaul over UDP/IPv4: batches of datagrams straight into the stock. Only what comes from the
// peer's address and one of its ports is heard.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fronthaul/transport.hpp"

namespace carillon::fronthaul {

/// How datagrams are asked of the kernel: by recvmmsg(2); by the same, polling the device's queue
/// (SO_BUSY_POLL); by io_uring(7), of Linux 6.0: all these send by sendmmsg(2), in segments. Or
/// past its network stack, by AF_XDP (fronthaul/xdp/transport.hpp).
enum class UdpIo : std::uint8_t { Socket, BusyPoll, IoUring, AfXdp };

struct UdpOptions {
  UdpIo io = UdpIo::Socket;
  std::string address = "127.0.0.1";    // ours
  std::vector<std::uint16_t> ports{0};  // one socket and receiver each; 0 takes a free one
  std::string peer_address = "127.0.0.1";
  std::vector<std::uint16_t> peer_ports;        // may be given later, see set_peer_ports
  std::uint32_t buffers = 0, buffer_bytes = 0;  // of the stock, for both directions
  std::uint32_t packet_bytes = 0;               // the longest datagram, for the MTU's sake
  std::uint32_t socket_packets = 0;             // that should fit into a socket's buffer
};

/// base, base + 1, … as Agora's ports are numbered.
std::vector<std::uint16_t> consecutive_ports(std::uint16_t base, std::uint32_t count);

class UdpTransport : public Transport {
 public:
  /// Throws std::runtime_error naming the address, port or size and what to do.
  static std::unique_ptr<UdpTransport> open(const UdpOptions& options);

  virtual std::vector<std::uint16_t> ports() const = 0;
  /// Before anything is sent.
  virtual void set_peer_ports(const std::vector<std::uint16_t>& ports) = 0;
  /// Sleeps until there may be something to receive, or for so long: for receivers that have looked
  /// and found nothing.
  virtual void wait(std::uint32_t receiver, Tick at_most) noexcept = 0;
};

}  // namespace carillon::fronthaul
