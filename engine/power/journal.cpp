#include "power/journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "base/descriptor.hpp"
#include "power/cpufreq.hpp"

namespace carillon::power {

namespace fs = std::filesystem;

namespace {

constexpr const char* kTitle = "carillon clocks 1";
constexpr std::size_t kMostBytes = 16U << 20;

[[noreturn]] void refuse(const fs::path& file, int error, const std::string& help = {}) {
  throw Refused(file.string() + ": " + std::strerror(error) + help);
}

fs::path without_links(const fs::path& folder) {
  const fs::path found = fs::weakly_canonical(folder);
  return found.has_filename() ? found : found.parent_path();  // "tree/" is "tree"
}

// While it lasts, no other process reads, restores and replaces the journals of a folder.
class Lock {
 public:
  explicit Lock(const fs::path& folder)
      : folder_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    while (folder_.number() >= 0 && ::flock(folder_.number(), LOCK_EX) != 0 && errno == EINTR) {
    }
  }

 private:
  Descriptor folder_;
};

std::string escaped(const std::string& text) {
  std::string line;
  for (const char c : text)
    if (c == '\n' || c == '\\')
      line += c == '\n' ? "\\n" : "\\\\";
    else
      line += c;
  return line;
}

// False for what escaped() does not give.
bool unescape(const std::string& line, std::string& text) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      text += line[i];
      continue;
    }
    if (++i == line.size() || (line[i] != 'n' && line[i] != '\\')) return false;
    text += line[i] == 'n' ? '\n' : '\\';
  }
  return true;
}

// The rest of the next line, which must begin with a word.
std::string field(std::istream& lines, const std::string& word) {
  std::string line;
  if (!std::getline(lines, line) || !line.starts_with(word + " "))
    throw std::invalid_argument("a line `" + word + " …` is missing");
  return line.substr(word.size() + 1);
}

std::string trimmed(const std::string& text) { return text.substr(0, text.find('\n')); }

constexpr std::string_view kChangeable[] = {
    "devices/system/cpu/cpufreq/policy#/scaling_governor",
    "devices/system/cpu/cpufreq/policy#/scaling_setspeed",
    "devices/system/cpu/cpufreq/policy#/scaling_min_freq",
    "devices/system/cpu/cpufreq/policy#/scaling_max_freq",
    "devices/system/cpu/cpufreq/policy#/energy_performance_preference",
    "devices/system/cpu/cpufreq/boost",
    "devices/system/cpu/intel_pstate/no_turbo",
    "devices/system/cpu/cpu#/power/pm_qos_resume_latency_us",
};

// Where # in the pattern stands for a number.
bool matches(std::string_view path, std::string_view pattern) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t number = pattern.find('#');
  if (number == std::string_view::npos) return path == pattern;
  const std::string_view after = pattern.substr(number + 1);
  if (!path.starts_with(pattern.substr(0, number)) || !path.ends_with(after) ||
      path.size() <= number + after.size())
    return false;
  const std::string_view digits = path.substr(number, path.size() - number - after.size());
  return digits.find_first_not_of(kDigits) == std::string_view::npos;
}

bool vanished(const Unrestored& file, Files& files) {
  const int error = files.read(file.path).error;
  return error == ENOENT || error == ENODEV || error == ENOTDIR;
}

}  // namespace

std::string to_text(const Unrestored& file) {
  const std::string is = file.is.empty() ? "" : "is " + trimmed(file.is) + " and ";
  return file.why + " (" + is + "was " + trimmed(file.was) + ")";
}

bool may_change(const std::string& path) {
  return std::ranges::any_of(kChangeable,
                             [&](std::string_view pattern) { return matches(path, pattern); });
}

fs::path journal_of(const fs::path& sysfs) {
  const fs::path tree = without_links(sysfs);
  if (tree != "/sys") return tree.string() + ".journal";
  if (::geteuid() == 0 || ::access("/run/carillon", W_OK) == 0) return "/run/carillon/clocks";
  const char* const own = std::getenv("XDG_RUNTIME_DIR");
  const fs::path folder = own ? own : "/run/user/" + std::to_string(::geteuid());
  return folder / "carillon" / "clocks";
}

Journal::Journal(Files& files, fs::path file, const fs::path& sysfs)
    : files_(files), file_(std::move(file)), sysfs_(without_links(sysfs)) {}

// Not in a child that was forked, whose owner is its parent.
Journal::~Journal() {
  if (!taken_ || owner_.pid != ::getpid()) return;
  try {
    restore();
  } catch (const std::exception&) {  // the journal stays, for the next start
  }
}

Restored Journal::restore_left() {
  const Lock lock(file_.parent_path());
  if (!read()) return {};
  const Restored restored = restore_dead();
  write_or_remove();
  return restored;
}

Restored Journal::take() {
  if (::mkdir(file_.parent_path().c_str(), 0755) != 0 && errno != EEXIST)
    refuse(file_.parent_path(), errno, "; run as root, or set XDG_RUNTIME_DIR");
  const Lock lock(file_.parent_path());
  kept_.clear();
  Restored restored;
  if (read()) restored = restore_dead();
  owner_ = Owner::self();
  write();
  taken_ = true;
  return restored;
}

void Journal::keep(const std::vector<std::string>& paths) {
  if (!taken_) throw Refused(file_.string() + ": control has not been taken");
  const std::size_t before = kept_.size();
  try {
    for (const std::string& path : paths) {
      if (std::ranges::find(kept_, path, &Kept::path) != kept_.end()) continue;
      if (!may_change(path)) throw Refused(path + ": is not a file that may be changed");
      Reading reading = files_.read(path);
      if (reading.error) throw Refused(why_not(path, reading.error));
      kept_.push_back({path, std::move(reading.text)});
    }
    if (kept_.size() != before) write();
  } catch (...) {  // what is not on disk may not be changed
    kept_.resize(before);
    throw;
  }
}

