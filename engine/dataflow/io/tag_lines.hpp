// Tags as text, one a line: "4800 frequency 868950000", "9600 annotation 120 what it says".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dataflow/blocks/tag.hpp"

namespace carillon::dataflow {

/// Position, kind, value, and an annotation's text; without the line's end. Signs that control
/// terminals are spaces.
std::string tag_line(const Tag& tag);
/// Throws std::invalid_argument that names the line, also where positions do not ascend.
std::vector<Tag> parse_tags(std::string_view lines);

}  // namespace carillon::dataflow
