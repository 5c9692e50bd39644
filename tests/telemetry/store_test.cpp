#include "telemetry/store.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "support/test.hpp"

using namespace carillon;
using namespace carillon::telemetry;

namespace {

std::string temporary_file() {
  char name[] = "/tmp/carillon-store-XXXXXX";
  close(mkstemp(name));
  return name;
}

// The file as another process finds it.
struct Reader {
  explicit Reader(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
    json = bytes.substr(16, bytes.find('\0', 16) - 16);
  }

  // The number behind "key": in a section's description.
  std::size_t number(const std::string& section, const std::string& key) const {
    const auto from = json.find("\"" + section + "\":{");
    EXPECT_NE(from, std::string::npos) << section;
    const auto at = json.find("\"" + key + "\":", from) + key.size() + 3;
    return std::strtoull(json.c_str() + at, nullptr, 10);
  }
  // [["name","<u8"],…] as (offset, type) of one field.
  std::pair<std::size_t, std::string> field(const std::string& section,
                                            const std::string& name) const {
    auto at = json.find("\"dtype\":[", json.find("\"" + section + "\":{")) + 9;
    for (std::size_t offset = 0; json[at] == '[' || json[at] == ',';) {
      if (json[at] == ',') ++at;
      const auto end = json.find(']', at);
      const std::string entry = json.substr(at + 2, end - at - 3);  // name","<u8
      const std::string type = entry.substr(entry.size() - 3);
      if (entry.substr(0, entry.find('"')) == name) return {offset, type};
      offset += static_cast<std::size_t>(type[2] - '0');
      at = end + 1;
    }
    return {~std::size_t{0}, "none"};
  }
  std::size_t dtype_bytes(const std::string& section) const {
    auto at = json.find("\"dtype\":[", json.find("\"" + section + "\":{"));
    const auto end = json.find("]]", at);
    std::size_t sum = 0;
    for (at = json.find("\"<", at); at < end; at = json.find("\"<", at + 1))
      sum += static_cast<std::size_t>(json[at + 3] - '0');
    return sum;
  }
  template <typename T>
  T value(const std::string& section, std::size_t record, const std::string& name) const {
    T value;
    const std::size_t at = number(section, "offset") + record * number(section, "record_bytes") +
                           field(section, name).first;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  }
  std::uint64_t count(const std::string& section) const {
    std::uint64_t value;
    std::memcpy(&value, bytes.data() + number(section, "count_offset"), sizeof value);
    return value;
  }

  std::string bytes, json;
};

Store::Sizes small_sizes() {
  Store::Sizes sizes;
  sizes.frames = 4;
  sizes.users = 3;
  sizes.tasks = 8;
  sizes.late_tasks = 2;
  sizes.gaps = 2;
  sizes.constellation = 2;
  sizes.nacks = 2;
  sizes.opcodes = {"Load", "Store"};
  sizes.threads = {"worker 0", "radio"};
  return sizes;
}

constexpr const char* kSections[] = {"counters",      "frames", "stages", "threads", "users",
                                     "constellation", "nacks",  "gaps",   "tasks",   "late_tasks"};

struct File {
  std::string path = temporary_file();
  ~File() { unlink(path.c_str()); }
};

}  // namespace

TEST(Store, DescribesItself) {
  const File file;
  const Store store(file.path, small_sizes());
  const Reader reader(file.path);
  EXPECT_EQ(reader.bytes.substr(0, 8), std::string("CARILLON"));
  std::uint32_t version, header_bytes;
  std::memcpy(&version, reader.bytes.data() + 8, 4);
  std::memcpy(&header_bytes, reader.bytes.data() + 12, 4);
  EXPECT_EQ(version, 5U);
  EXPECT_EQ(header_bytes, 65536U);
  EXPECT_NE(reader.json.find("\"opcodes\":[\"Load\",\"Store\"]"), std::string::npos);
  EXPECT_NE(reader.json.find("\"threads\":[\"worker 0\",\"radio\"]"), std::string::npos);
}

TEST(Store, SectionsFollowEachOtherWithoutOverlap) {
  const File file;
  const Store store(file.path, small_sizes());
  const Reader reader(file.path);
  std::size_t end = 65536;
  for (const char* section : kSections) {
    EXPECT_EQ(reader.dtype_bytes(section), reader.number(section, "record_bytes")) << section;
    EXPECT_GE(reader.number(section, "count_offset"), end) << section;
    EXPECT_GE(reader.number(section, "offset"), reader.number(section, "count_offset") + 8);
    EXPECT_EQ(reader.number(section, "offset") % 64, 0U) << section;
    end = reader.number(section, "offset") +
          reader.number(section, "record_bytes") * reader.number(section, "capacity");
  }
  EXPECT_LE(end, reader.bytes.size());
}

