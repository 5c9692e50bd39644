// The cores that the cells of a run share: one runtime, one policy.
#pragma once

#include <memory>
#include <vector>

#include "app/run_plan.hpp"
#include "frame/cpu/pipeline.hpp"
#include "runtime/runtime.hpp"

namespace carillon::app {

/// A cell that has part in them. Both outlive the cores.
struct Sharer {
  const RunPlan& plan;
  frame::Pipeline& pipeline;
};

class SharedCores {
 public:
  /// What they share (RuntimeOptions but for `grain`) is as the first one's plan says.
  SharedCores(const std::vector<Sharer>& sharers, std::uint32_t workers);

  runtime::Runtime& runtime() { return runtime_; }

 private:
  std::unique_ptr<runtime::Policy> policy_;
  runtime::Runtime runtime_;
};

}  // namespace carillon::app
