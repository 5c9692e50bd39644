// The thesis's future work: which worker runs which tasks is fixed beforehand, an even share of
// every instruction each, so that no two workers look for the same work.
#pragma once

#include "runtime/policy.hpp"

namespace carillon::runtime {

class Static final : public Policy {
 public:
  Admission admit(const View& view, FrameRef frame) override;
  std::size_t decide(const View& view, std::span<Issue> out) override;
};

}  // namespace carillon::runtime
