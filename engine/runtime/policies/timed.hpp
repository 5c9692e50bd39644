// What a policy's decisions take, in real time, measured around it.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/tick.hpp"
#include "runtime/policy.hpp"

namespace carillon::runtime {

/// Another policy, timed. An issue is charged its part of its frame's admission, of the decision
/// that it came from and of all calls since the one before.
class TimedPolicy final : public Policy {
 public:
  /// `per_issue`: ns of each issue are appended to it; it outlives the policy.
  TimedPolicy(std::unique_ptr<Policy> policy, std::vector<double>& per_issue)
      : policy_(std::move(policy)), per_issue_(per_issue) {}

  Admission admit(const View& view, FrameRef frame) override {
    const Tick start = now();
    const Admission verdict = policy_->admit(view, frame);
    admission_ = static_cast<double>(now() - start) / view.board[frame.source].graph().size();
    return verdict;
  }
  std::size_t decide(const View& view, std::span<Issue> out) override {
    const Tick start = now();
    const std::size_t count = policy_->decide(view, out);
    since_ += now() - start;
    if (count == 0) return 0;
    const double each = static_cast<double>(since_) / static_cast<double>(count);
    per_issue_.insert(per_issue_.end(), count, each + admission_);
    since_ = 0;
    return count;
  }
  bool pending() const override { return policy_->pending(); }
  Tick next() const override { return policy_->next(); }
  void committed(const View& view, const InstanceId& id) override {
    const Tick start = now();
    policy_->committed(view, id);
    since_ += now() - start;
  }
  void returned(const View& view, const InstanceId& id) override { policy_->returned(view, id); }
  void ended(const View& view, FrameRef frame) override {
    const Tick start = now();
    policy_->ended(view, frame);
    since_ += now() - start;
  }
  void changed(const View& view, std::uint16_t device) override { policy_->changed(view, device); }

 private:
  std::unique_ptr<Policy> policy_;
  std::vector<double>& per_issue_;
  double admission_ = 0;  // of the newest frame, per instruction
  Tick since_ = 0;
};

}  // namespace carillon::runtime
