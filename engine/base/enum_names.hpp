// Enumerations by name: in plans, in messages, and for other programs.
#pragma once

namespace carillon {

/// The names of an enumeration's values, in order from zero; specialised beside each enumeration.
template <typename E>
struct EnumNames;  // static constexpr std::array<std::string_view, n> value;

}  // namespace carillon
