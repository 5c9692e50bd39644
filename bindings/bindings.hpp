// What each file of the bindings adds to carillon.core.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "app/run_plan.hpp"

namespace carillon::bindings {

void bind_base(nanobind::module_& core);
void bind_plan(nanobind::module_& core);
void bind_link(nanobind::module_& core);
void bind_kernels(nanobind::module_& core);
void bind_virtual_run(nanobind::module_& core);
void bind_calibration(nanobind::module_& core);
void bind_pool(nanobind::module_& core);
void bind_ingest(nanobind::module_& core);
void bind_gpu_run(nanobind::module_& core);
void bind_dataflow(nanobind::module_& core);
void bind_dsp(nanobind::module_& core);
void bind_blocks(nanobind::module_& core);
void bind_flowgraph_run(nanobind::module_& core);
void bind_power(nanobind::module_& core);
void bind_power_governor(nanobind::module_& core);
void bind_clocks(nanobind::module_& core);
void bind_net(nanobind::module_& core);

inline void require(bool good, const char* message) {
  if (!good) throw nanobind::value_error(message);
}

/// Throws ValueError with the first problem, if there is one.
void require_none(const std::vector<Problem>& problems);

/// Throws ValueError with the plan's first problem.
app::RunPlan checked_plan(const std::string& text);

}  // namespace carillon::bindings
