#include "telemetry/store.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace carillon::telemetry {
namespace {

constexpr std::uint32_t kVersion = 5;
constexpr std::size_t kHeaderBytes = 65536;
constexpr std::size_t kLine = 64;

// An earlier run's file makes room; a device, a link or a pipe is somebody else's.
void remove_old(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return;
  if (!S_ISREG(status.st_mode))
    throw std::runtime_error(path +
                             ": is not a regular file, and is left as it is: remove it, or "
                             "give telemetry another name");
  unlink(path.c_str());
}

std::size_t section_bytes(std::size_t record, std::size_t capacity) {
  return kLine + (record * capacity + kLine - 1) / kLine * kLine;  // the count has its own line
}

template <typename Names>
std::string json_list(const Names& names) {
  std::string text;
  for (const auto& name : names)
    text += std::string(text.empty() ? "\"" : ",\"") + std::string(name) + "\"";
  return "[" + text + "]";
}

}  // namespace

template <typename Record>
void Store::plan(Section<Record>& section, std::string_view name, std::size_t capacity,
                 std::string& json) {
  static_assert(std::is_trivially_copyable_v<Record>);
  section.capacity_ = capacity;
  const std::string dtype = detail::dtype_text<Record>();
  if (dtype.empty()) throw std::logic_error("telemetry record has holes: " + std::string(name));
  json += std::string(json.empty() ? "" : ",") + "\"" + std::string(name) +
          "\":{\"offset\":" + std::to_string(bytes_ + kLine) +
          ",\"record_bytes\":" + std::to_string(sizeof(Record)) +
          ",\"capacity\":" + std::to_string(capacity) +
          ",\"count_offset\":" + std::to_string(bytes_) + ",\"dtype\":" + dtype + "}";
  bytes_ += section_bytes(sizeof(Record), capacity);
}

template <typename Record>
void Store::bind(Section<Record>& section) {
  section.count_ = reinterpret_cast<std::atomic<std::uint64_t>*>(memory_ + bound_);
  section.records_ = reinterpret_cast<Record*>(memory_ + bound_ + kLine);
  bound_ += section_bytes(sizeof(Record), section.capacity_);
}

Store::Store(const std::string& path, const Sizes& sizes) : bytes_(kHeaderBytes) {
  std::string json;
  plan(counters_, "counters", 1, json);
  plan(frames_, "frames", sizes.frames, json);
  plan(stages_, "stages", sizes.opcodes.size(), json);
  plan(threads_, "threads", sizes.threads.size(), json);
  plan(users_, "users", sizes.users, json);
  plan(ports_, "ports", 2, json);
  plan(flows_, "flows", 2 * sizes.users, json);
  plan(constellation_, "constellation", sizes.constellation, json);
  plan(nacks_, "nacks", sizes.nacks, json);
  plan(gaps_, "gaps", sizes.gaps, json);
  plan(tasks_, "tasks", sizes.tasks, json);
  plan(late_tasks_, "late_tasks", sizes.late_tasks, json);
  json = "{\"version\":2,\"opcodes\":" + json_list(sizes.opcodes) +
         ",\"threads\":" + json_list(sizes.threads) + ",\"sections\":{" + json + "}}";
  if (json.size() + 16 > kHeaderBytes) throw std::logic_error("telemetry header is too long");
  map(path);
  std::memcpy(memory_ + 16, json.data(), json.size());
  const std::uint32_t header_bytes = kHeaderBytes;
  std::memcpy(memory_ + 8, &kVersion, 4);
  std::memcpy(memory_ + 12, &header_bytes, 4);
  bound_ = kHeaderBytes;
  bind(counters_);
  bind(frames_);
  bind(stages_);
  bind(threads_);
  bind(users_);
  bind(ports_);
  bind(flows_);
  bind(constellation_);
  bind(nacks_);
  bind(gaps_);
  bind(tasks_);
  bind(late_tasks_);
  counters_.set_count(1);
  stages_.set_count(sizes.opcodes.size());
  threads_.set_count(sizes.threads.size());
  users_.set_count(sizes.users);
  std::memcpy(memory_, "CARILLON", 8);  // last: a reader that sees it sees the rest
}

void Store::map(const std::string& path) {
  remove_old(path);
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  const auto fail = [&](const std::string& what) {
    const std::string reason = std::strerror(errno);
    if (file >= 0) close(file), unlink(path.c_str());
    throw std::runtime_error(path + ": cannot " + what + ": " + reason);
  };
  if (file < 0) fail("create");
  // On a full disk, a write to what is mapped but not reserved would be a SIGBUS.
  errno = posix_fallocate(file, 0, static_cast<off_t>(bytes_));
  if (errno != 0) fail("reserve " + std::to_string(bytes_ >> 20) + " MiB");
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  if (memory == MAP_FAILED) fail("map");
  close(file);
  memory_ = static_cast<std::byte*>(memory);
}

Store::~Store() { munmap(memory_, bytes_); }

}  // namespace carillon::telemetry
