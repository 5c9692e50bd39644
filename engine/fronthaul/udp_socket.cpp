#include "fronthaul/udp_socket.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace carillon::fronthaul {
namespace {

void set(int fd, int option, int value, const char* name) {
  if (setsockopt(fd, SOL_SOCKET, option, &value, sizeof value) == 0) return;
  fail_system(std::string("cannot set ") + name +
              " for fronthaul.io: busy-poll, which takes Linux 5.11 and the capability "
              "CAP_NET_ADMIN: run it as root, or use fronthaul.io: socket");
}

}  // namespace

void fail_link(const std::string& what) { throw std::runtime_error("fronthaul: " + what); }
void fail_system(const std::string& what) { fail_link(what + ": " + std::strerror(errno)); }

sockaddr_in address_of(const std::string& address, std::uint16_t port) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_port = htons(port);
  if (inet_pton(AF_INET, address.c_str(), &result.sin_addr) != 1)
    fail_link("'" + address + "' is not an IPv4 address such as 192.168.1.2");
  return result;
}

std::string name_of(const sockaddr_in& at) {
  std::array<char, INET_ADDRSTRLEN> text{};
  inet_ntop(AF_INET, &at.sin_addr, text.data(), text.size());
  return std::string(text.data()) + " port " + std::to_string(ntohs(at.sin_port));
}

std::uint32_t mtu_to(sockaddr_in peer) {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return 0;
  if (peer.sin_port == 0) peer.sin_port = htons(9);  // any: nothing is sent
  int mtu = 0;
  socklen_t size = sizeof mtu;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&peer), sizeof peer) != 0 ||
      getsockopt(fd, IPPROTO_IP, IP_MTU, &mtu, &size) != 0)
    mtu = 0;
  close(fd);
  return static_cast<std::uint32_t>(mtu);
}

Socket::Socket(const sockaddr_in& local) : fd_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  if (fd_ < 0) fail_system("cannot make a UDP socket");
  if (bind(fd_, reinterpret_cast<const sockaddr*>(&local), sizeof local) == 0) return;
  const int error = errno;
  close(fd_);
  fail_link("cannot receive on " + name_of(local) + ": " + std::strerror(error) +
            (error == EADDRINUSE      ? "; another process uses it: choose other ports"
             : error == EADDRNOTAVAIL ? "; no interface of this machine has that address"
                                      : ""));
}

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

std::uint16_t Socket::port() const {
  sockaddr_in local{};
  socklen_t size = sizeof local;
  getsockname(fd_, reinterpret_cast<sockaddr*>(&local), &size);
  return ntohs(local.sin_port);
}

// The kernel books about twice a datagram's bytes and therefore doubles what is asked.
std::uint64_t Socket::ask(int option, int force, std::uint64_t bytes) {
  const int wanted = static_cast<int>(bytes);
  if (setsockopt(fd_, SOL_SOCKET, force, &wanted, sizeof wanted) != 0)
    setsockopt(fd_, SOL_SOCKET, option, &wanted, sizeof wanted);
  int granted = 0;
  socklen_t size = sizeof granted;
  getsockopt(fd_, SOL_SOCKET, option, &granted, &size);
  return static_cast<std::uint64_t>(granted) / 2;
}

void Socket::busy_poll() {
  set(fd_, SO_BUSY_POLL, 50, "SO_BUSY_POLL");  // µs; calls that do not wait poll once
  set(fd_, SO_PREFER_BUSY_POLL, 1, "SO_PREFER_BUSY_POLL");
}

bool Socket::came_through_queue() const {
  unsigned queue = 0;
  socklen_t size = sizeof queue;
  return getsockopt(fd_, SOL_SOCKET, SO_INCOMING_NAPI_ID, &queue, &size) == 0 && queue != 0;
}

}  // namespace carillon::fronthaul
