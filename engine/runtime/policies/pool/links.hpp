// What is planned on the links of a pool's devices: when a result would be elsewhere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "runtime/policies/pool/outlook.hpp"

namespace carillon::runtime {

/// Of each device one link to the others each way, and one that all share; each carries one message
/// after the other, those of a later plan in the room that earlier ones leave.
class Links {
 public:
  static constexpr std::uint32_t kWhole = 1024;  ///< shares of a link

  explicit Links(std::size_t devices = 0) : links_(2 * devices + 2) {}
  static std::size_t sends(std::size_t device) { return 2 * device; }
  static std::size_t receives(std::size_t device) { return 2 * device + 1; }
  std::size_t size() const { return links_.size(); }
  std::size_t trunk() const { return links_.size() / 2 - 1; }  ///< as a device

  void advance(Tick now) {
    for (Outlook& each : links_) each.advance(now);
  }
  /// When a message of so many ns would be over, if it may start then.
  Tick done(std::size_t link, Tick start, double ns) const {
    return links_[link].done(start, ns * kWhole, kWhole);
  }
  /// The link is used by it between the two.
  void plan(std::size_t link, Tick start, Tick end, double ns) {
    if (end > start)
      links_[link].add(start, end,
                       static_cast<std::uint32_t>(ns * kWhole / static_cast<double>(end - start)));
  }

 private:
  std::vector<Outlook> links_;
};

}  // namespace carillon::runtime
