// Whether cells can be run by one process.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "app/run_plan.hpp"

namespace carillon::app {

/// What is wrong with plans as cells of one process, though each is right by itself.
struct Clash {
  std::size_t plan = 0;  ///< the later one of two
  Problem problem;
};
/// Each must have its own cell_id, sockets or shared memory, and telemetry; `run` and `runtime`
/// (but for `grain`) must agree. `names`: of the plans, for the messages.
std::vector<Clash> check_together(std::span<const RunPlan> plans,
                                  std::span<const std::string> names);

}  // namespace carillon::app
