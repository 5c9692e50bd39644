// The instruction sets that a test goes through.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string_view>

#include "base/isa.hpp"

namespace carillon::test {

/// Those that this machine has, from the one on that CARILLON_LEAST_ISA names: an emulated CPU need
/// not do again what the machine beneath it does by itself.
inline std::span<const Isa> tested_isas() {
  const std::span<const Isa> all = available_isas();
  const char* least = std::getenv("CARILLON_LEAST_ISA");
  if (!least) return all;
  const auto found = std::ranges::find(all, std::string_view(least), to_string);
  if (found == all.end()) throw std::runtime_error("this machine lacks CARILLON_LEAST_ISA");
  return {found, all.end()};
}

}  // namespace carillon::test
