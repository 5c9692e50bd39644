// What is wrong with a configuration, and the checks that most keys need.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.hpp"

namespace carillon {

/// By which a program recognises problems that it has to put differently. Each with its `numbers`.
enum class ProblemCode : std::uint8_t {
  Other,           // none: the message says it
  SharesElements,  // a grant of the same user has some of this one's: which, in the list
  SharesSlot,      // and is in its slot, where blocks that span the frame allow one: which
  SharesBlock,     // and is coded otherwise, in the same transport block: which
  Unmeasured,      // an opcode, of which a device profile has no time: frame::Op
};

/// What is wrong with one key of a configuration, in words that say the allowed range.
struct Problem {
  std::string key;
  std::string message;
  ProblemCode code = ProblemCode::Other;
  std::vector<double> numbers{};
};

template <>
struct EnumNames<ProblemCode> {
  static constexpr std::array<std::string_view, 5> value{"other", "shares-elements", "shares-slot",
                                                         "shares-block", "unmeasured"};
};

/// The value, in the key's unit, has to be between the two, which both are allowed; NaN never is.
void in_range(double value, double low, double high, std::string key,
              std::vector<Problem>& problems);

/// The value has to be one of the names.
void one_of(std::string_view value, const std::vector<std::string_view>& names, std::string key,
            std::vector<Problem>& problems);

/// Adds what was found in the section `prefix` under whole keys; what has no key is the section's.
void add_below(std::vector<Problem> found, std::string_view prefix, std::vector<Problem>& problems);

}  // namespace carillon