TEST(Store, RecordsAreWhereTheHeaderSays) {
  const File file;
  Store store(file.path, small_sizes());
  store.counters().frames_seen = 42;
  store.counters().pacing_error_sum = -7;
  for (std::uint64_t i = 0; i < 6; ++i) {
    FrameRecord record;
    record.frame = 100 + i;
    record.uplink_done = -static_cast<Tick>(i);
    record.late_cause = 3;
    store.frames().append(record);
  }
  store.users()[2].error_power = 0.25;
  store.stages()[1].busy = 77;
  store.constellation().append({1, 0.5F, -0.5F, 9});
  store.tasks().append({1, 2, 3, 4, 5, 6, 7, 8});
  const Reader reader(file.path);
  EXPECT_EQ(reader.value<std::uint64_t>("counters", 0, "frames_seen"), 42U);
  EXPECT_EQ(reader.value<Tick>("counters", 0, "pacing_error_sum"), -7);
  EXPECT_EQ(reader.field("counters", "pacing_error_sum").second, std::string("<i8"));
  // Of six frames the ring keeps the last four: record i lies at i modulo capacity.
  EXPECT_EQ(reader.count("frames"), 6U);
  EXPECT_EQ(reader.value<std::uint64_t>("frames", 5 % 4, "frame"), 105U);
  EXPECT_EQ(reader.value<std::uint64_t>("frames", 2, "frame"), 102U);
  EXPECT_EQ(reader.value<Tick>("frames", 5 % 4, "uplink_done"), -5);
  EXPECT_EQ(reader.value<std::uint32_t>("frames", 0, "late_cause"), 3U);
  EXPECT_EQ(reader.value<double>("users", 2, "error_power"), 0.25);
  EXPECT_EQ(reader.value<Tick>("stages", 1, "busy"), 77);
  EXPECT_EQ(reader.value<float>("constellation", 0, "im"), -0.5F);
  EXPECT_EQ(reader.field("constellation", "re").second, std::string("<f4"));
  EXPECT_EQ(reader.value<std::uint16_t>("tasks", 0, "opcode"), 4U);
  EXPECT_EQ(reader.value<std::uint16_t>("tasks", 0, "count"), 7U);
  EXPECT_EQ(reader.value<std::uint32_t>("tasks", 0, "thread"), 8U);
  EXPECT_EQ(reader.field("tasks", "step").second, std::string("<u2"));
}

TEST(Store, CountsWhatIsUpdatedInPlaceFromTheStart) {
  const File file;
  const Store store(file.path, small_sizes());
  const Reader reader(file.path);
  EXPECT_EQ(reader.count("counters"), 1U);
  EXPECT_EQ(reader.count("users"), 3U);
  EXPECT_EQ(reader.count("stages"), 2U);
  EXPECT_EQ(reader.count("threads"), 2U);
  for (const char* section : {"frames", "constellation", "gaps", "tasks", "late_tasks", "nacks"})
    EXPECT_EQ(reader.count(section), 0U) << section;
}

TEST(Store, ReplacesAnOldFileWithoutTouchingItsReaders) {
  const File file;
  Store old(file.path, small_sizes());
  old.counters().frames_seen = 5;
  const Store fresh(file.path, small_sizes());
  EXPECT_EQ(Reader(file.path).value<std::uint64_t>("counters", 0, "frames_seen"), 0U);
  EXPECT_EQ(old.counters().frames_seen, 5U);
}

TEST(Store, NamesThePathThatCannotBeWritten) {
  std::string message;
  try {
    const Store store("/no such folder/telemetry.bin", small_sizes());
  } catch (const std::runtime_error& error) {
    message = error.what();
  }
  EXPECT_NE(message.find("/no such folder/telemetry.bin: cannot create"), std::string::npos);
}

TEST(Store, LeavesWhatIsNotARegularFile) {
  const File target;
  const std::string link = target.path + "-link", pipe = target.path + "-pipe";
  ASSERT_EQ(symlink(target.path.c_str(), link.c_str()), 0);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {link, pipe}) {
    std::string message;
    try {
      const Store store(path, small_sizes());
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    EXPECT_NE(message.find(path + ": is not a regular file"), std::string::npos) << message;
    EXPECT_EQ(unlink(path.c_str()), 0) << path;  // it is still there
  }
}

// A limit on the size of files stands for a full disk.
TEST(Store, SaysWhenThereIsNoRoomAndLeavesNothing) {
  const File file;
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit narrow{4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &narrow);
  std::string message;
  try {
    const Store store(file.path, small_sizes());
  } catch (const std::runtime_error& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(message.find(file.path + ": cannot reserve "), 0U) << message;
  EXPECT_NE(access(file.path.c_str(), F_OK), 0);
}
