// A UDP socket and its addresses.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <utility>

namespace carillon::fronthaul {

/// Throws std::runtime_error, with errno's words behind.
[[noreturn]] void fail_link(const std::string& what);
[[noreturn]] void fail_system(const std::string& what);

sockaddr_in address_of(const std::string& address, std::uint16_t port);
/// "192.168.1.2 port 8000"
std::string name_of(const sockaddr_in& at);
/// The MTU of the route to the peer; 0 when there is no route.
std::uint32_t mtu_to(sockaddr_in peer);

class Socket {
 public:
  /// Throws std::runtime_error naming the address and what to do.
  explicit Socket(const sockaddr_in& local);
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket();

  int fd() const { return fd_; }
  std::uint16_t port() const;
  /// Asks for room and returns what was granted, in bytes of datagrams.
  std::uint64_t ask(int option, int force, std::uint64_t bytes);
  /// Has system calls poll the device's queue themselves (SO_BUSY_POLL, socket(7)).
  void busy_poll();
  /// Whether a datagram came through a queue that can be polled (SO_INCOMING_NAPI_ID).
  bool came_through_queue() const;

 private:
  int fd_;
};

}  // namespace carillon::fronthaul
