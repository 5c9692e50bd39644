#include "dataflow/blocks/tag.hpp"

#include <algorithm>

namespace carillon::dataflow {

Tag annotation(std::uint64_t position, std::uint64_t samples, std::string_view text) noexcept {
  Tag tag{position, TagKind::Annotation, static_cast<double>(samples), {}};
  std::ranges::copy(text.substr(0, Tag::kMostText), tag.text.begin());
  return tag;
}

}  // namespace carillon::dataflow
