#include "fronthaul/gpu/interface.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <system_error>

namespace carillon::fronthaul::gpu {

namespace fs = std::filesystem;

namespace {

std::string name_of(const std::string& address) {
  in_addr wanted{};
  ifaddrs* list = nullptr;
  if (inet_pton(AF_INET, address.c_str(), &wanted) != 1 || getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(list, freeifaddrs);
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next)
    if (each->ifa_addr != nullptr && each->ifa_addr->sa_family == AF_INET &&
        reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr.s_addr == wanted.s_addr)
      return each->ifa_name;
  return {};
}

std::string line_of(const fs::path& file) {
  std::ifstream from(file);
  std::string line;
  std::getline(from, line);
  return line;
}

std::uint32_t number_of(const fs::path& file) {
  unsigned number = 0;
  return std::sscanf(line_of(file).c_str(), "%u", &number) == 1 ? number : 0;
}

// The first by name; a card has one as a rule.
std::string rdma_of(const fs::path& device) {
  std::string first;
  std::error_code error;
  for (fs::directory_iterator at(device / "infiniband", error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (first.empty() || name < first) first = name;
  }
  return first;
}

}  // namespace

Interface find_interface(const std::string& address, const fs::path& root) {
  Interface found;
  found.name = name_of(address);
  if (found.name.empty()) {
    found.why = "no interface of this machine has the address " + address;
    return found;
  }
  const fs::path folder = root / "sys/class/net" / found.name;
  found.card = rdma_of(folder / "device");
  found.port = static_cast<std::uint8_t>(number_of(folder / "dev_port") + 1);
  found.mtu = number_of(folder / "mtu");
  auto& mac = found.ethernet;
  const bool ethernet =
      std::sscanf(line_of(folder / "address").c_str(), "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx",
                  &mac[0], &mac[1], &mac[2], &mac[3], &mac[4], &mac[5]) == 6;
  if (found.card.empty())
    found.why = "the interface " + found.name + ", which has the address " + address +
                ", is not an RDMA card's own";
  else if (!ethernet || found.mtu == 0)
    found.why = "sysfs does not tell the Ethernet address and the MTU of " + found.name;
  return found;
}

}  // namespace carillon::fronthaul::gpu
