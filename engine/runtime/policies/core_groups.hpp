// BigStation's schedule on one server: a fixed group of cores for each stage, data parallel inside
// the group; frames follow one another from group to group and overlap (thesis figure 3.2 b).
#pragma once

#include <vector>

#include "runtime/policy.hpp"

namespace carillon::runtime {

class CoreGroups final : public Policy {
 public:
  /// `groups`: by opcode, none of them empty.
  explicit CoreGroups(std::span<const DeviceMask> groups);
  Admission admit(const View& view, FrameRef frame) override;
  std::size_t decide(const View& view, std::span<Issue> out) override;

 private:
  std::vector<DeviceMask> groups_;
};

}  // namespace carillon::runtime
