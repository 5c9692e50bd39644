#include "app/shared_cores.hpp"

namespace carillon::app {
namespace {

std::vector<runtime::Runtime::SourceOptions> cells_of(const std::vector<Sharer>& sharers) {
  std::vector<runtime::Runtime::SourceOptions> cells;
  for (const auto& [plan, pipeline] : sharers)
    cells.push_back({.graph = pipeline.graph().graph,
                     .kernels = {pipeline.opcodes(), pipeline.context()},
                     .ring = pipeline.ring(),
                     .grain = frame::by_opcode(plan.runtime.grain)});
  return cells;
}

}  // namespace

SharedCores::SharedCores(const std::vector<Sharer>& sharers, std::uint32_t workers)
    : policy_(runtime::make_policy(sharers.front().plan.runtime.policy,
                                   frame::devices_of_opcodes(sharers.front().plan.runtime.groups))),
      runtime_(cells_of(sharers), *policy_,
               {.workers = workers,
                .pin_token = sharers.front().plan.runtime.pin_token,
                .trace = 1 << 15}) {}

}  // namespace carillon::app
