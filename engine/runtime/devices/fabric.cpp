#include "runtime/devices/fabric.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace carillon::runtime {
namespace {

constexpr double kNsPerSecond = static_cast<double>(kSecond);

std::string fault(std::span<const FabricNode> nodes, std::size_t node, const std::string& what) {
  return "fabric node " + std::to_string(node) + " (" + nodes[node].name + "): " + what;
}

/// Links between a node and the host; nothing if they never get there.
std::optional<std::uint16_t> depth(std::span<const FabricNode> nodes, std::size_t node) {
  std::uint16_t links = 0;
  for (; node != 0 && links < nodes.size(); ++links) node = nodes[node].parent;
  return node == 0 ? std::optional(links) : std::nullopt;
}

std::string first_fault(std::span<const FabricNode> nodes) {
  constexpr std::size_t kMost = std::numeric_limits<std::uint16_t>::max();
  if (nodes.empty()) return "a fabric needs at least a host";
  if (nodes.size() > kMost) return "a fabric has at most " + std::to_string(kMost) + " nodes";
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    const FabricNode& node = nodes[i];
    if (node.parent >= nodes.size()) {
      return fault(nodes, i,
                   "its parent " + std::to_string(node.parent) +
                       " does not exist; the last node is " + std::to_string(nodes.size() - 1));
    }
    if (!(node.bytes_per_s > 0) || !std::isfinite(node.bytes_per_s)) {
      return fault(nodes, i, "its bandwidth must be positive");
    }
    if (node.latency < 0) return fault(nodes, i, "its latency must not be negative");
  }
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    if (!depth(nodes, i)) return fault(nodes, i, "its parents form a cycle without the host");
  }
  return {};
}

}  // namespace

FabricResult Fabric::build(std::span<const FabricNode> nodes) {
  if (std::string error = first_fault(nodes); !error.empty()) return {{}, std::move(error)};
  Fabric fabric;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    fabric.names_.push_back(nodes[i].name);
    Link& link = fabric.links_.emplace_back();
    if (i == 0) continue;
    link.ns_per_byte = kNsPerSecond / nodes[i].bytes_per_s;
    link.latency = static_cast<double>(nodes[i].latency);
    link.parent = nodes[i].parent;
    link.depth = *depth(nodes, i);
  }
  return {std::move(fabric), {}};
}

Fabric::Passage Fabric::cross(Link& link, LinkDirection direction, std::uint64_t bytes,
                              Passage at) {
  Lane& lane = link.lanes[static_cast<std::size_t>(direction)];
  const double time = static_cast<double>(bytes) * link.ns_per_byte;
  const double start = std::max(at.first, lane.free_at);
  lane.free_at = start + time;
  lane.busy += time;
  lane.bytes += bytes;
  return {start + link.latency, std::max(start + time, at.last) + link.latency};
}

Fabric::Passage Fabric::descend(std::uint16_t from, std::uint16_t to, std::uint64_t bytes,
                                Passage at) {
  if (to == from) return at;
  Link& link = links_[to];
  return cross(link, LinkDirection::Down, bytes, descend(from, link.parent, bytes, at));
}

Tick Fabric::transfer(std::uint16_t from, std::uint16_t to, std::uint64_t bytes, Tick now) {
  assert(from < size() && to < size());
  std::uint16_t top = from;
  for (std::uint16_t other = to; top != other;) {
    std::uint16_t& deeper = links_[top].depth >= links_[other].depth ? top : other;
    deeper = links_[deeper].parent;
  }

  Passage at{static_cast<double>(now), static_cast<double>(now)};
  for (; from != top; from = links_[from].parent) {
    at = cross(links_[from], LinkDirection::Up, bytes, at);
  }
  return std::llround(descend(top, to, bytes, at).last);
}

double Fabric::trunk_ns_per_byte() const {
  double trunk = 0;
  for (std::size_t node = 1; node < links_.size(); ++node) {
    if (links_[node].parent != 0) continue;
    if (trunk != 0) return 0;
    trunk = links_[node].ns_per_byte;
  }
  return trunk;
}

LinkUse Fabric::use(std::uint16_t node, LinkDirection direction) const {
  assert(node > 0 && node < size());
  const Lane& lane = links_[node].lanes[static_cast<std::size_t>(direction)];
  return {lane.bytes, std::llround(lane.busy)};
}

double fabric_bound(double frame_bytes, Tick frame_time, double bytes_per_s) {
  return bytes_per_s * static_cast<double>(frame_time) / kNsPerSecond / frame_bytes;
}

}  // namespace carillon::runtime
