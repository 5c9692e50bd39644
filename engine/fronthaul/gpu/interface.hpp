// Which network card has one of this machine's addresses, from Linux's sysfs.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

namespace carillon::fronthaul::gpu {

struct Interface {
  std::string name;       ///< enp59s0np0
  std::string card;       ///< its ibverbs name: mlx5_0
  std::uint8_t port = 1;  ///< of the card
  std::array<std::uint8_t, 6> ethernet{};
  std::uint32_t mtu = 0;
  std::string why;  ///< there is none that a card could receive for: in words, and what to do
};

/// `address` is IPv4's, of one interface. `root` is / but for tests.
Interface find_interface(const std::string& address, const std::filesystem::path& root = "/");

}  // namespace carillon::fronthaul::gpu
