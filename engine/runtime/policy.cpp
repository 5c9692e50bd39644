#include "runtime/policy.hpp"

#include "runtime/policies/earliest_frame.hpp"

namespace carillon::runtime {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Policy> (*make)();
};

constexpr Entry kPolicies[] = {
    {"earliest-frame",
     []() -> std::unique_ptr<Policy> { return std::make_unique<EarliestFrame>(); }},
};

}  // namespace

std::unique_ptr<Policy> make_policy(std::string_view name) {
  for (const Entry& entry : kPolicies) {
    if (entry.name == name) return entry.make();
  }
  return nullptr;
}

std::vector<std::string_view> policy_names() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kPolicies) names.push_back(entry.name);
  return names;
}

}  // namespace carillon::runtime
