#include "fronthaul/xdp/transport.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/aligned.hpp"
#include "fronthaul/network_meter.hpp"
#include "fronthaul/ring.hpp"
#include "fronthaul/udp_socket.hpp"
#include "fronthaul/xdp/socket.hpp"

namespace carillon::fronthaul::xdp {
namespace {

struct [[gnu::packed]] Headers {
  ethhdr ethernet;
  iphdr ip;
  udphdr udp;
};
static_assert(sizeof(Headers) == 42);

constexpr std::uint32_t kKernelRoom = 256;  // before each packet (XDP_PACKET_HEADROOM)
constexpr std::uint32_t kDatagram = 320;    // in a chunk: samples are aligned behind our header
constexpr std::uint32_t kFrame = kDatagram - sizeof(Headers);
constexpr std::uint32_t kMostDatagram = kChunkBytes - kDatagram;
constexpr std::uint32_t kSending = 1024;  // each: queued, in the kernel's ring, done
constexpr int kKicks = 64;                // in each of which the kernel sends 32 packets

std::uint16_t sum_of(iphdr ip) noexcept {
  std::array<std::uint16_t, sizeof(iphdr) / 2> words;
  std::memcpy(words.data(), &ip, sizeof ip);
  std::uint32_t sum = 0;
  for (const std::uint16_t word : words) sum += word;
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

// One thread at a time; others do not wait. Who had it sees, after giving it back, all that those
// did before who asked for it in vain: exchanges, even to give it back, order both.
class Turn {
 public:
  explicit Turn(std::atomic<bool>& taken) noexcept
      : taken_(taken), ours_(!taken.exchange(true, std::memory_order_acq_rel)) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (ours_) taken_.exchange(false, std::memory_order_acq_rel);
  }
  explicit operator bool() const noexcept { return ours_; }

 private:
  std::atomic<bool>& taken_;
  bool ours_;
};

struct alignas(kCacheLine) Inlet {
  explicit Inlet(std::unique_ptr<XdpFile> own, int fd, std::uint32_t size)
      : file(std::move(own)), receiver(fd, size) {}
  std::unique_ptr<XdpFile> file;  // null: the owner's
  Receiver receiver;
  NetworkMeter meter;
};

std::uint32_t ready_for(const UdpOptions& options) {
  const auto wanted = static_cast<std::uint32_t>(options.socket_packets *
                                                 std::max<std::size_t>(1, options.ports.size()));
  return std::bit_ceil(std::clamp(wanted, 1024U, 8192U));
}

class XdpTransport final : public UdpTransport {
 public:
  explicit XdpTransport(const UdpOptions& options)
      : ready_(ready_for(options)),
        buffers_(options.buffers + ready_ + 3 * kSending),
        pages_(BufferStock::bytes(buffers_, kChunkBytes) + kChunkBytes, -1, 0),
        stock_(pages_.data() + padding(), buffers_, kChunkBytes, true),
        sockets_(UdpTransport::open(plain(options))),
        interface_(interface_with(options.address)),
        ours_(address_of(options.address, 0)),
        peer_(address_of(options.peer_address, 0)),
        neighbour_(ethernet_of(options.peer_address, interface_)),
        steering_(interface_, ours_.sin_addr, sockets_->ports()),
        owner_(stock_.all().data(), buffers_, kFrame - kKernelRoom, ready_, kSending),
        queue_memory_(fronthaul::Ring<xdp_desc>::bytes(kSending)),
        queue_(queue_memory_.data(), kSending, true) {
    if (interface_.receive_queues > 1)
      fail_link(interface_.name + " has " + std::to_string(interface_.receive_queues) +
                " receive queues, and fronthaul.io: af-xdp takes packets from the first: have one "
                "with `ethtool -L " +
                interface_.name + " combined 1`");
    receive_on(owner_.file.number(), nullptr);
    zero_copy_ = bind_owner(owner_.file.number(), interface_);
    for (std::size_t i = 1; i < options.ports.size(); ++i) {
      auto beside = std::make_unique<XdpFile>();
      const int fd = beside->file.number();
      receive_on(fd, std::move(beside));
      bind_beside(fd, interface_, owner_.file.number());
    }
    for (std::uint32_t i = 0; i < inlets_.size(); ++i) steering_.set(i, fd_of(i));
    fill();
    steering_.attach();
    set_peer_ports(options.peer_ports);
  }

