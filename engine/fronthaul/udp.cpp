#include "fronthaul/udp.hpp"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/aligned.hpp"
#include "fronthaul/inlet.hpp"
#include "fronthaul/network_meter.hpp"
#include "fronthaul/udp_socket.hpp"
#include "fronthaul/xdp/transport.hpp"

namespace carillon::fronthaul {
namespace {

constexpr std::size_t kBatch = Inlet::kBatch;
constexpr std::uint32_t kMostDatagram = 65507;  // IPv4's 65535 less its header and UDP's
constexpr std::uint32_t kWireHeaders = 28;      // IPv4 and UDP

// What one system call sends: messages of one or more packets.
struct Messages {
  std::array<mmsghdr, kBatch> messages;
  std::array<iovec, kBatch> vectors;
  struct alignas(cmsghdr) Control {
    std::byte bytes[CMSG_SPACE(sizeof(std::uint16_t))];
  };
  std::array<Control, kBatch> controls;
  std::array<std::uint32_t, kBatch> packets;  // of each message
  unsigned count = 0, vectors_used = 0;

  void add(std::byte* bytes, std::uint32_t length, sockaddr_in* peer, bool segmenting) noexcept {
    vectors[vectors_used] = {bytes, length};
    if (!segmenting || count == 0 || !join(length, peer)) {
      msghdr& header = messages[count].msg_hdr;
      header = {};
      header.msg_name = peer;
      header.msg_namelen = sizeof *peer;
      header.msg_iov = &vectors[vectors_used];
      header.msg_iovlen = 1;
      packets[count++] = 1;
    }
    ++vectors_used;
  }

 private:
  // Makes the packet part of the last message, if it may be.
  bool join(std::uint32_t length, const sockaddr_in* peer) noexcept {
    msghdr& header = messages[count - 1].msg_hdr;
    if (header.msg_name != peer || header.msg_iov->iov_len != length || length == 0 ||
        (header.msg_iovlen + 1) * length > kMostDatagram)
      return false;
    if (header.msg_iovlen++ == 1) {
      header.msg_control = &controls[count - 1];
      header.msg_controllen = sizeof(Control);
      cmsghdr* const control = CMSG_FIRSTHDR(&header);
      control->cmsg_level = SOL_UDP;
      control->cmsg_type = UDP_SEGMENT;
      control->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
      const auto segment = static_cast<std::uint16_t>(length);
      std::memcpy(CMSG_DATA(control), &segment, sizeof segment);
    }
    ++packets[count - 1];
    return true;
  }
};

class Udp final : public UdpTransport {
 public:
  explicit Udp(const UdpOptions& options)
      : prefix_(options.io == UdpIo::IoUring ? kUringPrefix : 0),
        busy_(options.io == UdpIo::BusyPoll),
        memory_(BufferStock::bytes(options.buffers, options.buffer_bytes + prefix_)),
        stock_(memory_.data(), options.buffers, options.buffer_bytes + prefix_, true),
        peer_(address_of(options.peer_address, 0)) {
    if (options.packet_bytes > kMostDatagram)
      fail_link("a packet of " + std::to_string(options.packet_bytes) +
                " bytes does not fit into a UDP datagram (" + std::to_string(kMostDatagram) +
                " at most): use a smaller FFT");
    if (options.buffer_bytes <= options.packet_bytes)
      fail_link("buffers must be longer than the longest packet");
    for (const auto port : options.ports) add_inlet(Socket(address_of(options.address, port)));
    if (inlets_.empty()) fail_link("at least one port is needed");
    check_buffers(options);
    check_mtu(options);
    set_peer_ports(options.peer_ports);
  }

  std::uint32_t receivers() const override { return static_cast<std::uint32_t>(inlets_.size()); }

  std::size_t receive(std::uint32_t receiver, std::span<Received> out) noexcept override {
    Inlet& inlet = *inlets_[receiver];
    std::array<Datagram, kBatch> taken;
    const std::size_t came = inlet.take({taken.data(), std::min(out.size(), kBatch)});
    std::size_t count = 0;
    for (const Datagram& each : std::span(taken).first(came)) {
      if (from_peer(each.sender)) {
        out[count++] = {read_ids({memory(each.buffer), each.bytes}), each.bytes, each.buffer,
                        samples(each.buffer)};
      } else {
        count_foreign(inlet, each.sender);
        stock_.release({&each.buffer, 1});
      }
    }
    return count;
  }
  // Datagrams from elsewhere may lie before the peer's.
  bool pending(std::uint32_t receiver) const noexcept override { return inlets_[receiver]->more(); }

