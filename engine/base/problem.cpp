#include "base/problem.hpp"

#include <utility>

#include "base/fields.hpp"

namespace carillon {

void in_range(double value, double low, double high, std::string key,
              std::vector<Problem>& problems) {
  if (value >= low && value <= high) return;
  problems.push_back({std::move(key), "is " + detail::number_text(value) + " but must be between " +
                                          detail::number_text(low) + " and " +
                                          detail::number_text(high)});
}

void one_of(std::string_view value, const std::vector<std::string_view>& names, std::string key,
            std::vector<Problem>& problems) {
  std::string known;
  for (const auto name : names) {
    if (value == name) return;
    if (!known.empty()) known += ", ";
    known += name;
  }
  problems.push_back(
      {std::move(key), "is '" + std::string(value) + "' but must be one of " + known});
}

void add_below(std::vector<Problem> found, std::string_view prefix,
               std::vector<Problem>& problems) {
  for (auto& problem : found) {
    problem.key = problem.key.empty() ? std::string(prefix) : detail::join(prefix, problem.key);
    problems.push_back(std::move(problem));
  }
}

}  // namespace carillon