  std::uint32_t receivers() const override { return static_cast<std::uint32_t>(inlets_.size()); }
  std::uint32_t peer_receivers() const override {
    return static_cast<std::uint32_t>(peer_ports_.size());
  }

  std::size_t receive(std::uint32_t receiver, std::span<Received> out) noexcept override {
    Inlet& inlet = *inlets_[receiver];
    auto& ring = inlet.receiver.ring;
    const auto came = std::min(
        ring.waiting(), static_cast<std::uint32_t>(std::min<std::size_t>(out.size(), ready_)));
    std::size_t count = 0;
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i < came; ++i) {
      if (!take(ring.to_read(i), out[count])) continue;
      bytes += out[count++].bytes;
    }
    if (came > 0) {
      ring.release(came);
      in_kernel_.fetch_sub(came, std::memory_order_relaxed);
    }
    fill();
    if (came == 0) look_after_kernel(inlet);
    if (came > 0) inlet.meter.count(0, came, bytes);
    return count;
  }
  bool pending(std::uint32_t receiver) const noexcept override {
    return inlets_[receiver]->receiver.ring.waiting() > 0;
  }
  void wait(std::uint32_t receiver, Tick at_most) noexcept override {
    pollfd file{fd_of(receiver), POLLIN, 0};
    const timespec most{at_most / kSecond, at_most % kSecond};
    ppoll(&file, 1, &most, nullptr);
  }

  void recycle(std::span<const std::uint32_t> buffers) noexcept override {
    stock_.release(buffers);
  }
  ReceivedMemory received_memory() noexcept override { return {stock_.all(), {}}; }
  std::uint32_t acquire() noexcept override { return stock_.acquire(); }
  void abandon(std::span<const std::uint32_t> buffers) noexcept override {
    stock_.release(buffers);
  }
  std::byte* memory(std::uint32_t buffer) noexcept override { return stock_[buffer] + kDatagram; }

  // What was sent is the kernel's until it says that it is done: the caller gets another buffer.
  std::size_t send(std::span<Outgoing> packets) noexcept override {
    if (peer_ports_.empty()) return 0;
    std::size_t sent = 0;
    // Where none can be put, those that are done may make room: once more.
    for (int vain = 0; sent < packets.size() && vain < 2;) {
      const std::size_t before = sent;
      while (sent < packets.size() && put(packets[sent])) ++sent;
      transmit();
      vain = sent > before ? 0 : vain + 1;
    }
    return sent;
  }

  NetworkTime receive_time(std::uint32_t receiver) const noexcept override {
    return inlets_[receiver]->meter.read();
  }
  NetworkTime send_time() const noexcept override { return send_meter_.read(); }
  std::uint32_t available() const noexcept override {
    return stock_.available() + in_kernel_.load(std::memory_order_relaxed);
  }
  std::uint32_t buffers() const noexcept override { return buffers_; }
  std::uint64_t foreign() const noexcept override {
    return foreign_.load(std::memory_order_relaxed);
  }
  std::vector<std::string> notes() const override { return sockets_->notes(); }
  std::vector<std::string> findings() const override {
    std::vector<std::string> found{
        std::string("fronthaul.io: af-xdp on ") + interface_.name + ": " +
        (steering_.native() ? "in the driver" : "in the kernel's generic path") +
        (zero_copy_ ? ", without a copy" : ", copied")};
    if (foreign() > 0)
      found.push_back("datagrams that were not heard because they did not come from " +
                      name_of(peer_) + ": " + std::to_string(foreign()));
    return found;
  }

  std::vector<std::uint16_t> ports() const override { return sockets_->ports(); }
  void set_peer_ports(const std::vector<std::uint16_t>& ports) override {
    peer_ports_ = ports;
    const auto own = sockets_->ports().front();
    templates_.clear();
    for (const auto port : ports) templates_.push_back(headers_to(own, port));
  }

