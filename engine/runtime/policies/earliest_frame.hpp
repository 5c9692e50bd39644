// Millipede's schedule: all cores on the earliest frame, dynamic over ready work, data parallel;
// later frames only get what the earliest leaves idle.
#pragma once

#include "runtime/policy.hpp"

namespace carillon::runtime {

class EarliestFrame final : public Policy {
 public:
  Admission admit(const View& view, FrameRef frame) override;
  std::size_t decide(const View& view, std::span<Issue> out) override;
};

}  // namespace carillon::runtime