  void recycle(std::span<const std::uint32_t> buffers) noexcept override {
    stock_.release(buffers);
  }
  ReceivedMemory received_memory() noexcept override { return {stock_.all(), {}}; }
  std::uint32_t acquire() noexcept override { return stock_.acquire(); }
  void abandon(std::span<const std::uint32_t> buffers) noexcept override {
    stock_.release(buffers);
  }
  std::byte* memory(std::uint32_t buffer) noexcept override { return stock_[buffer] + prefix_; }

  std::size_t send(std::span<Outgoing> packets) noexcept override {
    std::size_t sent = 0;
    while (sent < packets.size()) {
      const auto batch = packets.subspan(sent, std::min(kBatch, packets.size() - sent));
      const std::size_t went = send_batch(batch);
      sent += went;
      if (went < batch.size()) break;
    }
    return sent;
  }

  NetworkTime receive_time(std::uint32_t receiver) const noexcept override {
    return inlets_[receiver]->meter.read();
  }
  NetworkTime send_time() const noexcept override { return send_meter_.read(); }
  std::uint32_t available() const noexcept override {
    std::uint32_t waiting = 0;
    for (const auto& inlet : inlets_) waiting += inlet->waiting();
    return stock_.available() + waiting;
  }
  std::uint32_t buffers() const noexcept override { return stock_.count(); }
  std::uint64_t foreign() const noexcept override {
    std::uint64_t sum = 0;
    for (const auto& inlet : inlets_) sum += inlet->foreign.load(std::memory_order_relaxed);
    return sum;
  }
  std::vector<std::string> notes() const override { return notes_; }
  std::vector<std::string> findings() const override {
    std::vector<std::string> found;
    const auto heard = std::ranges::find_if(inlets_, [](const auto& inlet) {
      return inlet->foreign.load(std::memory_order_relaxed) > 0;
    });
    if (heard != inlets_.end())
      found.push_back("datagrams that were not heard because they did not come from " +
                      (peers_.empty() ? "the other side" : name_of(peers_.front())) + ": " +
                      std::to_string(foreign()) + ", one of them from " +
                      name_of((*heard)->first_foreign));
    if (busy_ && std::ranges::none_of(inlets_, [](const auto& inlet) {
          return inlet->meter.read().packets == 0 || inlet->socket.came_through_queue();
        }))
      found.push_back(
          "fronthaul.io: busy-poll changed nothing: datagrams came through an interface that has "
          "no queue to poll, as the loopback and virtual cables");
    return found;
  }

  std::vector<std::uint16_t> ports() const override {
    std::vector<std::uint16_t> ports;
    for (const auto& inlet : inlets_) ports.push_back(inlet->socket.port());
    return ports;
  }
  void wait(std::uint32_t receiver, Tick at_most) noexcept override {
    inlets_[receiver]->wait(at_most);
  }
  std::uint32_t peer_receivers() const override {
    return static_cast<std::uint32_t>(peers_.size());
  }
  void set_peer_ports(const std::vector<std::uint16_t>& ports) override {
    peers_.assign(ports.size(), peer_);
    for (std::size_t i = 0; i < ports.size(); ++i) peers_[i].sin_port = htons(ports[i]);
  }

 private:
  void add_inlet(Socket&& socket) {
    if (busy_) socket.busy_poll();
    inlets_.push_back(prefix_ > 0 ? make_uring_inlet(std::move(socket), stock_)
                                  : make_socket_inlet(std::move(socket), stock_));
  }

  bool from_peer(const sockaddr_in& sender) const noexcept {
    return std::ranges::any_of(peers_, [&](const sockaddr_in& peer) {
      return sender.sin_addr.s_addr == peer.sin_addr.s_addr && sender.sin_port == peer.sin_port;
    });
  }

  static void count_foreign(Inlet& inlet, const sockaddr_in& sender) noexcept {
    if (inlet.foreign.fetch_add(1, std::memory_order_relaxed) == 0) inlet.first_foreign = sender;
  }

