#include "power/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <sstream>

#include "base/descriptor.hpp"

namespace carillon::power {
namespace {

constexpr std::size_t kMostBytes = 1U << 16;  // sysfs gives a page
constexpr std::uint32_t kMostCores = 8192;    // Linux's own limit

int read_all(int from, std::string& text) {
  char part[4096];
  while (text.size() < kMostBytes) {
    const ssize_t got = ::read(from, part, sizeof part);
    if (got == 0) return 0;
    if (got > 0)
      text.append(part, static_cast<std::size_t>(got));
    else if (errno != EINTR)
      return errno;
  }
  return EFBIG;
}

bool add_range(const std::string& part, std::vector<std::uint32_t>& cores) {
  const std::size_t dash = part.find('-');
  const std::int64_t first = number_of(part.substr(0, dash));
  const std::int64_t last = dash == std::string::npos ? first : number_of(part.substr(dash + 1));
  if (first < 0 || last < first || last >= kMostCores) return false;
  for (std::int64_t core = first; core <= last; ++core)
    cores.push_back(static_cast<std::uint32_t>(core));
  return true;
}

}  // namespace

Reading Sysfs::read(const std::string& path) {
  const Descriptor file(::open((root_ / path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return {{}, errno};
  Reading reading;
  reading.error = read_all(file.number(), reading.text);
  return reading;
}

// Folder by folder, for O_NOFOLLOW is about the last part of a path only.
int Sysfs::write(const std::string& path, const std::string& text) {
  Descriptor at(::open(root_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::istringstream parts(std::filesystem::path(path).parent_path().string());
  for (std::string part; at.is_open() && std::getline(parts, part, '/');) {
    if (part.empty() || part == "..") return EINVAL;
    at = Descriptor(
        ::openat(at.number(), part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  if (!at.is_open()) return errno;
  const std::string name = std::filesystem::path(path).filename();
  const Descriptor file(::openat(at.number(), name.c_str(),
                                 O_WRONLY | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open()) return errno;
  // One call: the kernel takes each write as a whole value.
  const ssize_t wrote = ::write(file.number(), text.data(), text.size());
  if (wrote < 0) return errno;
  return static_cast<std::size_t>(wrote) == text.size() ? 0 : EIO;
}

std::vector<std::string> Sysfs::names(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(root_ / folder, error), end; !error && at != end;
       at.increment(error))
    found.push_back(at->path().filename());
  std::ranges::sort(found);
  return found;
}

std::string line_of(Files& files, const std::string& path) {
  const std::string text = files.read(path).text;
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

std::vector<std::string> words_of(Files& files, const std::string& path) {
  std::istringstream text(files.read(path).text);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  return words;
}

std::int64_t number_of(const std::string& text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && value >= 0 ? value : -1;
}

std::vector<std::uint32_t> cores_of(Files& files, const std::string& path) {
  std::string text = files.read(path).text;
  std::ranges::replace(text, ',', ' ');
  std::istringstream stream(text);
  std::vector<std::uint32_t> cores;
  for (std::string part; stream >> part;)
    if (!add_range(part, cores)) return {};
  return cores;
}

}  // namespace carillon::power
