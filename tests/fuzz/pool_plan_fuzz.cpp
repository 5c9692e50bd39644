// Fuzz target: any text either is a pool plan, which then can be built and reads back as itself, or
// has problems, each under a key.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "rack/pool_plan.hpp"

using namespace carillon;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<Problem> problems;
  const auto plan = rack::parse_pool_plan({reinterpret_cast<const char*>(data), size}, problems);
  for (const Problem& problem : problems) require(!problem.key.empty() && !problem.message.empty());
  if (!problems.empty()) return 0;
  const auto again = rack::parse_pool_plan(to_text(plan), problems);
  require(problems.empty() && to_text(again) == to_text(plan));
  require(rack_of(plan).homes.size() == options_of(plan).of_cells.size());
  return 0;
}
