// The cores that the cells of a run share: one runtime, one policy.
#pragma once

#include <memory>
#include <vector>

#include "app/run_plan.hpp"
#include "frame/cpu/pipeline.hpp"
#include "runtime/runtime.hpp"

namespace carillon::app {

/// A cell as the pool sees it. Both outlive the pool.
struct PoolMember {
  const RunPlan& plan;
  frame::Pipeline& pipeline;
};

class Pool {
 public:
  /// What the members share (RuntimeOptions but for `grain`) is as the first one's plan says.
  Pool(const std::vector<PoolMember>& members, std::uint32_t workers);

  runtime::Runtime& runtime() { return runtime_; }

 private:
  std::unique_ptr<runtime::Policy> policy_;
  runtime::Runtime runtime_;
};

}  // namespace carillon::app
