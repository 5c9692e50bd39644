#include "port/ip.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "base/thread.hpp"
#include "port/options.hpp"

namespace carillon::port {
namespace {

// The cell's threads make no system call, so that nothing wakes this one: it looks.
constexpr timespec kLook{0, 250'000};
constexpr int kMostPackets = 64;  // in a row
constexpr int kPatienceMs = 100;
constexpr std::size_t kLongest = 0xffff;
constexpr std::size_t kIpv4Header = 20, kSource = 12, kDestination = 16;

std::uint32_t address_at(std::span<const std::uint8_t> packet, std::size_t place) {
  return std::uint32_t{packet[place]} << 24 | std::uint32_t{packet[place + 1]} << 16 |
         std::uint32_t{packet[place + 2]} << 8 | packet[place + 3];
}

bool is_ipv4(std::span<const std::uint8_t> packet) {
  return packet.size() >= kIpv4Header && packet[0] >> 4 == 4;
}

}  // namespace

std::optional<std::uint32_t> first_user(const std::string& network) {
  in_addr address{};
  if (::inet_pton(AF_INET, network.c_str(), &address) != 1) return std::nullopt;
  const std::uint32_t number = ntohl(address.s_addr);
  if (number % 256 != 0) return std::nullopt;
  return number + 2;
}

Descriptor open_tun(const std::string& name) {
  static_assert(IFNAMSIZ == kLongestDevice + 1);
  if (name.empty() || name.size() > kLongestDevice)
    throw std::runtime_error(name + ": is no name for a network device: choose one of at most " +
                             std::to_string(kLongestDevice) + " bytes");
  Descriptor device(::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!device.is_open()) dataflow::fail_by_system("/dev/net/tun", errno);
  ifreq request{};
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  std::ranges::copy(name, request.ifr_name);
  if (::ioctl(device.number(), TUNSETIFF, &request) != 0) {
    if (errno == EPERM)
      throw std::runtime_error(name + ": a TUN device takes root, or CAP_NET_ADMIN");
    dataflow::fail_by_system(name, errno);
  }
  return device;
}

IpPort::IpPort(Descriptor device, std::uint32_t first, const frame::Frame& frame,
               Exchange& exchange, std::unique_ptr<Scheduling> scheduling)
    : frame_(frame),
      exchange_(exchange),
      device_(std::move(device)),
      first_(first),
      sequencer_(frame, exchange.receives()),
      scheduling_(std::move(scheduling)),
      packet_(kLongest) {
  const std::uint32_t users = frame.format().users;
  users_.reserve(users);
  for (std::uint32_t u = 0; u < users; ++u) users_.emplace_back(kQueue);
  for (const frame::FrameProgram& program : frame.programs()) {
    const auto& of_user =
        blocks_by_user_.emplace_back(blocks_by_user(program, exchange.sends(), users));
    for (std::uint32_t u = 0; u < users; ++u) users_[u].sends |= !of_user[u].empty();
  }
  if (scheduling_)
    for (User& user : users_) user.sends = frame.room(exchange.sends()).transport_blocks > 0;
}

void IpPort::start() {
  thread_.start("IP", [this](const dataflow::Stop& stop) { serve(stop); });
}

void IpPort::finish() {
  thread_.stop(kPatienceMs);
  if (!device_.is_open()) return;
  deliver_blocks();
  if (scheduling_) scheduling_->finish();
  exchange_.close();
  device_ = Descriptor();
}

IpCounters IpPort::counters() const noexcept {
  const auto read = [&](Counter counter) {
    return counters_[counter].load(std::memory_order_relaxed);
  };
  return {read(Sent), read(Dropped), read(Foreign), read(Delivered), read(Broken), read(Refused)};
}

void IpPort::serve(const dataflow::Stop& stop) {
  // Frames that are scheduled too late are lost; where it may not, more of them are.
  if (scheduling_) (void)make_prompt();
  while (!stop.is_asked()) {
    std::array<pollfd, 2> files{pollfd{stop.file(), POLLIN, 0},
                                pollfd{device_.number(), POLLIN, 0}};
    ::ppoll(files.data(), files.size(), &kLook, nullptr);
    // A device that somebody has removed is ready all the time.
    if ((files[1].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0)
      ::ppoll(files.data(), 1, &kLook, nullptr);
    look();
  }
}

void IpPort::look() {
  take_packets();
  fill_blocks();
  deliver_blocks();
}

// What the device has: the users' queues drop what they have no room for.
void IpPort::take_packets() {
  for (int i = 0; i < kMostPackets; ++i) {
    const ssize_t length = ::read(device_.number(), packet_.data(), packet_.size());
    if (length <= 0) return;
    const std::span packet(packet_.data(), static_cast<std::size_t>(length));
    if (!is_ipv4(packet)) {
      count(Foreign);
      continue;
    }
    const bool down = exchange_.sends() == frame::Direction::Downlink;
    const std::uint32_t user = address_at(packet, down ? kDestination : kSource) - first_;
    if (user >= users_.size() || !users_[user].sends)
      count(Foreign);
    else if (!users_[user].packer.push(packet))
      count(Dropped);
  }
}

void IpPort::fill_blocks() {
  if (const auto begun = exchange_.newest()) {
    begun_ = true;
    newest_ = begun->frame;
  }
  if (!begun_) return;
  if (scheduling_)
    return scheduling_->look(newest_,
                             {.waiting = [&](std::uint32_t u) { return users_[u].packer.needed(); },
                              .fill = [&](std::uint32_t frame) { fill_scheduled(frame); }});
  for (std::uint32_t u = 0; u < users_.size(); ++u)
    if (users_[u].sends) fill(u);
}

// Blocks are filled in order, and only as far ahead as keeps them in time: what waits there waits
// for nothing.
void IpPort::fill(std::uint32_t number) {
  User& user = users_[number];
  while (!user.packer.empty()) {
    if (const auto ahead = static_cast<std::int32_t>(user.frame - newest_);
        ahead <= 0 || ahead > static_cast<std::int32_t>(kAhead) + 1) {
      user.frame = newest_ + 1;
      user.k = 0;
    }
    if (static_cast<std::int32_t>(user.frame - newest_) > static_cast<std::int32_t>(kAhead)) return;
    const auto& blocks = blocks_by_user_[user.frame % blocks_by_user_.size()][number];
    if (user.k < blocks.size()) {
      if (!give(user, user.frame, blocks[user.k])) return;
      ++user.k;
    } else {
      user.k = 0;
      ++user.frame;
    }
  }
}

// At once: it was scheduled for what waits.
void IpPort::fill_scheduled(std::uint32_t frame) {
  const frame::FrameProgram& program = exchange_.program(frame);
  sequencer_.expect(frame, program);
  const auto of_user =
      blocks_by_user(program, exchange_.sends(), static_cast<std::uint32_t>(users_.size()));
  for (std::size_t u = 0; u < users_.size(); ++u)
    for (const std::uint32_t block : of_user[u])
      if (!give(users_[u], frame, block)) break;
}

// False: the cell has no room for it now. One that is too late, or too short, is passed over.
bool IpPort::give(User& user, std::uint32_t frame, std::uint32_t block) {
  const Message message = message_of(MessageType::Bits, frame_, exchange_.program(frame),
                                     exchange_.sends(), frame, block);
  block_.resize(bytes_for(message.bits));
  // Spare bits of the last byte do not travel.
  const std::size_t whole = message.bits / 8;
  block_.back() = 0;
  if (!user.packer.fill(std::span(block_).first(whole))) return true;
  const Refusal why = exchange_.offer(message, block_);
  if (why == Refusal::None)
    count(Sent, user.packer.sent());
  else
    user.packer.unsent();
  return why != Refusal::Early && why != Refusal::NoFrame;
}

void IpPort::deliver_blocks() {
  for (const Message* block = exchange_.front(); block != nullptr; block = exchange_.front()) {
    const auto bits = exchange_.bits();
    const auto whole = bits.first(std::min<std::size_t>(bits.size(), block->bits / 8));
    sequencer_.push(*block, whole, [&](std::uint32_t user, auto content) {
      Unpacker& unpacker = users_[user].unpacker;
      const std::uint64_t before = unpacker.broken();
      unpacker.push(content, [&](auto packet) { deliver(user, packet); });
      count(Broken, unpacker.broken() - before);
    });
    if (scheduling_) scheduling_->heard(*block);
    exchange_.pop();
    blocks_.fetch_add(1, std::memory_order_relaxed);
  }
}

// Nobody speaks in another user's name, or hears what is another's.
void IpPort::deliver(std::uint32_t user, std::span<const std::uint8_t> packet) {
  const bool down = exchange_.sends() == frame::Direction::Downlink;
  const bool own =
      is_ipv4(packet) && address_at(packet, down ? kSource : kDestination) == first_ + user;
  if (!own) return count(Foreign);
  const ssize_t written = ::write(device_.number(), packet.data(), packet.size());
  count(written == static_cast<ssize_t>(packet.size()) ? Delivered : Refused);
}

}  // namespace carillon::port
