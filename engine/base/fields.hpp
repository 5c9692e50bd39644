// Plain structs as `key = value` text: one list of fields serves writing, reading and error
// messages.
//
// A struct takes part by a static member template
//   template <typename Self, typename Visit> static void fields(Self& self, Visit&& visit)
// that calls visit("key", self.member) for each member; nested structs give dotted keys, lists of
// structs numbered ones: key.0.member.
#pragma once

#include <charconv>
#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/enum_names.hpp"
#include "base/problem.hpp"

namespace carillon {

using KeyValues = std::map<std::string, std::string, std::less<>>;

/// Reads lines of `key = value`; `#` at the start of a line, a word or a value starts a comment.
/// Malformed lines and repeated keys are problems.
KeyValues parse_key_values(std::string_view text, std::vector<Problem>& problems);

namespace detail {

template <typename T>
concept HasFields = requires(T& t) {
  T::fields(t, [](std::string_view, auto&) {});
};

template <typename T>
concept ListOfFields = HasFields<typename T::value_type>;

template <typename T>
inline constexpr bool kOptional = false;
template <typename T>
inline constexpr bool kOptional<std::optional<T>> = true;

/// The shortest text that reads back the same; whole numbers without an exponent.
std::string number_text(double value);
bool read_number(std::string_view text, double& value);

template <typename T>
std::string value_text(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(EnumNames<T>::value[static_cast<std::size_t>(value)]);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_floating_point_v<T>) {
    return number_text(value);
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (kOptional<T>) {
    return value ? value_text(*value) : "none";
  } else {  // a vector: items separated by spaces
    std::string text;
    for (const auto& item : value) text += (text.empty() ? "" : " ") + value_text(item);
    return text;
  }
}

// Returns what was expected, or an empty string on success.
template <typename T>
std::string read_value(std::string_view text, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    if (text != "true" && text != "false") return "true or false";
    value = text == "true";
    return {};
  } else if constexpr (std::is_enum_v<T>) {
    std::string names;
    std::size_t index = 0;
    for (const auto name : EnumNames<T>::value) {
      if (text == name) {
        value = static_cast<T>(index);
        return {};
      }
      names += (names.empty() ? "" : ", ") + std::string(name);
      ++index;
    }
    return "one of " + names;
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = text;
    return {};
  } else if constexpr (std::is_floating_point_v<T>) {
    return read_number(text, value) ? "" : "a number";
  } else if constexpr (std::is_integral_v<T>) {
    const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = result.ec == std::errc() && result.ptr == text.data() + text.size();
    using Limits = std::numeric_limits<T>;
    return whole ? ""
                 : "a whole number between " + std::to_string(Limits::min()) + " and " +
                       std::to_string(Limits::max());
  } else if constexpr (kOptional<T>) {
    value.reset();
    if (text == "none") return {};
    const auto expected = read_value(text, value.emplace());
    return expected.empty() ? "" : "none or " + expected;
  } else {
    value.clear();
    while (!text.empty()) {
      const auto space = text.find(' ');
      const auto word = text.substr(0, space);
      text = space == std::string_view::npos ? std::string_view{} : text.substr(space + 1);
      if (word.empty()) continue;
      typename T::value_type item{};
      if (auto expected = read_value(word, item); !expected.empty())
        return "a list, each " + expected;
      value.push_back(item);
    }
    return {};
  }
}

inline std::string join(std::string_view prefix, std::string_view key) {
  return prefix.empty() ? std::string(key) : std::string(prefix) + "." + std::string(key);
}

inline bool holds(const KeyValues& values, const std::string& section) {
  const auto first = values.lower_bound(section + ".");
  return first != values.end() && first->first.starts_with(section + ".");
}

}  // namespace detail

/// Appends `prefix.key = value` lines for every field of `object`.
template <typename T>
void write_fields(const T& object, std::string_view prefix, std::string& text) {
  T::fields(object, [&](std::string_view key, const auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    const std::string name = detail::join(prefix, key);
    if constexpr (detail::HasFields<Member>)
      write_fields(member, name, text);
    else if constexpr (detail::ListOfFields<Member>)
      for (std::size_t i = 0; i < member.size(); ++i)
        write_fields(member[i], detail::join(name, std::to_string(i)), text);
    else
      text += name + " = " + detail::value_text(member) + "\n";
  });
}

/// Takes the fields of `object` out of `values`: what is absent keeps its value, what is taken is
/// erased (so that what is left over at the end is unknown), what cannot be read is a problem.
/// Lists of structs end before the first number without a key.
template <typename T>
void read_fields(T& object, std::string_view prefix, KeyValues& values,
                 std::vector<Problem>& problems) {
  T::fields(object, [&](std::string_view key, auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    const std::string name = detail::join(prefix, key);
    if constexpr (detail::HasFields<Member>) {
      read_fields(member, name, values, problems);
    } else if constexpr (detail::ListOfFields<Member>) {
      if (detail::holds(values, detail::join(name, "0"))) member.clear();
      for (std::string item = detail::join(name, "0"); detail::holds(values, item);
           item = detail::join(name, std::to_string(member.size())))
        read_fields(member.emplace_back(), item, values, problems);
    } else if (const auto found = values.find(name); found != values.end()) {
      if (auto expected = detail::read_value(found->second, member); !expected.empty())
        problems.push_back({name, "is '" + found->second + "' but must be " + expected});
      values.erase(found);
    }
  });
}

}  // namespace carillon
