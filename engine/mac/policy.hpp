// Who gets how many of a slot's resource blocks. A policy knows nothing of radio or ports.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>

#include "frame/format.hpp"

namespace carillon::mac {

/// One user's, in a slot.
struct Demand {
  std::uint32_t user = 0;
  std::uint64_t waiting = 0;  // bytes
  double bits_per_block = 0;  // that a resource block carries at this user's rate; above 0
  double average = 0;         // bits of a slot, so far
  double least_bits = 40;     // of a transport block: with fewer, its check is most of it

  /// The fewest of a slot's resource blocks that are worth a transport block.
  std::uint32_t least(std::uint32_t blocks) const { return at_most(blocks, least_bits); }
  /// Of a slot's resource blocks, those for all that waits; 0: nothing does.
  std::uint32_t needed(std::uint32_t blocks) const {
    if (waiting == 0) return 0;
    return std::max(least(blocks), at_most(blocks, 8 * static_cast<double>(waiting)));
  }

 private:
  std::uint32_t at_most(std::uint32_t blocks, double bits) const {
    const double wanted = std::ceil(bits / bits_per_block);
    return wanted < blocks ? static_cast<std::uint32_t>(wanted) : blocks;
  }
};

/// Divides the slots of one direction, one after another. Does not allocate.
class Policy {
 public:
  virtual ~Policy() = default;

  /// `demands`: by user, of each at most one. `shares`: as many resource blocks as each gets,
  /// `blocks` together at most: none of who has nothing to send, else none or Demand::least or
  /// more.
  virtual void divide(std::span<const Demand> demands, std::uint32_t blocks,
                      std::span<std::uint32_t> shares) noexcept = 0;
};

/// For so many users at most.
std::unique_ptr<Policy> make_policy(frame::GrantPolicy kind, std::uint32_t users);

/// The average after one more slot, of so many in which what was falls to 1/e.
inline double averaged(double average, double bits, double window) {
  return average + (bits - average) / window;
}

}  // namespace carillon::mac
