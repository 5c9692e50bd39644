#include "runtime/policy.hpp"

#include "runtime/policies/core_groups.hpp"
#include "runtime/policies/earliest_frame.hpp"
#include "runtime/policies/static.hpp"

namespace carillon::runtime {
namespace {

using Groups = std::span<const DeviceMask>;

struct Entry {
  std::string_view name;
  std::unique_ptr<Policy> (*make)(Groups);
};

constexpr Entry kPolicies[] = {
    {"earliest-frame",
     [](Groups) -> std::unique_ptr<Policy> { return std::make_unique<EarliestFrame>(); }},
    {"core-groups",
     [](Groups groups) -> std::unique_ptr<Policy> { return std::make_unique<CoreGroups>(groups); }},
    {"static", [](Groups) -> std::unique_ptr<Policy> { return std::make_unique<Static>(); }},
};

}  // namespace

std::unique_ptr<Policy> make_policy(std::string_view name, std::span<const DeviceMask> groups) {
  for (const Entry& entry : kPolicies) {
    if (entry.name == name) return entry.make(groups);
  }
  return nullptr;
}

std::vector<std::string_view> policy_names() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kPolicies) names.push_back(entry.name);
  return names;
}

}  // namespace carillon::runtime
