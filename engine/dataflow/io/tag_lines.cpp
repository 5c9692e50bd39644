#include "dataflow/io/tag_lines.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "base/fields.hpp"

namespace carillon::dataflow {
namespace {

constexpr std::array<std::string_view, 5> kKinds{"time", "rate", "frequency", "overflow",
                                                 "annotation"};

std::string_view word_of(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

template <typename Number>
bool read(std::string_view word, Number& number) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size();
}

// Empty: it is right.
std::string parse_line(std::string_view line, Tag& tag) {
  if (!read(word_of(line), tag.position)) return "begins with no sample's number";
  const auto kind = std::ranges::find(kKinds, word_of(line));
  if (kind == kKinds.end()) return "is no time, rate, frequency, overflow or annotation";
  tag.kind = static_cast<TagKind>(kind - kKinds.begin());
  if (!read(word_of(line), tag.value) || !std::isfinite(tag.value)) return "has no number";
  if (tag.kind != TagKind::Annotation && !line.empty()) return "says more than a number";
  if (line.size() > Tag::kMostText) return "says more than 63 bytes";
  if (std::ranges::any_of(line, [](char c) { return static_cast<unsigned char>(c) < ' '; }))
    return "has control characters in it";
  std::ranges::copy(line, tag.text.begin());
  return {};
}

}  // namespace

std::string tag_line(const Tag& tag) {
  std::string line = std::to_string(tag.position) + " ";
  line += kKinds[static_cast<std::size_t>(tag.kind)];
  line += " " + detail::number_text(tag.value);
  if (tag.kind == TagKind::Annotation && !tag.said().empty()) line.append(" ").append(tag.said());
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return line;
}

std::vector<Tag> parse_tags(std::string_view lines) {
  std::vector<Tag> tags;
  for (std::size_t number = 1; !lines.empty(); ++number) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    Tag tag;
    std::string wrong = parse_line(lines.substr(0, end), tag);
    if (wrong.empty() && !tags.empty() && tag.position < tags.back().position)
      wrong = "is before the one above it";
    if (!wrong.empty()) throw std::invalid_argument("line " + std::to_string(number) + " " + wrong);
    tags.push_back(tag);
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return tags;
}

}  // namespace carillon::dataflow
