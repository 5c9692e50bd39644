#include "base/fields.hpp"

#include <array>
#include <cmath>
#include <cstdint>

namespace carillon {
namespace {

constexpr std::string_view kBlank = " \t\r";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// A `#` inside a word, as in a path, is part of it.
std::string_view without_comment(std::string_view line) {
  for (auto at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1))
    if (at == 0 || line[at - 1] == '=' || kBlank.find(line[at - 1]) != std::string_view::npos)
      return line.substr(0, at);
  return line;
}

}  // namespace

KeyValues parse_key_values(std::string_view text, std::vector<Problem>& problems) {
  KeyValues values;
  for (int line = 1; !text.empty(); ++line) {
    const auto end = text.find('\n');
    const auto whole = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    const auto content = trimmed(without_comment(whole));
    if (content.empty()) continue;
    const auto equals = content.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      problems.push_back({"line " + std::to_string(line), "is not of the form `key = value`"});
      continue;
    }
    const std::string key(trimmed(content.substr(0, equals)));
    if (!values.emplace(key, trimmed(content.substr(equals + 1))).second)
      problems.push_back({key, "is given twice (again on line " + std::to_string(line) + ")"});
  }
  return values;
}

namespace detail {

std::string number_text(double value) {
  std::array<char, 32> buffer{};
  char* const end = buffer.data() + buffer.size();
  const bool whole = std::trunc(value) == value && std::abs(value) < 0x1p53;
  const auto result = whole ? std::to_chars(buffer.data(), end, static_cast<std::int64_t>(value))
                            : std::to_chars(buffer.data(), end, value);
  return {buffer.data(), result.ptr};
}

bool read_number(std::string_view text, double& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

}  // namespace detail
}  // namespace carillon
