// What a worker writes down while it runs a graph: its last jobs, where it did not run although it
// should have, batches that took longer than planned, and samples that came out late.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/thread.hpp"
#include "base/tick.hpp"
#include "dataflow/graph.hpp"

namespace carillon::dataflow {

struct JobRecord {
  Tick release = 0, start = 0, end = 0;
  NodeId node = 0;
  std::uint32_t executions = 0;
};

enum class Happening : std::uint8_t {
  Gap,      ///< the worker stood still: it was to wake, or was ready to run
  Overrun,  ///< a job took longer than its planned cost, by its own time on the core
  Late,     ///< a sink's job ended later after a sample's arrival than the bound allows
};
struct EventRecord {
  Happening what = Happening::Gap;
  NodeId node = kNone;
  Tick start = 0, end = 0;
};

/// How many of what took how long, to 3 %: 32 steps to each doubling.
class Histogram {
 public:
  void add(Tick ns) noexcept { ++counts_[bin(ns)]; }
  void add(const Histogram& other) noexcept;
  std::uint64_t count() const noexcept;
  /// No more than so many are above; 0 of nothing. The upper edge of a bin.
  Tick quantile(double q) const noexcept;
  /// Upper edges of the bins that have any, and how many are in them.
  std::vector<std::pair<Tick, std::uint64_t>> bins() const;

 private:
  static constexpr unsigned kSteps = 32;
  static std::size_t bin(Tick ns) noexcept;
  static Tick upper(std::size_t bin) noexcept;

  std::array<std::uint32_t, kSteps * 60> counts_{};
};

/// Of one worker; nothing is allocated after it has been made. To be read when the worker has
/// ended.
class Journal {
 public:
  static constexpr std::size_t kJobs = 1 << 16, kEvents = 1 << 14;  // of all workers, at most
  // A worker that wakes or looks so much too late stood still.
  static constexpr Tick kStandstill = 60 * kMicrosecond;

  /// One of so many.
  explicit Journal(std::size_t workers = 1)
      : jobs_(std::max<std::size_t>(kJobs / workers, 256)),
        most_events_(std::max<std::size_t>(kEvents / workers, 64)) {
    events_.reserve(most_events_);
  }

  void job(const JobRecord& job) noexcept { jobs_[count_++ % jobs_.size()] = job; }
  void event(const EventRecord& event) noexcept;
  /// The thread that calls this is the worker.
  void begin() { delay_.emplace(); }
  /// After a job that took `excess` longer than planned: whether another thread had the core.
  bool was_kept_waiting(Tick excess) noexcept;

  /// The last ones, the oldest first.
  std::vector<JobRecord> jobs() const;
  std::span<const EventRecord> events() const { return events_; }
  std::uint64_t unlisted() const { return unlisted_; }
  /// ns that it found nothing to do, so far. Any thread.
  Tick idle() const noexcept { return idle_.load(std::memory_order_relaxed); }
  void slept(Tick ns) noexcept {
    idle_.store(idle_.load(std::memory_order_relaxed) + ns, std::memory_order_relaxed);
  }

 private:
  std::vector<JobRecord> jobs_;
  std::size_t most_events_;
  std::vector<EventRecord> events_;
  std::uint64_t count_ = 0, unlisted_ = 0;
  std::optional<RunDelay> delay_;
  Tick waited_ = 0;
  std::atomic<Tick> idle_{0};
};

/// Late sinks' jobs by what explains them: an event that overlaps the time from the sample's
/// arrival on, or that of a late job right before it, for its backlog is still there.
struct Lateness {
  std::uint64_t late = 0;         ///< that are listed
  std::uint64_t standstill = 0;   ///< explained by a gap of a worker
  std::uint64_t overrun = 0;      ///< else by a batch that took longer than planned
  std::uint64_t unexplained = 0;  ///< the bound was broken
};
Lateness explain(std::span<const EventRecord> events);

}  // namespace carillon::dataflow
