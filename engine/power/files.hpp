// Files of the kernel's sysfs, each of which holds one short text: where clocks are read and set.
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace carillon::power {

/// What could not be done, in words: the file, the reason and what helps.
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file's text, or the errno of why there is none.
struct Reading {
  std::string text;
  int error = 0;
};

/// Paths are relative to sysfs: devices/system/cpu/cpufreq/policy0/scaling_governor. Replaced in
/// tests by one that refuses as a kernel does.
class Files {
 public:
  virtual ~Files() = default;
  virtual Reading read(const std::string& path) = 0;
  /// 0 or an errno. Follows no symbolic link on its way.
  virtual int write(const std::string& path, const std::string& text) = 0;
  /// What a folder holds, sorted; nothing where there is none.
  virtual std::vector<std::string> names(const std::string& folder) = 0;
};

/// Below a root: /sys, or a tree of plain files.
class Sysfs : public Files {
 public:
  explicit Sysfs(std::filesystem::path root) : root_(std::move(root)) {}
  Reading read(const std::string& path) override;
  int write(const std::string& path, const std::string& text) override;
  std::vector<std::string> names(const std::string& folder) override;

 private:
  std::filesystem::path root_;
};

/// A file's text without the space around it; empty when it cannot be read.
std::string line_of(Files& files, const std::string& path);
/// Its words, between spaces.
std::vector<std::string> words_of(Files& files, const std::string& path);
/// The whole number that a text is; -1 of any other text.
std::int64_t number_of(const std::string& text);
/// The cores that a file lists, as "0 1" or as "0-3,8"; empty when it says anything else.
std::vector<std::uint32_t> cores_of(Files& files, const std::string& path);

}  // namespace carillon::power
