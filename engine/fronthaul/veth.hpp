// Two network namespaces with nothing in them but the ends of a virtual cable (veth(4)): what goes
// from one to the other passes the kernel's whole stack and an interface of the given MTU, as on a
// loopback it does not. They last as long as their descriptors and the sockets made in them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

namespace carillon::fronthaul {

/// A file descriptor of a network namespace.
class NetworkNamespace {
 public:
  /// A new one, empty. Throws std::runtime_error: it takes CAP_SYS_ADMIN.
  NetworkNamespace();
  NetworkNamespace(const NetworkNamespace&) = delete;
  NetworkNamespace& operator=(const NetworkNamespace&) = delete;
  ~NetworkNamespace();

  int fd() const { return fd_; }
  /// Does something in it, in a thread of its own, and throws what that throws. Sockets that are
  /// made there stay there.
  void inside(const std::function<void()>& action) const;

 private:
  int fd_ = -1;
};

class VirtualCable {
 public:
  static constexpr const char* kInterface = "cable";  // at each end

  /// Throws std::runtime_error saying what the kernel refuses.
  explicit VirtualCable(std::uint32_t mtu);

  const NetworkNamespace& end(std::size_t which) const { return ends_[which]; }
  /// The IPv4 address of an end, of the range for such measurements (RFC 2544).
  static std::string address(std::size_t which);

 private:
  std::array<NetworkNamespace, 2> ends_;
};

}  // namespace carillon::fronthaul
