#include "power/power_plan.hpp"

#include <algorithm>
#include <string>

namespace carillon::power {
namespace {

constexpr double kLeast = 1, kMost = 1e6;  // MHz
constexpr double kSlowest = 1000;          // times

void check_clocks(const std::vector<double>& clocks, bool emulated,
                  std::vector<Problem>& problems) {
  for (std::size_t i = 0; i < clocks.size(); ++i) {
    const std::string key = "clocks." + std::to_string(i),
                      is = "is " + detail::number_text(clocks[i]);
    if (!(clocks[i] >= kLeast && clocks[i] <= kMost))
      problems.push_back({key, is + " but must be between 1 and 1000000 MHz"});
    else if (i > 0 && clocks[i] < clocks[i - 1] + 1)
      problems.push_back({key, is + " but must be more than the one before, by 1 MHz at least"});
  }
  if (emulated && problems.empty() && clocks.back() > kSlowest * clocks.front())
    problems.push_back({"clocks.0",
                        "is less than a thousandth of the last; emulating it would do all work "
                        "more than a thousand times"});
}

}  // namespace

std::vector<Problem> check(const PowerPlan& plan) {
  std::vector<Problem> problems;
  check_clocks(plan.clocks, plan.emulated(), problems);
  if (!plan.sysfs.empty() && !plan.chooses())
    problems.push_back({"sysfs", "is " + plan.sysfs + " but there are no clocks to set"});
  if (plan.fixed != 0 && std::ranges::find(plan.clocks, plan.fixed) == plan.clocks.end())
    problems.push_back({"fixed", "is " + detail::number_text(plan.fixed) +
                                     " but must be one of the clocks, or 0"});
  if (!plan.governed()) return problems;
  if (plan.fixed != 0)
    problems.push_back({"fixed", "is " + detail::number_text(plan.fixed) +
                                     " but a governed run has no fixed clock; set it to 0"});
  if (plan.late.size() != plan.clocks.size())
    problems.push_back({"late", "has " + std::to_string(plan.late.size()) + " ratios for " +
                                    std::to_string(plan.clocks.size()) + " clocks"});
  if (!problems.empty()) return problems;
  add_below(check(Predicted{plan.late}), "", problems);
  add_below(check(plan.governor), "governor", problems);
  return problems;
}

std::uint32_t first_clock(const PowerPlan& plan) {
  const auto found = std::ranges::find(plan.clocks, plan.fixed);
  const auto place = found == plan.clocks.end()
                         ? plan.clocks.size() - 1
                         : static_cast<std::size_t>(found - plan.clocks.begin());
  return static_cast<std::uint32_t>(place);
}

}  // namespace carillon::power
