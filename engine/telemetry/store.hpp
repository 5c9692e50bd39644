// The file that a run writes its records into, mapped into memory: a live view reads it while the
// run lasts, a report afterwards. It describes itself:
//
//   "CARILLON", u32 version, u32 header bytes, then JSON padded with zeros to the header's end:
//   {"version":2, "opcodes":[…], "threads":[…], "sections":{"frames":{"offset":…, "record_bytes":…,
//    "capacity":…, "count_offset":…, "dtype":[["frame","<u8"],…]},…}}
//
// At count_offset lies a u64: the records written so far. Record i lies at i modulo capacity.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "telemetry/records.hpp"

namespace carillon::telemetry {

namespace detail {

template <typename Member>
constexpr std::string_view dtype_of() {
  if constexpr (std::is_same_v<Member, float>) return "<f4";
  if constexpr (std::is_same_v<Member, double>) return "<f8";
  if constexpr (std::is_signed_v<Member>) return sizeof(Member) == 8 ? "<i8" : "<i4";
  return sizeof(Member) == 8 ? "<u8" : sizeof(Member) == 4 ? "<u4" : "<u2";
}

template <typename Record>
std::string dtype_text() {
  Record record;
  std::string text;
  std::size_t bytes = 0;
  Record::fields(record, [&](std::string_view name, const auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    text += (text.empty() ? "[\"" : ",[\"") + std::string(name) + "\",\"" +
            std::string(dtype_of<Member>()) + "\"]";
    bytes += sizeof(Member);
  });
  return bytes == sizeof(Record) ? "[" + text + "]" : "";  // "": the record has holes
}

}  // namespace detail

/// Records of one kind. append() is for one thread; readers see a record once it is counted.
template <typename Record>
class Section {
 public:
  Record& operator[](std::size_t i) { return records_[i % capacity_]; }
  std::size_t capacity() const { return capacity_; }
  std::uint64_t count() const { return count_->load(std::memory_order_relaxed); }
  void append(const Record& record) {
    const std::uint64_t n = count();
    records_[n % capacity_] = record;
    count_->store(n + 1, std::memory_order_release);
  }
  /// For sections whose records are updated in place.
  void set_count(std::uint64_t count) { count_->store(count, std::memory_order_release); }

 private:
  friend class Store;
  Record* records_ = nullptr;
  std::atomic<std::uint64_t>* count_ = nullptr;
  std::size_t capacity_ = 0;
};

class Store {
 public:
  struct Sizes {
    std::size_t frames = 1 << 16, users = 1, tasks = 1 << 16, late_tasks = 1 << 16, gaps = 4096;
    std::size_t constellation = 1 << 13, nacks = 1 << 16;
    std::vector<std::string_view> opcodes;
    std::vector<std::string> threads;
  };

  /// Creates the file (replacing an old one) with all its memory touched. Throws std::runtime_error
  /// naming the path.
  Store(const std::string& path, const Sizes& sizes);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  Counters& counters() { return counters_[0]; }
  Section<FrameRecord>& frames() { return frames_; }
  Section<StageRecord>& stages() { return stages_; }
  Section<ThreadRecord>& threads() { return threads_; }
  Section<UserRecord>& users() { return users_; }
  Section<PortRecord>& ports() { return ports_; }
  Section<FlowRecord>& flows() { return flows_; }
  Section<ConstellationRecord>& constellation() { return constellation_; }
  Section<NackRecord>& nacks() { return nacks_; }
  Section<GapRecord>& gaps() { return gaps_; }
  Section<TaskRecord>& tasks() { return tasks_; }
  Section<TaskRecord>& late_tasks() { return late_tasks_; }

 private:
  template <typename Record>
  void plan(Section<Record>& section, std::string_view name, std::size_t capacity,
            std::string& json);
  void map(const std::string& path);
  template <typename Record>
  void bind(Section<Record>& section);

  std::size_t bytes_ = 0;
  std::size_t bound_ = 0;
  std::byte* memory_ = nullptr;
  Section<Counters> counters_;
  Section<FrameRecord> frames_;
  Section<StageRecord> stages_;
  Section<ThreadRecord> threads_;
  Section<UserRecord> users_;
  Section<PortRecord> ports_;
  Section<FlowRecord> flows_;
  Section<ConstellationRecord> constellation_;
  Section<NackRecord> nacks_;
  Section<GapRecord> gaps_;
  Section<TaskRecord> tasks_, late_tasks_;
};

}  // namespace carillon::telemetry