 private:
  static UdpOptions plain(UdpOptions options) {
    if (options.packet_bytes > kMostDatagram)
      fail_link("packets of " + std::to_string(options.packet_bytes) +
                " bytes do not fit into a page, as fronthaul.io: af-xdp needs (" +
                std::to_string(kMostDatagram) +
                " at most): use a smaller FFT, or fronthaul.io: "
                "socket");
    options.io = UdpIo::Socket;
    options.buffers = 1;
    options.socket_packets = 1;
    return options;
  }
  // So that the stock's buffers begin with a page.
  std::size_t padding() const {
    const std::size_t before =
        BufferStock::bytes(buffers_, kChunkBytes) - std::size_t{buffers_} * kChunkBytes;
    return (kChunkBytes - before % kChunkBytes) % kChunkBytes;
  }
  void receive_on(int fd, std::unique_ptr<XdpFile> file) {
    inlets_.push_back(std::make_unique<Inlet>(std::move(file), fd, ready_));
  }
  int fd_of(std::uint32_t receiver) const noexcept {
    const auto& own = inlets_[receiver]->file;
    return own == nullptr ? owner_.file.number() : own->file.number();
  }

  Headers headers_to(std::uint16_t own, std::uint16_t port) const {
    Headers made{};
    std::ranges::copy(neighbour_, made.ethernet.h_dest);
    std::ranges::copy(interface_.ethernet, made.ethernet.h_source);
    made.ethernet.h_proto = htons(ETH_P_IP);
    made.ip.version = 4;
    made.ip.ihl = 5;
    made.ip.frag_off = htons(IP_DF);
    made.ip.ttl = 64;
    made.ip.protocol = IPPROTO_UDP;
    made.ip.saddr = ours_.sin_addr.s_addr;
    made.ip.daddr = peer_.sin_addr.s_addr;
    made.udp.source = htons(own);
    made.udp.dest = htons(port);
    return made;
  }

  // Queues it. False: no buffer or no place is left.
  bool put(Outgoing& packet) noexcept {
    const std::uint32_t other = stock_.acquire();
    if (other == kNoBuffer) return false;
    write_ids(packet.ids, memory(packet.buffer));
    const std::uint32_t goes = packet.resident ? other : packet.buffer;
    if (packet.resident) std::memcpy(memory(goes), memory(packet.buffer), packet.bytes);
    Headers headers = templates_[packet.receiver % templates_.size()];
    headers.ip.tot_len =
        htons(static_cast<std::uint16_t>(sizeof(iphdr) + sizeof(udphdr) + packet.bytes));
    headers.ip.check = sum_of(headers.ip);
    headers.udp.len = htons(static_cast<std::uint16_t>(sizeof(udphdr) + packet.bytes));
    std::memcpy(stock_[goes] + kFrame, &headers, sizeof headers);
    in_kernel_.fetch_add(1, std::memory_order_relaxed);
    if (!queue_.push({std::uint64_t{goes} * kChunkBytes + kFrame,
                      static_cast<std::uint32_t>(sizeof headers) + packet.bytes, 0})) {
      in_kernel_.fetch_sub(1, std::memory_order_relaxed);
      stock_.release({&other, 1});
      return false;
    }
    if (!packet.resident) packet.buffer = other;
    return true;
  }

  // Whoever has the turn also sends what others queue meanwhile, until the kernel takes no more.
  void transmit() noexcept {
    for (bool room = true; room;) {
      {
        const Turn turn(sending_);
        if (!turn) return;
        room = move_to_kernel();
      }
      if (queue_.empty()) return;  // asked after the turn: who did not get it counts on that
    }
  }

  // False: the kernel takes no more now.
  bool move_to_kernel() noexcept {
    complete();
    if (owner_.send.room() == 0) {
      kick();
      complete();
    }
    const std::uint32_t room = owner_.send.room();
    std::uint32_t made = 0;
    std::uint64_t bytes = 0;
    for (; made < room && queue_.pop(owner_.send.to_write(made)); ++made)
      bytes += owner_.send.to_write(made).len - sizeof(Headers);
    owner_.send.submit(made);
    const Tick before = now();
    kick();
    if (made > 0) send_meter_.count(now() - before, made, bytes);
    complete();
    return owner_.send.room() > 0;
  }

