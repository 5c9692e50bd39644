#include "fronthaul/link.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "fronthaul/authenticated.hpp"
#include "fronthaul/key_file.hpp"

namespace carillon::fronthaul {
namespace {

// Buffers that lie in sockets' batches waiting for datagrams, and some to spare.
constexpr std::uint32_t kSlack = 256;

ShmOptions shm_options(const LinkOptions& options, const Layout& layout, const LinkDepth& depth) {
  const std::uint32_t up = layout.packets(Carries::Uplink);
  const std::uint32_t down = layout.packets(Carries::Downlink);
  ShmOptions result;
  result.buffer_bytes = layout.buffer_bytes();
  result.uplink = {depth.replay * up + kSlack, options.receivers, std::max(1024U, 2 * up)};
  result.downlink = {(depth.downlink + depth.collected + 1) * down + kSlack, 1,
                     std::max(1024U, 2 * down)};
  return result;
}

UdpOptions udp_options(Side side, const LinkOptions& options, const Layout& layout,
                       const LinkDepth& depth) {
  const std::uint32_t up = layout.packets(Carries::Uplink);
  const std::uint32_t down = layout.packets(Carries::Downlink);
  UdpOptions result;
  result.io = options.io;
  result.buffer_bytes = layout.buffer_bytes(options.code_bytes());
  result.packet_bytes = layout.most_packet_bytes() + options.code_bytes();
  if (side == Side::Baseband) {
    result.address = options.bbu_address;
    result.ports = consecutive_ports(options.bbu_port, options.receivers);
    result.peer_address = options.radio_address;
    result.peer_ports = consecutive_ports(options.radio_port, 1);
    result.buffers = uplink_buffers(options, layout, depth) + depth.downlink * down;
    result.socket_packets = depth.ingest * up / options.receivers;
  } else {
    result.address = options.radio_address;
    result.ports = consecutive_ports(options.radio_port, 1);
    result.peer_address = options.bbu_address;
    result.peer_ports = consecutive_ports(options.bbu_port, options.receivers);
    result.buffers = depth.replay * up + (depth.collected + 1) * down + kSlack;
    result.socket_packets = depth.downlink * down;
  }
  return result;
}

// An end of UDP as its users see it.
std::unique_ptr<Transport> with_key(std::unique_ptr<Transport> end, const LinkOptions& options,
                                    Side side) {
  if (options.key_file.empty()) return end;
  try {
    const SipHash hash(read_key(options.key_file));
    return std::make_unique<AuthenticatedTransport>(std::move(end), hash, side);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(std::string("fronthaul.key_file ") + error.what());
  }
}

}  // namespace

std::uint32_t LinkOptions::code_bytes() const {
  return kind == LinkKind::Udp && !key_file.empty() ? kCodeBytes : 0;
}

std::uint32_t uplink_buffers(const LinkOptions& options, const Layout& layout,
                             const LinkDepth& depth) {
  return depth.ingest * layout.packets(Carries::Uplink) + options.receivers * kSlack;
}

Link open_both(const LinkOptions& options, const Layout& layout, const LinkDepth& depth) {
  if (options.kind == LinkKind::Shm) {
    auto [baseband, radio] = make_shm_pair(shm_options(options, layout, depth));
    return {std::move(baseband), std::move(radio)};
  }
  auto baseband = UdpTransport::open(udp_options(Side::Baseband, options, layout, depth));
  auto radio = UdpTransport::open(udp_options(Side::Radio, options, layout, depth));
  baseband->set_peer_ports(radio->ports());
  radio->set_peer_ports(baseband->ports());
  return {with_key(std::move(baseband), options, Side::Baseband),
          with_key(std::move(radio), options, Side::Radio)};
}

std::unique_ptr<Transport> open_end(Side side, const LinkOptions& options, const Layout& layout,
                                    const LinkDepth& depth) {
  if (options.kind == LinkKind::Shm)
    return open_shm(options.shm_name, side, shm_options(options, layout, depth));
  return with_key(UdpTransport::open(udp_options(side, options, layout, depth)), options, side);
}

}  // namespace carillon::fronthaul