  // Neighbouring packets of one length for one receiver go down as one message that the kernel
  // cuts up again (UDP_SEGMENT): the same datagrams for less than half the time.
  std::size_t send_batch(std::span<Outgoing> packets) noexcept {
    if (peers_.empty()) return 0;
    Messages to_send;
    for (const Outgoing& packet : packets) {
      std::byte* const bytes = memory(packet.buffer);
      write_ids(packet.ids, bytes);
      to_send.add(bytes, packet.bytes, &peers_[packet.receiver % peers_.size()],
                  segmenting_.load(std::memory_order_relaxed));
    }
    const Tick before = now();
    const int sent =
        sendmmsg(inlets_[0]->socket.fd(), to_send.messages.data(), to_send.count, MSG_DONTWAIT);
    const Tick spent = now() - before;
    const bool too_long = errno == EINVAL || errno == EMSGSIZE || errno == EIO;
    if (sent < 0 && too_long && to_send.packets[0] > 1) {
      segmenting_.store(false, std::memory_order_relaxed);  // an older kernel, or beyond the MTU
      return send_batch(packets);
    }
    std::size_t count = 0;
    std::uint64_t bytes = 0;
    for (int m = 0; m < sent; ++m) count += to_send.packets[static_cast<std::size_t>(m)];
    for (std::size_t i = 0; i < count; ++i) bytes += packets[i].bytes;
    send_meter_.count(spent, count, bytes);
    return count;
  }

  void check_buffers(const UdpOptions& options) {
    constexpr std::uint64_t kLeast = 256 << 10, kMost = 256 << 20;
    const std::uint64_t wanted =
        std::clamp(std::uint64_t{options.socket_packets} * options.packet_bytes, kLeast, kMost);
    std::uint64_t granted = wanted;
    for (const auto& inlet : inlets_) {
      granted = std::min(granted, inlet->socket.ask(SO_RCVBUF, SO_RCVBUFFORCE, wanted));
      inlet->socket.ask(SO_SNDBUF, SO_SNDBUFFORCE, wanted);
    }
    if (granted < wanted)
      notes_.push_back("the socket's receive buffer is " + std::to_string(granted >> 10) +
                       " KiB but should be " + std::to_string(wanted >> 10) +
                       " KiB: packets will be lost when a receiver pauses. Allow more with: "
                       "sysctl -w net.core.rmem_max=" +
                       std::to_string(wanted));
  }

  void check_mtu(const UdpOptions& options) {
    const std::uint32_t mtu = mtu_to(peer_);
    if (mtu == 0) {
      notes_.push_back("there is no route to " + options.peer_address +
                       ": nothing can be sent there");
    } else if (options.packet_bytes + kWireHeaders > mtu) {
      const std::uint32_t pieces = (options.packet_bytes + 8 + mtu - 21) / (mtu - 20);
      notes_.push_back("datagrams of " + std::to_string(options.packet_bytes) +
                       " bytes do not fit the MTU of " + std::to_string(mtu) + " towards " +
                       options.peer_address + ": each travels as " + std::to_string(pieces) +
                       " fragments, which costs time and losses. Set the interfaces on the way to "
                       "an MTU of " +
                       std::to_string(options.packet_bytes + kWireHeaders) + " or more");
    }
  }

  const std::uint32_t prefix_;  // of each buffer, before the datagram
  const bool busy_;
  AlignedArray<std::byte> memory_;
  BufferStock stock_;
  std::vector<std::unique_ptr<Inlet>> inlets_;
  sockaddr_in peer_;
  std::vector<sockaddr_in> peers_;
  std::atomic<bool> segmenting_{true};
  NetworkMeter send_meter_;
  std::vector<std::string> notes_;
};

}  // namespace

std::vector<std::uint16_t> consecutive_ports(std::uint16_t base, std::uint32_t count) {
  std::vector<std::uint16_t> ports(count);
  for (std::uint32_t i = 0; i < count; ++i)
    ports[i] = static_cast<std::uint16_t>(base == 0 ? 0 : base + i);
  return ports;
}

std::unique_ptr<UdpTransport> UdpTransport::open(const UdpOptions& options) {
  if (options.io == UdpIo::AfXdp) return xdp::open(options);
  return std::make_unique<Udp>(options);
}

}  // namespace carillon::fronthaul