  // The program has checked what kind of packet it is; whose it is we do.
  bool take(const xdp_desc& came, Received& out) noexcept {
    const auto buffer = static_cast<std::uint32_t>(came.addr / kChunkBytes);
    const std::byte* const frame = stock_.all().data() + came.addr;
    Headers headers;
    std::memcpy(&headers, frame, sizeof headers);
    const bool known =
        headers.ip.saddr == peer_.sin_addr.s_addr &&
        std::ranges::find(peer_ports_, ntohs(headers.udp.source)) != peer_ports_.end();
    const std::uint32_t length = ntohs(headers.udp.len);
    const std::size_t room = came.len - sizeof headers + sizeof(udphdr);
    if (!known || length < sizeof(udphdr) || length > room) {
      foreign_.fetch_add(1, std::memory_order_relaxed);
      stock_.release({&buffer, 1});
      return false;
    }
    const std::uint32_t bytes = length - static_cast<std::uint32_t>(sizeof(udphdr));
    const std::byte* const datagram = frame + sizeof headers;
    out = {read_ids({datagram, bytes}), bytes, buffer,
           reinterpret_cast<const std::int16_t*>(datagram + kHeaderBytes)};
    return true;
  }

  // Lets the kernel have buffers for what comes.
  void fill() noexcept {
    const Turn turn(filling_);
    if (!turn) return;
    const std::uint32_t room = owner_.fill.room();
    std::uint32_t count = 0;
    for (; count < room; ++count) {
      const std::uint32_t buffer = stock_.acquire();
      if (buffer == kNoBuffer) break;
      owner_.fill.to_write(count) = std::uint64_t{buffer} * kChunkBytes;
    }
    if (count == 0) return;
    owner_.fill.submit(count);
    in_kernel_.fetch_add(count, std::memory_order_relaxed);
  }

  void complete() noexcept {
    const std::uint32_t done = owner_.completion.waiting();
    for (std::uint32_t i = 0; i < done; ++i) {
      const auto buffer = static_cast<std::uint32_t>(owner_.completion.to_read(i) / kChunkBytes);
      stock_.release({&buffer, 1});
    }
    if (done == 0) return;
    owner_.completion.release(done);
    in_kernel_.fetch_sub(done, std::memory_order_relaxed);
  }

  // Has the kernel send what lies in the ring.
  void kick() noexcept {
    for (int i = 0; i < kKicks && owner_.send.waiting() > 0; ++i)
      if (sendto(owner_.file.number(), nullptr, 0, MSG_DONTWAIT, nullptr, 0) < 0 && errno != EAGAIN)
        return;  // its queue is full: the next call goes on
  }

  // A driver that has run out of buffers, or packets that have not gone.
  void look_after_kernel(Inlet& inlet) noexcept {
    if (owner_.fill.needs_wakeup()) {
      const Tick before = now();
      recvfrom(owner_.file.number(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
      inlet.meter.count(now() - before, 0, 0);
    }
    if (!queue_.empty() || owner_.send.waiting() > 0 || owner_.completion.waiting() > 0) transmit();
  }

  const std::uint32_t ready_, buffers_;
  Pages pages_;
  BufferStock stock_;
  std::unique_ptr<UdpTransport> sockets_;  // keep the ports
  Interface interface_;
  sockaddr_in ours_, peer_;
  EthernetAddress neighbour_;
  std::vector<std::uint16_t> peer_ports_;
  std::vector<Headers> templates_;  // of packets to the peer's ports
  Steering steering_;
  Owner owner_;
  std::vector<std::unique_ptr<Inlet>> inlets_;
  bool zero_copy_ = false;
  AlignedArray<std::byte> queue_memory_;
  fronthaul::Ring<xdp_desc> queue_;  // what is to be sent, from any thread
  std::atomic<bool> sending_{false}, filling_{false};
  std::atomic<std::uint32_t> in_kernel_{0};  // buffers, or on the way there
  std::atomic<std::uint64_t> foreign_{0};
  NetworkMeter send_meter_;
};

}  // namespace

std::unique_ptr<UdpTransport> open(const UdpOptions& options) {
  return std::make_unique<XdpTransport>(options);
}

}  // namespace carillon::fronthaul::xdp
