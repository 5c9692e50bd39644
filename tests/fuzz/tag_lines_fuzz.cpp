// Fuzz target: any text is either refused or tags that, written out, read back as the same.
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "dataflow/io/tag_lines.hpp"

using namespace carillon::dataflow;

namespace {

std::string written(const std::vector<Tag>& tags) {
  std::string lines;
  for (const Tag& tag : tags) lines += tag_line(tag) + "\n";
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<Tag> tags;
  try {
    tags = parse_tags({reinterpret_cast<const char*>(data), size});
  } catch (const std::invalid_argument&) {
    return 0;
  }
  const std::string lines = written(tags);
  if (written(parse_tags(lines)) != lines) std::abort();
  return 0;
}
