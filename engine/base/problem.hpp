// What is wrong with a configuration, and the checks that most keys need.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace carillon {

/// What is wrong with one key of a configuration, in words that say the allowed range.
struct Problem {
  std::string key;
  std::string message;
};

/// The value, in the key's unit, has to be between the two, which both are allowed; NaN never is.
void in_range(double value, double low, double high, std::string key,
              std::vector<Problem>& problems);

/// The value has to be one of the names.
void one_of(std::string_view value, const std::vector<std::string_view>& names, std::string key,
            std::vector<Problem>& problems);

/// Adds what was found in the section `prefix`, under whole keys.
void add_below(std::vector<Problem> found, std::string_view prefix, std::vector<Problem>& problems);

}  // namespace carillon
