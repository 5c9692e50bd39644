// A stretch of a file that is samples only: all of a raw one, and the inside of others.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "dataflow/io/file.hpp"
#include "dataflow/io/sink.hpp"
#include "dataflow/io/source.hpp"

namespace carillon::dataflow {

struct Stretch {
  static constexpr std::uint64_t kToTheEnd = ~std::uint64_t{0};
  std::uint64_t offset_bytes = 0, samples = kToTheEnd;
  bool repeat = false;    ///< from its beginning after its end, until it is stopped
  std::vector<Tag> tags;  ///< by position from the stretch's first sample; the first time only
};

class FileReader : public Reader {
 public:
  FileReader(std::string path, const Format& format, Stretch stretch)
      : file_(std::move(path)), format_(format), stretch_(std::move(stretch)) {}

  void open() override;
  bool read(Feed& feed, const Stop& stop) override;
  void close() noexcept override { file_.close(); }
  std::vector<Figure> figures() const override;

 private:
  bool end_of_round();
  void rewind();
  bool hand_tags(Feed& feed);

  File file_;
  Format format_;
  Stretch stretch_;
  std::vector<std::byte> bytes_;
  std::size_t held_ = 0;          // bytes of a sample that has not come whole
  std::uint64_t round_read_ = 0;  // samples since its beginning
  std::size_t next_tag_ = 0;
  Count left_over_;
};

class FileWriter : public Writer {
 public:
  /// Samples begin after `begin_bytes`.
  FileWriter(std::string path, const Format& format, std::uint64_t begin_bytes = 0)
      : file_(std::move(path)), format_(format), begin_bytes_(begin_bytes) {}

  std::string name() const override { return file_.path(); }
  void open() override;
  std::size_t write(const float* from, std::size_t samples, const Stop& stop) override;
  /// Cuts off what is no whole sample.
  void close(const Stop& stop) override;
  std::vector<Figure> figures() const override;

 protected:
  const Format& format() const { return format_; }
  File& file() { return file_; }
  std::uint64_t begin_bytes() const { return begin_bytes_; }
  /// Of whole samples, so far.
  std::uint64_t whole_bytes() const {
    return written_bytes_ - written_bytes_ % format_.item_bytes();
  }

 private:
  File file_;
  Format format_;
  std::uint64_t begin_bytes_;
  std::vector<std::byte> bytes_;
  std::uint64_t written_bytes_ = 0;
  std::exception_ptr failed_;
  Count clipped_;
};

/// `path`: of a file that a block reads or writes.
Parameter path_parameter(const char* about);
/// Throws std::invalid_argument if it is empty.
const std::string& path_of(const Values& values);
/// `repeat`, of a file that is read.
Parameter repeat_parameter();

}  // namespace carillon::dataflow
