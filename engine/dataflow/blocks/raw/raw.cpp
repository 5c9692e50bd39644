// Files that are samples and nothing else.
#include <stdexcept>

#include "dataflow/blocks/types.hpp"
#include "dataflow/io/samples_file.hpp"
#include "dataflow/io/tag_lines.hpp"

namespace carillon::dataflow {
namespace {

// Writes tags beside the samples, as text.
class RawWriter final : public FileWriter {
 public:
  RawWriter(std::string path, const Format& format, const std::string& tags_path)
      : FileWriter(std::move(path), format), tags_(tags_path) {}

  void open() override {
    FileWriter::open();
    if (!tags_.path().empty()) tags_.open_to_write();
  }
  void tag(const Tag& tag) override {
    if (tags_.path().empty()) return;
    const std::string line = tag_line(tag) + "\n";
    tags_.write_at(tags_end_, std::as_bytes(std::span(line)));
    tags_end_ += line.size();
  }
  void close(const Stop& stop) override {
    FileWriter::close(stop);
    tags_.close();
    file().close();
  }

 private:
  File tags_;
  std::uint64_t tags_end_ = 0;
};

Parameter bytes_parameter(const char* name, const char* about, const char* unit) {
  return {.name = name,
          .text = about,
          .kind = ParameterKind::Whole,
          .standard = std::int64_t{0},
          .unit = unit,
          .least = 0,
          .most = 9e18};
}

std::vector<Tag> tags_of(const Values& values) {
  try {
    return parse_tags(text(values, "tags"));
  } catch (const std::invalid_argument& wrong) {
    throw std::invalid_argument(std::string("tags: ") + wrong.what());
  }
}

std::unique_ptr<Block> make_source(const Values& values) {
  const Format format = format_of(text(values, "datatype"));
  Stretch stretch;
  stretch.offset_bytes = static_cast<std::uint64_t>(whole(values, "offset_bytes"));
  if (const std::int64_t length = whole(values, "length_samples"); length > 0)
    stretch.samples = static_cast<std::uint64_t>(length);
  stretch.repeat = flag(values, "repeat");
  stretch.tags = tags_of(values);
  return std::make_unique<DeviceSource>(
      format.items, std::make_unique<FileReader>(path_of(values), format, std::move(stretch)),
      buffer_samples(values));
}

}  // namespace

BlockType raw_source_type() {
  return {"raw-source",
          "sources",
          "Reads a file or pipe that is samples and nothing else.",
          {path_parameter("The file, or a pipe or device with a path."),
           datatype_parameter(),
           repeat_parameter(),
           bytes_parameter("offset_bytes", "What is before the samples.", "bytes"),
           bytes_parameter("length_samples", "How many to read; 0: all.", "samples"),
           {.name = "tags",
            .text = "Tags of its samples: `NUMBER KIND VALUE`, one a line, by ascending numbers.",
            .kind = ParameterKind::Text,
            .standard = std::string()},
           buffer_parameter()},
          make_source};
}

BlockType raw_sink_type() {
  return {"raw-sink",
          "sinks",
          "Writes samples and nothing else to a file or pipe.",
          {path_parameter("The file, which is written over, or a pipe or device with a path."),
           datatype_parameter(),
           {.name = "tags_path",
            .text = "A file for the tags that come: `NUMBER KIND VALUE`, one a line.",
            .kind = ParameterKind::Text,
            .standard = std::string()},
           buffer_parameter()},
          [](const Values& values) {
            const Format format = format_of(text(values, "datatype"));
            return std::make_unique<DeviceSink>(
                format.items,
                std::make_unique<RawWriter>(path_of(values), format, text(values, "tags_path")),
                buffer_samples(values));
          }};
}

}  // namespace carillon::dataflow
