// Fronthaul over AF_XDP sockets: packets go between the interface and the stock past the kernel's
// network stack.
#pragma once

#include <memory>

#include "fronthaul/udp.hpp"

namespace carillon::fronthaul::xdp {

/// Takes what comes for options.address and options.ports from the first queue of the interface
/// that has the address; UDP sockets on the same ports keep these, and receive nothing. Neither
/// makes nor verifies UDP checksums (RFC 768 permits none); Ethernet has its own. Throws
/// std::runtime_error saying what is not there and what to do.
std::unique_ptr<UdpTransport> open(const UdpOptions& options);

}  // namespace carillon::fronthaul::xdp
