#include "runtime/policies/earliest_frame.hpp"

#include "runtime/policies/urgency.hpp"

namespace carillon::runtime {

Admission EarliestFrame::admit(const View& view, FrameRef frame) {
  return admission(view, frame, {all_devices(view)});
}

std::size_t EarliestFrame::decide(const View& view, std::span<Issue> out) {
  return issue_most_urgent(view, {all_devices(view)}, out);
}

}  // namespace carillon::runtime
