// The policies for a pool of devices, by name.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "runtime/policies/pool/lroc.hpp"

namespace carillon::runtime {

/// Null when no policy has that name. `options`: of `scoreboard`.
std::unique_ptr<Policy> make_pool_policy(std::string_view name, const Lroc::Options& options = {});
std::vector<std::string_view> pool_policy_names();

}  // namespace carillon::runtime
