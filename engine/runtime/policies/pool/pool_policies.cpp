#include "runtime/policies/pool/pool_policies.hpp"

#include "runtime/policies/pool/adaptive.hpp"
#include "runtime/policies/pool/frame_level.hpp"
#include "runtime/policies/pool/symbol_level.hpp"
#include "runtime/policies/pool/task_level.hpp"

namespace carillon::runtime {
namespace {

using Made = std::unique_ptr<Policy>;

struct Entry {
  std::string_view name;
  Made (*make)(const Lroc::Options&);
};

constexpr Entry kPolicies[] = {
    {"frame-level", [](const Lroc::Options&) -> Made { return std::make_unique<FrameLevel>(); }},
    {"symbol-level", [](const Lroc::Options&) -> Made { return std::make_unique<SymbolLevel>(); }},
    {"task-level", [](const Lroc::Options&) -> Made { return std::make_unique<TaskLevel>(); }},
    {"scoreboard", [](const Lroc::Options& o) -> Made { return std::make_unique<Lroc>(o); }},
    {"adaptive", [](const Lroc::Options&) -> Made { return std::make_unique<Adaptive>(); }},
};

}  // namespace

std::unique_ptr<Policy> make_pool_policy(std::string_view name, const Lroc::Options& options) {
  for (const Entry& entry : kPolicies)
    if (entry.name == name) return entry.make(options);
  return nullptr;
}

std::vector<std::string_view> pool_policy_names() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kPolicies) names.push_back(entry.name);
  return names;
}

}  // namespace carillon::runtime
