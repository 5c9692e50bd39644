#include "fronthaul/veth.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "base/descriptor.hpp"
#include "fronthaul/udp_socket.hpp"

namespace carillon::fronthaul {
namespace {

void in_a_thread(const std::function<void()>& action) {
  std::exception_ptr thrown;
  std::thread([&] {
    try {
      action();
    } catch (...) {
      thrown = std::current_exception();
    }
  }).join();
  if (thrown) std::rethrow_exception(thrown);
}

Descriptor socket_for_cable(int family, int type, int protocol) {
  Descriptor made(socket(family, type | SOCK_CLOEXEC, protocol));
  if (!made.is_open()) fail_system("cannot make a socket for a virtual cable");
  return made;
}

// A netlink message that grows (netlink(7), rtnetlink(7)).
class Message {
 public:
  Message(std::uint16_t type, std::uint16_t flags) {
    nlmsghdr header{};
    header.nlmsg_type = type;
    header.nlmsg_flags = flags;
    put(&header, sizeof header);
  }
  void put(const void* data, std::size_t bytes) {
    const auto* const from = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), from, from + bytes);
    bytes_.resize(NLMSG_ALIGN(bytes_.size()));
  }
  // Returns its place, for close().
  std::size_t open(std::uint16_t type) {
    const std::size_t at = bytes_.size();
    const rtattr attribute{RTA_LENGTH(0), type};
    put(&attribute, sizeof attribute);
    return at;
  }
  void close(std::size_t at) {
    const auto length = static_cast<std::uint16_t>(bytes_.size() - at);
    std::memcpy(&bytes_[at], &length, sizeof length);
  }
  void add(std::uint16_t type, const void* data, std::size_t bytes) {
    const std::size_t at = open(type);
    bytes_.insert(bytes_.end(), static_cast<const std::byte*>(data),
                  static_cast<const std::byte*>(data) + bytes);
    close(at);
    bytes_.resize(NLMSG_ALIGN(bytes_.size()));
  }
  void add(std::uint16_t type, std::uint32_t value) { add(type, &value, sizeof value); }
  void add(std::uint16_t type, std::string_view text) {
    add(type, std::string(text).c_str(), text.size() + 1);
  }
  // errno's value, or 0.
  int send() {
    const auto length = static_cast<std::uint32_t>(bytes_.size());
    std::memcpy(bytes_.data(), &length, sizeof length);
    const Descriptor netlink = socket_for_cable(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    struct {
      nlmsghdr header;
      nlmsgerr error;
    } answer{};
    if (::send(netlink.number(), bytes_.data(), bytes_.size(), 0) < 0 ||
        recv(netlink.number(), &answer, sizeof answer, 0) < static_cast<ssize_t>(sizeof answer))
      return errno;
    return -answer.error.error;
  }

 private:
  std::vector<std::byte> bytes_;
};

// In the namespace of this thread, its other end in another.
void make_cable(std::uint32_t mtu, int other) {
  Message message(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
  const ifinfomsg any{};
  message.put(&any, sizeof any);
  message.add(IFLA_IFNAME, VirtualCable::kInterface);
  message.add(IFLA_MTU, mtu);
  const std::size_t link = message.open(IFLA_LINKINFO);
  message.add(IFLA_INFO_KIND, "veth");
  const std::size_t data = message.open(IFLA_INFO_DATA);
  const std::size_t peer = message.open(VETH_INFO_PEER);
  message.put(&any, sizeof any);
  message.add(IFLA_IFNAME, VirtualCable::kInterface);
  message.add(IFLA_MTU, mtu);
  message.add(IFLA_NET_NS_FD, static_cast<std::uint32_t>(other));
  for (const std::size_t open : {peer, data, link}) message.close(open);
  errno = message.send();
  if (errno != 0)
    fail_system("cannot make a virtual cable (veth) with an MTU of " + std::to_string(mtu));
}

void start(const std::string& address) {
  const Descriptor any = socket_for_cable(AF_INET, SOCK_DGRAM, 0);
  const auto ask = [&](unsigned long what, const ifreq& request) {
    if (ioctl(any.number(), what, &request) != 0) fail_system("cannot set up a virtual cable");
  };
  ifreq request{};
  std::strcpy(request.ifr_name, VirtualCable::kInterface);
  const auto give = [&](unsigned long what, const std::string& text) {
    const sockaddr_in at = address_of(text, 0);
    std::memcpy(&request.ifr_addr, &at, sizeof at);
    ask(what, request);
  };
  give(SIOCSIFADDR, address);
  give(SIOCSIFNETMASK, "255.255.255.0");
  request.ifr_flags = IFF_UP;
  ask(SIOCSIFFLAGS, request);
}

}  // namespace

NetworkNamespace::NetworkNamespace() {
  in_a_thread([&] {
    if (unshare(CLONE_NEWNET) != 0)
      fail_system("cannot make a network namespace, which takes CAP_SYS_ADMIN: run it as root");
    fd_ = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) fail_system("cannot open a network namespace");
  });
}

NetworkNamespace::~NetworkNamespace() { close(fd_); }

void NetworkNamespace::inside(const std::function<void()>& action) const {
  in_a_thread([&] {
    if (setns(fd_, CLONE_NEWNET) != 0) fail_system("cannot enter a network namespace");
    action();
  });
}

VirtualCable::VirtualCable(std::uint32_t mtu) {
  ends_[0].inside([&] { make_cable(mtu, ends_[1].fd()); });
  for (std::size_t which = 0; which < ends_.size(); ++which)
    ends_[which].inside([&] { start(address(which)); });
}

std::string VirtualCable::address(std::size_t which) {
  return "198.18.0." + std::to_string(1 + which);
}

}  // namespace carillon::fronthaul
