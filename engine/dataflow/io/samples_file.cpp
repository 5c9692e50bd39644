#include "dataflow/io/samples_file.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace carillon::dataflow {
namespace {

constexpr std::size_t kChunkBytes = 1 << 18;

}  // namespace

void FileReader::open() {
  file_.open_to_read();
  if (stretch_.offset_bytes > 0 || stretch_.repeat) {
    if (!file_.is_plain())
      throw std::runtime_error(file_.path() + ": is no file, so it is read once, from where it is");
    if (stretch_.offset_bytes > file_.bytes())
      throw std::runtime_error(file_.path() + ": has only " + std::to_string(file_.bytes()) +
                               " bytes, and samples are to begin after " +
                               std::to_string(stretch_.offset_bytes));
  }
  if (file_.is_plain()) rewind();
  bytes_.resize(kChunkBytes);
}

void FileReader::rewind() {
  file_.go_to(stretch_.offset_bytes);
  round_read_ = 0;
  held_ = 0;
}

// Ends chunks before tags, so that each is told of with its sample. False: one has no room yet.
bool FileReader::hand_tags(Feed& feed) {
  const std::vector<Tag>& tags = stretch_.tags;
  while (next_tag_ < tags.size() && tags[next_tag_].position == round_read_)
    if (feed.tag(tags[next_tag_]))
      ++next_tag_;
    else
      return false;
  return true;
}

bool FileReader::end_of_round() {
  left_over_.add(held_);
  next_tag_ = stretch_.tags.size();
  if (!stretch_.repeat || round_read_ == 0) return false;
  rewind();
  return true;
}

bool FileReader::read(Feed& feed, const Stop& stop) {
  if (!hand_tags(feed)) {
    stop.sleep(kNap_ms);
    return true;
  }
  std::uint64_t most = std::min<std::uint64_t>(feed.room(), stretch_.samples - round_read_);
  if (next_tag_ < stretch_.tags.size())
    most = std::min(most, stretch_.tags[next_tag_].position - round_read_);
  if (most == 0) return end_of_round();
  const std::size_t item = format_.item_bytes();
  const std::size_t wanted = std::min<std::uint64_t>(most, kChunkBytes / item) * item;
  const std::size_t got = file_.read(std::span(bytes_).subspan(held_, wanted - held_), stop);
  if (got == 0) return !stop.is_asked() && end_of_round();
  const std::size_t samples = (held_ + got) / item;
  feed.put(format_, bytes_.data(), samples);
  round_read_ += samples;
  held_ = held_ + got - samples * item;
  std::memmove(bytes_.data(), bytes_.data() + samples * item, held_);
  return true;
}

std::vector<Figure> FileReader::figures() const {
  return left_over_.value() > 0
             ? std::vector<Figure>{{"no whole sample", "bytes", left_over_.value()}}
             : std::vector<Figure>{};
}

void FileWriter::open() {
  file_.open_to_write();
  if (begin_bytes_ > 0 && file_.is_plain()) file_.go_to(begin_bytes_);
  bytes_.resize(kChunkBytes);
}

std::size_t FileWriter::write(const float* from, std::size_t samples, const Stop& stop) {
  if (failed_) std::rethrow_exception(failed_);
  const std::size_t item = format_.item_bytes();
  if (written_bytes_ % item != 0) return 0;  // stopped within a sample
  const std::uint64_t before = written_bytes_ / item;
  samples = std::min(samples, kChunkBytes / item);
  clipped_.add(encode(format_, from, bytes_.data(), samples * floats_of(format_.items)));
  try {
    file_.write(std::span(bytes_).first(samples * item), written_bytes_, stop);
  } catch (const std::runtime_error&) {
    failed_ = std::current_exception();  // after what was written has been told of
  }
  return written_bytes_ / item - before;
}

void FileWriter::close(const Stop&) {
  if (file_.is_plain() && whole_bytes() != written_bytes_) file_.cut(begin_bytes_ + whole_bytes());
}

std::vector<Figure> FileWriter::figures() const {
  if (format_.kind == NumberKind::Float) return {};
  return {{"clipped", "numbers", clipped_.value()}};
}

Parameter path_parameter(const char* about) {
  return {.name = "path", .text = about, .kind = ParameterKind::Text};
}

const std::string& path_of(const Values& values) {
  const std::string& path = text(values, "path");
  if (path.empty()) throw std::invalid_argument("path: must name a file");
  return path;
}

Parameter repeat_parameter() {
  return {.name = "repeat",
          .text = "That it goes on from the beginning after the end.",
          .kind = ParameterKind::Flag,
          .standard = false};
}

}  // namespace carillon::dataflow
