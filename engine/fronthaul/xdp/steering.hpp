// The program in an interface's receive path that hands datagrams to AF_XDP sockets and leaves all
// else to the kernel.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <vector>

#include "base/descriptor.hpp"
#include "fronthaul/xdp/interface.hpp"

namespace carillon::fronthaul::xdp {

/// Unfragmented UDP over IPv4 without options, for our address and one of our ports: port number i
/// goes to socket i. Ends with this object, or the process.
class Steering {
 public:
  /// Throws std::runtime_error saying what the kernel refuses.
  Steering(const Interface& interface, in_addr address, const std::vector<std::uint16_t>& ports);

  /// Before attach().
  void set(std::uint32_t port, int socket);
  void attach();
  /// Whether the driver runs it, before the kernel makes a packet of its own of it.
  bool native() const { return native_; }

 private:
  Interface interface_;
  Descriptor map_, program_, link_;
  bool native_ = false;
};

}  // namespace carillon::fronthaul::xdp
