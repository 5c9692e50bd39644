#include "app/pool.hpp"

namespace carillon::app {
namespace {

std::vector<runtime::Runtime::CellOptions> cells_of(const std::vector<PoolMember>& members) {
  std::vector<runtime::Runtime::CellOptions> cells;
  for (const auto& [plan, pipeline] : members)
    cells.push_back({.graph = pipeline.graph().graph,
                     .kernels = {pipeline.opcodes(), pipeline.context()},
                     .ring = pipeline.ring(),
                     .grain = frame::by_opcode(plan.runtime.grain)});
  return cells;
}

}  // namespace

Pool::Pool(const std::vector<PoolMember>& members, std::uint32_t workers)
    : policy_(runtime::make_policy(members.front().plan.runtime.policy,
                                   frame::devices_of_opcodes(members.front().plan.runtime.groups))),
      runtime_(cells_of(members), *policy_,
               {.workers = workers,
                .pin_token = members.front().plan.runtime.pin_token,
                .trace = 1 << 15}) {}

}  // namespace carillon::app
