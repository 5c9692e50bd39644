// What is said about a sample: when it was taken, at which rate and frequency, what it belongs to.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace carillon::dataflow {

enum class TagKind : std::uint8_t {
  Time,        ///< value: of this sample, s since 1970 (UTC)
  Rate,        ///< value: samples a second from here on
  Frequency,   ///< value: Hz at the centre from here on
  Overflow,    ///< value: samples that are missing before this one; 0: nobody knows how many
  Annotation,  ///< value: how many samples it is about; text: what it says
};

/// Of fixed size, so that tags are handed on without allocation.
struct Tag {
  static constexpr std::size_t kMostText = 63;

  std::uint64_t position = 0;
  TagKind kind = TagKind::Annotation;
  double value = 0;
  std::array<char, kMostText + 1> text{};  ///< ends with a zero; longer ones are cut

  std::string_view said() const { return text.data(); }
};

inline Tag annotation(std::uint64_t position, std::uint64_t samples,
                      std::string_view text) noexcept {
  Tag tag{position, TagKind::Annotation, static_cast<double>(samples), {}};
  std::ranges::copy(text.substr(0, Tag::kMostText), tag.text.begin());
  return tag;
}

/// Of a job, and on their way between two nodes; those beyond it are counted.
inline constexpr std::size_t kMostTags = 256;

/// The tags of a job.
class TagList {
 public:
  TagList() { tags_.reserve(kMostTags); }

  void add(const Tag& tag) noexcept {
    if (tags_.size() == kMostTags)
      ++lost_;
    else
      tags_.push_back(tag);
  }
  void clear() noexcept {
    tags_.clear();
    lost_ = 0;
  }
  std::span<const Tag> tags() const { return tags_; }
  std::uint64_t lost() const { return lost_; }  ///< since clear()

 private:
  std::vector<Tag> tags_;
  std::uint64_t lost_ = 0;
};

}  // namespace carillon::dataflow
