// Files, pipes and devices with a path, read and written without ever being held up by them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "dataflow/io/thread.hpp"

namespace carillon::dataflow {

/// Open file, or none. What throws, throws std::runtime_error with the path.
class File {
 public:
  explicit File(std::string path) : path_(std::move(path)) {}
  ~File() { close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const { return path_; }
  int number() const { return number_; }

  void open_to_read();
  /// Empties it, or makes it. A pipe is opened once somebody reads it: at the first write().
  void open_to_write();
  void close() noexcept;

  /// Of a plain file: how long it is; nothing else has a length.
  bool is_plain() const { return is_plain_; }
  std::uint64_t bytes() const;

  /// What there is, after waiting for it: 0 at the end, and when `stop` is asked.
  std::size_t read(std::span<std::byte> to, const Stop& stop);
  void go_to(std::uint64_t byte);
  /// Of a plain file: less than asked for at its end.
  std::size_t read_at(std::uint64_t byte, std::span<std::byte> to) const;

  /// All of it, or less if `stop` is asked while it waits. Adds to `written` as it goes, which is
  /// right also after it has thrown.
  void write(std::span<const std::byte> from, std::uint64_t& written, const Stop& stop);
  void write_at(std::uint64_t byte, std::span<const std::byte> from);
  /// Cuts a plain file off there.
  void cut(std::uint64_t bytes);

 private:
  void look();
  bool open_pipe(const Stop& stop);

  std::string path_;
  int number_ = -1;
  bool is_plain_ = false;
};

}  // namespace carillon::dataflow
