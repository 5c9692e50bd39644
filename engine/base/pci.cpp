#include "base/pci.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <system_error>

namespace carillon::pci {

namespace fs = std::filesystem;

namespace {

struct Generation {
  std::string_view speed;
  double gigatransfers;  // of a lane, each a bit
  double coding;         // bits of data in a bit on the lane
};
// Gen1 and Gen2 code 8 bits as 10, Gen3 to Gen5 128 as 130. Gen6 sends 256-byte flits of which 236
// are transactions.
constexpr Generation kGenerations[] = {
    {"2.5 ", 2.5, 8.0 / 10},    {"5.0 ", 5, 8.0 / 10},      {"8.0 ", 8, 128.0 / 130},
    {"16.0 ", 16, 128.0 / 130}, {"32.0 ", 32, 128.0 / 130}, {"64.0 ", 64, 236.0 / 256},
};

std::string read_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

std::uint32_t number(const std::string& text, int base) {
  char* end = nullptr;
  const unsigned long value = std::strtoul(text.c_str(), &end, base);
  return end == text.c_str() || value > 0xffff'ffffUL ? 0 : static_cast<std::uint32_t>(value);
}

// 255: what Linux says of a width that it cannot read.
std::uint32_t lanes(const fs::path& file) {
  const std::uint32_t value = number(read_line(file), 10);
  return value > 32 ? 0 : value;
}

Node node_at(const fs::path& folder) {
  Node node;
  node.address = folder.filename().string();
  node.now = {generation_of(read_line(folder / "current_link_speed")),
              lanes(folder / "current_link_width")};
  node.most = {generation_of(read_line(folder / "max_link_speed")),
               lanes(folder / "max_link_width")};
  return node;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename().string());
  std::ranges::sort(names);
  return names;
}

// A link of /sys/bus/pci/devices leads to …/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0.
Device device_at(const fs::path& folder) {
  Device device;
  device.address = folder.filename().string();
  device.vendor = number(read_line(folder / "vendor"), 16);
  device.id = number(read_line(folder / "device"), 16);
  device.kind = number(read_line(folder / "class"), 16);
  device.rdma = names_in(folder / "infiniband");
  std::error_code error;
  if (const fs::path driver = fs::read_symlink(folder / "driver", error); !error)
    device.driver = driver.filename().string();
  const fs::path place = fs::weakly_canonical(folder, error);
  fs::path walked;
  for (const fs::path& part : place) {
    walked /= part;
    if (!device.root.empty())
      device.path.push_back(node_at(walked));
    else if (part.string().starts_with("pci") && part.string().find(':') != std::string::npos)
      device.root = part.string();
  }
  if (device.path.empty()) device.path.push_back(node_at(folder));
  return device;
}

Link narrower(Link a, Link b) {
  if (!a.known()) return b;
  if (!b.known()) return a;
  return limit_mb_per_s(b) < limit_mb_per_s(a) ? b : a;
}

Link narrowest_from(const Device& device, std::size_t first) {
  Link link;
  for (std::size_t i = first; i < device.path.size(); ++i)
    link = narrower(link, device.path[i].now);
  return link;
}

}  // namespace

bool is_gpu(const Device& device) { return device.vendor == kNvidia && device.kind >> 16 == 0x03; }
bool is_network(const Device& device) { return device.kind >> 16 == 0x02; }

std::uint32_t generation_of(std::string_view speed) {
  for (std::size_t i = 0; i < std::size(kGenerations); ++i)
    if (speed.starts_with(kGenerations[i].speed)) return static_cast<std::uint32_t>(i + 1);
  return 0;
}

std::vector<Device> devices(const fs::path& root) {
  const fs::path folder = root / "sys/bus/pci/devices";
  std::vector<Device> all;
  for (const std::string& address : names_in(folder)) all.push_back(device_at(folder / address));
  return all;
}

double limit_mb_per_s(Link link) {
  if (!link.known() || link.generation > std::size(kGenerations)) return 0;
  const Generation& of = kGenerations[link.generation - 1];
  return of.gigatransfers * 1e3 * link.lanes * of.coding * kUse / 8;
}

Link narrowest(const Device& device) { return narrowest_from(device, 0); }

Link narrowest(const Device& from, const Device& to) {
  std::size_t common = 0;
  if (share_root(from, to))
    while (common < std::min(from.path.size(), to.path.size()) &&
           from.path[common].address == to.path[common].address)
      ++common;
  return narrower(narrowest_from(from, common), narrowest_from(to, common));
}

bool share_root(const Device& a, const Device& b) { return !a.root.empty() && a.root == b.root; }

}  // namespace carillon::pci
