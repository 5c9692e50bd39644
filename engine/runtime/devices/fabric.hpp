// The links between a host and its devices in virtual time: what a message waits for and how long
// it takes when others share its way (MegaStation §2.4: root ports, switch, chassis).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/tick.hpp"
#include "runtime/graph.hpp"

namespace carillon::runtime {

/// The host, a switch, a chassis or a device, with its link to its parent. Node 0 is the host: of
/// it only the name counts.
struct FabricNode {
  std::string name;
  std::uint16_t parent = 0;
  double bytes_per_s = 0;  ///< in each direction; both at once
  Tick latency = 0;        ///< for the first byte to cross the link, in each direction
};

/// Of a link between a node and its parent: towards the host or away from it.
enum class LinkDirection : std::uint8_t { Up, Down };

/// What one direction of a link has been given to carry so far.
struct LinkUse {
  std::uint64_t bytes = 0;
  Tick busy = 0;
};

struct FabricResult;

/// A tree of links. A message climbs from its sender to the lowest common ancestor and descends
/// from there, so devices of one chassis do not touch the host's link. Messages are cut through: a
/// node forwards the first byte at once. So alone a message takes the latencies of its way and its
/// bytes over the slowest link. Each direction of a link serves first come, first served, in the
/// order of the calls, and is busy with a message for the message's bytes over its own bandwidth.
///
/// Limits of the model: a message reserves its whole way when it is sent, so one sent later never
/// passes it on a link that both use; nodes buffer without bound, so a slow link does not hold up
/// the links before it; two messages do not interleave packet by packet, so sharing shows over many
/// messages. Bandwidths are to be net of packet headers.
class Fabric {
 public:
  /// Errors name the node: a parent that does not exist, a way up that never reaches the host, a
  /// bandwidth that is not positive, a negative latency. No node at all is an error.
  static FabricResult build(std::span<const FabricNode> nodes);

  /// When the last byte arrives if `from` may send at `now`. To the node itself: at once. Call in
  /// order of `now`.
  Tick transfer(std::uint16_t from, std::uint16_t to, std::uint64_t bytes, Tick now);

  /// ns that a byte occupies the link next to the host, if all nodes are behind it; else 0.
  double trunk_ns_per_byte() const;

  std::uint16_t size() const { return static_cast<std::uint16_t>(links_.size()); }
  /// The name of a node is that of its link.
  const std::string& name(std::uint16_t node) const { return names_[node]; }
  /// Of the link above a node (not the host). `busy` counts messages whole as soon as they are
  /// sent.
  LinkUse use(std::uint16_t node, LinkDirection direction) const;

 private:
  static constexpr double kFree = -std::numeric_limits<double>::infinity();
  // Nanoseconds with a fraction: a thousand short messages must not add up a thousand roundings.
  // To 1/1000 ns for two hours of virtual time, to 1 ns for 100 days.
  struct Lane {
    double free_at = kFree, busy = 0;
    std::uint64_t bytes = 0;
  };
  struct Link {
    double ns_per_byte = 0, latency = 0;
    std::uint16_t parent = 0, depth = 0;
    std::array<Lane, 2> lanes;  // [LinkDirection]
  };
  /// When a message's first and last bytes reach a node.
  struct Passage {
    double first, last;
  };

  static Passage cross(Link& link, LinkDirection direction, std::uint64_t bytes, Passage at);
  Passage descend(std::uint16_t from, std::uint16_t to, std::uint64_t bytes, Passage at);

  std::vector<Link> links_;  // links_[node] leads to its parent; links_[0] to nowhere
  std::vector<std::string> names_;
};

/// Either a fabric or the first thing that is wrong with it.
struct FabricResult {
  std::optional<Fabric> fabric;
  std::string error;
};

/// Sources of frames that one interconnect can feed (there: radio units): fewer than this
/// (MegaStation §5.4: S·RU/B < T). The paper's formula has the frame rate as a further factor,
/// which its units do not admit: the frames of all of them that arrive in one frame's time must
/// cross within it. frame_bytes: S, of one frame; frame_time: T, ns; bytes_per_s: B, of the slowest
/// link that all of them share.
double fabric_bound(double frame_bytes, Tick frame_time, double bytes_per_s);

}  // namespace carillon::runtime
