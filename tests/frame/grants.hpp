// Grants as FrameFormat::grants.list has them.
#pragma once

#include <initializer_list>
#include <vector>

#include "frame/format.hpp"

namespace carillon::test {

// Not inline: else GCC 12 takes what an empty optional would hold for uninitialised.
[[gnu::noinline]] inline void append(std::vector<std::uint32_t>& list, const frame::Grant& g) {
  const auto units = static_cast<std::uint32_t>(g.rate * frame::kRateUnits + 0.5);
  list.insert(list.end(),
              {g.user, g.slot, static_cast<std::uint32_t>(g.direction), g.first_block, g.blocks,
               g.redundancy_version, g.harq_process, g.first_symbol, g.symbols,
               g.modulation ? static_cast<std::uint32_t>(*g.modulation) + 1 : 0,
               g.mcs ? *g.mcs + 1 : 0, units, g.again ? 1U : 0U});
}

inline frame::Grants listed(std::initializer_list<frame::Grant> grants, std::uint32_t frames = 1) {
  frame::Grants result{.kind = frame::GrantKind::List, .frames = frames, .list = {}};
  for (const auto& grant : grants) append(result.list, grant);
  return result;
}

}  // namespace carillon::test
