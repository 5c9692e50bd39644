#include "runtime/policies/core_groups.hpp"

#include "runtime/policies/urgency.hpp"

namespace carillon::runtime {

CoreGroups::CoreGroups(std::span<const DeviceMask> groups)
    : groups_(groups.begin(), groups.end()) {}

Admission CoreGroups::admit(const View& view, FrameRef frame) {
  return admission(view, frame, {{}, groups_});
}

std::size_t CoreGroups::decide(const View& view, std::span<Issue> out) {
  return issue_most_urgent(view, {{}, groups_}, out);
}

}  // namespace carillon::runtime
