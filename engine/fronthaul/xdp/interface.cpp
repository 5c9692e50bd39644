#include "fronthaul/xdp/interface.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "base/descriptor.hpp"
#include "base/thread.hpp"
#include "fronthaul/udp_socket.hpp"

namespace carillon::fronthaul::xdp {
namespace {

// Any, to ask about interfaces with.
Descriptor any_socket() { return Descriptor(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)); }

bool ask(const Descriptor& socket, unsigned long what, void* request) {
  return ioctl(socket.number(), what, request) == 0;
}

// Empty: none of this namespace.
std::string name_with(const sockaddr_in& wanted) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(first, &freeifaddrs);
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    sockaddr_in own;
    std::memcpy(&own, each->ifa_addr, sizeof own);
    if (own.sin_addr.s_addr == wanted.sin_addr.s_addr) return each->ifa_name;
  }
  return {};
}

ifreq request_for(const std::string& name) {
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  return request;
}

EthernetAddress octets_of(const sockaddr& hardware) {
  EthernetAddress ethernet;
  std::memcpy(ethernet.data(), hardware.sa_data, ethernet.size());
  return ethernet;
}

std::uint32_t queues_of(const Descriptor& asker, const std::string& name) {
  ethtool_channels channels{};
  channels.cmd = ETHTOOL_GCHANNELS;
  ifreq request = request_for(name);
  request.ifr_data = reinterpret_cast<char*>(&channels);
  if (!ask(asker, SIOCETHTOOL, &request)) return 1;
  return std::max(1U, channels.combined_count + channels.rx_count);
}

std::optional<EthernetAddress> known(const Descriptor& asker, const sockaddr_in& neighbour,
                                     const Interface& through) {
  arpreq request{};
  std::memcpy(&request.arp_pa, &neighbour, sizeof neighbour);
  through.name.copy(request.arp_dev, sizeof request.arp_dev - 1);
  if (!ask(asker, SIOCGARP, &request) || (request.arp_flags & ATF_COM) == 0) return std::nullopt;
  return octets_of(request.arp_ha);
}

}  // namespace

Interface interface_with(const std::string& address) {
  Interface found;
  found.name = name_with(address_of(address, 0));
  if (found.name.empty()) fail_link("no interface of this machine has the address " + address);
  const Descriptor asker = any_socket();
  ifreq request = request_for(found.name);
  if (!ask(asker, SIOCGIFHWADDR, &request) || request.ifr_hwaddr.sa_family != ARPHRD_ETHER)
    fail_link(found.name + ", which has the address " + address +
              ", is no Ethernet interface, as fronthaul.io: af-xdp needs one: use another address, "
              "or fronthaul.io: socket");
  found.ethernet = octets_of(request.ifr_hwaddr);
  found.index = if_nametoindex(found.name.c_str());
  found.receive_queues = queues_of(asker, found.name);
  return found;
}

EthernetAddress ethernet_of(const std::string& address, const Interface& through) {
  sockaddr_in neighbour = address_of(address, 9);  // of a port that discards
  if (!name_with(neighbour).empty()) return interface_with(address).ethernet;
  const Descriptor asker = any_socket();
  constexpr int kTries = 300;
  for (int i = 0; i < kTries; ++i) {
    if (const auto found = known(asker, neighbour, through)) return *found;
    if (i % 100 == 0)  // an empty datagram makes the kernel ask
      sendto(asker.number(), nullptr, 0, MSG_DONTWAIT,
             reinterpret_cast<const sockaddr*>(&neighbour), sizeof neighbour);
    sleep_until(now() + 10 * kMillisecond);
  }
  fail_link("nobody on the network of " + through.name + " has the address " + address +
            ": start the other host, or use its address in that network; fronthaul.io: af-xdp does "
            "not go through routers");
}

}  // namespace carillon::fronthaul::xdp
