// Who owns a cell's bits, as a person configures it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/fields.hpp"

namespace carillon::port {

/// Bytes of a Unix socket's name (unix(7)).
inline constexpr std::size_t kLongestPath = 107;
/// Of a network device's.
inline constexpr std::size_t kLongestDevice = 15;

/// The address of user 0 in a network, as a number; nothing: that is no IPv4 network of 256.
std::optional<std::uint32_t> first_user(const std::string& network);

/// The data section of a run plan.
struct DataOptions {
  std::string socket;        // of the baseband unit's data port
  std::string users_socket;  // of the emulated users'
  std::string tun;           // instead: the TUN device of the server behind the baseband unit,
  std::string users_tun;     // and of the users
  std::string network = "10.45.0.0";  // of 256 addresses: the server's is .1, the first user's .2

  template <typename Self, typename Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("socket", self.socket);
    visit("users_socket", self.users_socket);
    visit("tun", self.tun);
    visit("users_tun", self.users_tun);
    visit("network", self.network);
  }

  /// Whether a side's bits have an owner; else they are the emulator's.
  bool owned() const { return !socket.empty() || !tun.empty(); }
  bool users_owned() const { return !users_socket.empty() || !users_tun.empty(); }
};

}  // namespace carillon::port
