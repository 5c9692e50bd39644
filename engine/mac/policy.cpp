#include "mac/policy.hpp"

#include "mac/proportional_fair.hpp"
#include "mac/round_robin.hpp"

namespace carillon::mac {

std::unique_ptr<Policy> make_policy(frame::GrantPolicy kind, std::uint32_t users) {
  if (kind == frame::GrantPolicy::RoundRobin) return std::make_unique<RoundRobin>();
  return std::make_unique<ProportionalFair>(users);
}

}  // namespace carillon::mac