Restored Journal::restore() {
  if (!taken_) return {};
  const Restored restored = put_back();
  taken_ = false;
  owner_.start = 0;  // nobody's
  write_or_remove();
  return restored;
}

// What a boot ago was changed is gone: the kernel began anew.
Restored Journal::restore_dead() {
  if (owner_.lives())
    throw Refused("process " + std::to_string(owner_.pid) + " controls the clocks (" +
                  file_.string() + "); wait until it has ended, or end it");
  if (owner_.same_boot()) return put_back();
  kept_.clear();
  return {};
}

// One file may stand in another's way: a preference that a governor refuses, a limit below the
// other one. So again, until all is as it was or nothing changes any more.
Restored Journal::put_back() {
  Restored restored{kept_.size(), put_back_once()};
  for (std::size_t before = kept_.size() + 1;
       !restored.failed.empty() && restored.failed.size() < before;) {
    before = restored.failed.size();
    restored.failed = put_back_once();
  }
  std::erase_if(kept_, [&](const Kept& kept) {
    const auto failed = std::ranges::find(restored.failed, kept.path, &Unrestored::path);
    return failed == restored.failed.end() || vanished(*failed, files_);
  });
  return restored;
}

std::vector<Unrestored> Journal::put_back_once() {
  std::vector<int> errors(kept_.size());
  for (std::size_t i = kept_.size(); i-- > 0;)
    if (files_.read(kept_[i].path).text != kept_[i].text)
      errors[i] = files_.write(kept_[i].path, kept_[i].text);
  std::vector<Unrestored> failed;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const Reading now = files_.read(kept_[i].path);
    if (!now.error && now.text == kept_[i].text) continue;
    const int error = now.error ? now.error : errors[i];
    failed.push_back({kept_[i].path, kept_[i].text, now.text,
                      error ? why_not(kept_[i].path, error)
                            : kept_[i].path + ": was written, and the kernel keeps another value"});
  }
  return failed;
}

bool Journal::read() {
  const Descriptor file(::open(file_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open()) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    refuse(file_, errno, "; look at it, and remove it");
  }
  struct stat about {};
  if (::fstat(file.number(), &about) != 0 || !S_ISREG(about.st_mode) ||
      static_cast<std::uint64_t>(about.st_size) > kMostBytes)
    throw Refused(file_.string() + ": is no journal of clocks; look at it, and remove it");
  std::string text(static_cast<std::size_t>(about.st_size), '\0');
  if (::read(file.number(), text.data(), text.size()) != about.st_size)
    refuse(file_, errno ? errno : EIO);
  try {
    parse(text);
  } catch (const std::exception& error) {
    throw Refused(file_.string() + ": is damaged: " + error.what() +
                  "; nothing was changed; restart the machine, or put clocks right by hand and "
                  "remove it");
  }
  return true;
}

void Journal::parse(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  if (!std::getline(lines, line) || line != kTitle)
    throw std::invalid_argument(std::string("its first line is not `") + kTitle + "`");
  std::string sysfs;
  if (!unescape(field(lines, "sysfs"), sysfs) || sysfs != sysfs_)
    throw std::invalid_argument("it is of " + sysfs + ", not of " + sysfs_.string());
  owner_ = {};
  owner_.boot = field(lines, "boot");
  std::istringstream process(field(lines, "process"));
  if (!(process >> owner_.pid >> owner_.start) || owner_.pid <= 0)
    throw std::invalid_argument("its process is no number and start");
  kept_.clear();
  while (std::getline(lines, line) && line.starts_with("file ")) {
    const std::size_t space = line.find(' ', 5);
    Kept kept{line.substr(5, space - 5), {}};
    if (!may_change(kept.path))
      throw std::invalid_argument("it names " + kept.path + ", which is never changed");
    if (space == std::string::npos || !unescape(line.substr(space + 1), kept.text))
      throw std::invalid_argument("what was in " + kept.path + " is not readable");
    kept_.push_back(std::move(kept));
  }
  if (line != "end " + std::to_string(kept_.size()))
    throw std::invalid_argument("it does not end after " + std::to_string(kept_.size()) + " files");
}

// Whole or not at all, also where power fails.
void Journal::write() const {
  std::ostringstream text;
  text << kTitle << "\nsysfs " << escaped(sysfs_) << "\nboot " << owner_.boot << "\nprocess "
       << owner_.pid << " " << owner_.start << "\n";
  for (const Kept& kept : kept_) text << "file " << kept.path << " " << escaped(kept.text) << "\n";
  text << "end " << kept_.size() << "\n";
  const std::string all = text.str();
  const fs::path fresh = file_.string() + ".new";
  ::unlink(fresh.c_str());
  const Descriptor file(
      ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file.is_open()) refuse(fresh, errno, "; run as root, or set XDG_RUNTIME_DIR");
  for (std::size_t done = 0; done < all.size();) {
    const ssize_t wrote = ::write(file.number(), all.data() + done, all.size() - done);
    if (wrote < 0 && errno != EINTR) refuse(fresh, errno);
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
  const Descriptor folder(::open(file_.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (::fsync(file.number()) != 0 || ::rename(fresh.c_str(), file_.c_str()) != 0 ||
      ::fsync(folder.number()) != 0)
    refuse(file_, errno);
}

void Journal::write_or_remove() const {
  if (!kept_.empty())
    write();
  else if (::unlink(file_.c_str()) != 0 && errno != ENOENT)
    refuse(file_, errno);
}

}  // namespace carillon::power
