// The PCI Express devices of this machine: where in the tree each one is, what link it has, and
// what a link can carry at most. From Linux's sysfs; a machine that has none of it has no devices.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace carillon::pci {

/// As negotiated by the two ends. Generation 0: not told.
struct Link {
  std::uint32_t generation = 0;  ///< 1: 2.5 GT/s … 6: 64 GT/s
  std::uint32_t lanes = 0;

  bool known() const { return generation != 0 && lanes != 0; }
  bool operator==(const Link&) const = default;
};

/// A device, or a port on the way to it.
struct Node {
  std::string address;  ///< 0000:3b:00.0
  Link now, most;       ///< as it is, and as its device could have it
};

struct Device {
  std::string address;
  std::string root;        ///< pci0000:3a: the root complex that it is below
  std::vector<Node> path;  ///< from the root complex to the device, which is the last
  std::uint32_t vendor = 0, id = 0;
  std::uint32_t kind = 0;         ///< PCI's class code, 24 bits: 0x020000 is Ethernet
  std::string driver;             ///< empty: none is bound
  std::vector<std::string> rdma;  ///< its ibverbs names: mlx5_0
};

inline constexpr std::uint32_t kNvidia = 0x10de;
bool is_gpu(const Device& device);      ///< of NVIDIA
bool is_network(const Device& device);  ///< Ethernet, InfiniBand and their like

/// "8.0 GT/s PCIe" → 3; 0 for what is no speed of a link.
std::uint32_t generation_of(std::string_view speed);

/// All of them, by address. `root` is / but for tests.
std::vector<Device> devices(const std::filesystem::path& root = "/");

/// What is left of a link's raw rate for payload, by the slides' experience (Orlando, GPUDirect +
/// SDR, 2019).
inline constexpr double kUse = 0.85;

/// Payload in MB/s (10⁶ bytes) that a link carries in a direction: generation × lanes × coding ×
/// kUse. Gen2 x4: 1700. 0 when the link is not known.
double limit_mb_per_s(Link link);

/// The narrowest link between the root complex and a device, as it is now. Not known when no part
/// of the path tells.
Link narrowest(const Device& device);

/// The narrowest link on the way from one device to another, which goes up no further than to the
/// port that both are below; through the root complex when there is none.
Link narrowest(const Device& from, const Device& to);

/// Whether one can write into the other without leaving a root complex, as GPUDirect needs it.
bool share_root(const Device& a, const Device& b);

}  // namespace carillon::pci
