#include "app/run_plan.hpp"

#include <unistd.h>

#include "frame/frame.hpp"
#include "frame/pipeline.hpp"
#include "runtime/policy.hpp"

namespace carillon::app {
namespace {

void take(std::vector<Problem> found, std::string_view prefix, std::vector<Problem>& problems) {
  for (auto& problem : found)
    problems.push_back({std::string(prefix) + "." + problem.key, std::move(problem.message)});
}

void check_runtime(const RuntimeOptions& runtime, std::vector<Problem>& problems) {
  if (runtime.workers > 128)
    problems.push_back({"runtime.workers", "is above the 128 that a runtime can have"});
  std::string known;
  for (const auto name : runtime::policy_names()) {
    if (runtime.policy == name) return;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  problems.push_back({"runtime.policy", "is '" + runtime.policy + "' but must be one of " + known});
}

void check_memory(const frame::FrameFormat& cell, std::vector<Problem>& problems) {
  const std::uint64_t needed = frame::Pipeline::footprint(frame::Frame(cell));
  const auto memory = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  if (needed > memory / 10 * 7)
    problems.push_back({"cell.ring", "frames in flight need " + std::to_string(needed >> 20) +
                                         " MiB, more than 70 % of this machine's " +
                                         std::to_string(memory >> 20) +
                                         " MiB; lower ring or antennas, or raise combiner.group"});
}

void check_parts(const RunPlan& plan, std::vector<Problem>& problems) {
  take(plan.cell.validate(), "cell", problems);
  check_runtime(plan.runtime, problems);
  if (!problems.empty()) return;
  const auto& n = plan.cell.numerology;
  const double prefix_ns = frame::prefix_samples(n, 1) / frame::sample_rate_hz(n) * 1e9;
  take(plan.radio.validate(plan.cell.users, prefix_ns), "radio", problems);
  check_memory(plan.cell, problems);
}

}  // namespace

RunPlan parse_run_plan(std::string_view text, std::vector<Problem>& problems) {
  RunPlan plan;
  KeyValues values = parse_key_values(text, problems);
  read_fields(plan, "", values, problems);
  for (const auto& [key, value] : values) problems.push_back({key, "is not a key of a run plan"});
  if (problems.empty()) check_parts(plan, problems);
  return plan;
}

std::string to_text(const RunPlan& plan) {
  std::string text;
  write_fields(plan, "", text);
  return text;
}

}  // namespace carillon::app
