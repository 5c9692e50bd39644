#include "frame/harq.hpp"

#include <algorithm>
#include <limits>

#include "frame/soft_store.hpp"

namespace carillon::frame {

HarqProcesses::HarqProcesses(const Frame& frame, bool receives)
    : receives_(receives),
      processes_(receives ? frame.format().grants.harq_processes : 0),
      most_kept_(frame.longest_kept()),
      all_(std::size_t{frame.format().users} * processes_) {}

std::string HarqProcesses::why_not(const Grant& grant) const {
  if (!receives_) return "";
  if (!any()) return grant.again ? "is sent again, which needs grants.harq_processes" : "";
  const std::string own = std::to_string(grant.harq_process);
  if (grant.harq_process >= processes_)
    return "is of HARQ process " + own + " but must be of one below grants.harq_processes (" +
           std::to_string(processes_) + ")";
  const Process& process = of(grant.user, grant.harq_process);
  const State state = process.state.load(std::memory_order_acquire);
  if (state == UnderWay || state == Combined)
    return "is of HARQ process " + own + ", whose block before is still under way";
  if (grant.again && process.plan == nullptr)
    return "is of HARQ process " + own + ", in which nothing was sent before";
  return "";
}

std::string HarqProcesses::why_not_again(const TransportBlock& block,
                                         const phy::TransportPlan& plan) const {
  if (!any()) return "";
  const phy::TransportPlan& before = *of(block.user, block.harq_process).plan;
  if (before.A() == plan.A() && before.C() == plan.C() && before.code() == plan.code()) return "";
  return "has room for " + std::to_string(plan.A()) + " bits, in " + std::to_string(plan.C()) +
         " code blocks, but what is sent again has " + std::to_string(before.A()) + " in " +
         std::to_string(before.C());
}

void HarqProcesses::begin(FrameProgram& program) {
  if (!any()) return;
  for (TransportBlock& block : program.blocks_of(Direction::Uplink)) {
    Process& process = of(block.user, block.harq_process);
    process.state_before = process.state.load(std::memory_order_acquire);
    process.plan_before = process.plan;
    process.attempt_before = process.attempt;
    const bool combine = block.again && process.state_before == Kept;
    constexpr std::uint8_t kMost = std::numeric_limits<std::uint8_t>::max();
    process.attempt = block.again
                          ? static_cast<std::uint8_t>(std::min<int>(process.attempt + 1, kMost))
                          : std::uint8_t{1};
    process.plan = program.shared_plan(block);
    block.attempt = process.attempt;
    block.keep = kept_bytes(*process.plan) <= most_kept_;
    block.combine = combine;
    process.state.store(combine ? Combined : UnderWay, std::memory_order_release);
  }
}

void HarqProcesses::withdraw(const FrameProgram& program) noexcept {
  if (!any()) return;
  for (const TransportBlock& block : program.transport_blocks(Direction::Uplink)) {
    Process& process = of(block.user, block.harq_process);
    process.plan = process.plan_before;
    process.attempt = process.attempt_before;
    process.state.store(process.state_before, std::memory_order_release);
  }
}

// Of one that was not decoded nothing new is kept.
void HarqProcesses::settle(const TransportBlock& block, Verdict verdict) noexcept {
  if (!any()) return;
  const bool failed = verdict == Verdict::Failed && block.keep;
  const bool kept = failed || (verdict == Verdict::Late && block.combine);
  of(block.user, block.harq_process).state.store(kept ? Kept : Idle, std::memory_order_release);
}

}  // namespace carillon::frame
