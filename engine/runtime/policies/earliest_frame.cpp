#include "runtime/policies/earliest_frame.hpp"

#include "runtime/policies/urgency.hpp"

namespace carillon::runtime {

bool EarliestFrame::admit(const View& view, std::uint16_t slot) {
  return can_make_it(view, slot, {all_devices(view)});
}

std::size_t EarliestFrame::decide(const View& view, std::span<Issue> out) {
  return issue_most_urgent(view, {all_devices(view)}, out);
}

}  // namespace carillon::runtime
