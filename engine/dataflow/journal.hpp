// What a worker writes down while it runs a graph: its last jobs, where it did not run although it
// should have, batches that took longer than planned, and samples that came out late.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
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
  Gap,           ///< the worker stood still: it was to wake, or another thread had its core
  Interruption,  ///< what a job took beyond its planned cost, by far more than its block varies
  Overrun,       ///< what else a job took beyond its planned cost, on the core
  Late,  ///< a sink's job, from a sample's arrival on, that ended later than the bound allows
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

/// Of one worker; nothing is allocated after it has been made. Read by others when all workers have
/// ended. Of what may delay a sample the last ones are kept, and those that a late one has met.
class Journal {
 public:
  // Of all workers, at most.
  static constexpr std::size_t kJobs = 1 << 16, kLates = 1 << 14, kRecent = 1 << 14,
                               kKept = 1 << 16;
  // A worker that wakes or looks so much too late stood still.
  static constexpr Tick kStandstill = 60 * kMicrosecond;

  /// One of so many.
  explicit Journal(std::size_t workers = 1);
  /// To know of the late jobs of all workers; these outlive it.
  void join(std::span<const std::unique_ptr<Journal>> all) { all_ = all; }

  void job(const JobRecord& job) noexcept { jobs_[count_++ % jobs_.size()] = job; }
  void event(const EventRecord& event) noexcept;
  /// By the worker: it begins; it woke, and was to be awake at `wanted`, which matters if it then
  /// has a job; and that begins.
  void begin(Tick at);
  void woke(Tick wanted, Tick woken) noexcept;
  void starts(Tick at) noexcept;
  /// By the worker, after a job from `start` on that took `excess` longer than planned: whether it
  /// had to wait for its core, by the kernel's account, for half of that at least.
  bool was_kept_waiting(Tick start, Tick end, Tick excess) noexcept;

  /// The last ones, the oldest first.
  std::vector<JobRecord> jobs() const;
  /// What is kept, each kind in the order of time.
  std::vector<EventRecord> events() const;
  /// Of what happened after this, something that may have delayed a late job is not kept.
  Tick complete_until() const { return complete_until_; }
  /// How often it stood still, apart from interruptions, and for how long at most.
  std::uint64_t standstills() const { return standstills_; }
  Tick longest_standstill() const { return longest_; }
  /// ns that it found nothing to do, so far. Any thread.
  Tick idle() const noexcept { return idle_.load(std::memory_order_relaxed); }
  void slept(Tick ns) noexcept {
    idle_.store(idle() + ns, std::memory_order_relaxed);  // one writes
  }

 private:
  void ask(Tick at) noexcept;
  void keep(const EventRecord& event) noexcept;
  bool met_a_late_one(const EventRecord& event) const noexcept;

  std::span<const std::unique_ptr<Journal>> all_;
  std::vector<JobRecord> jobs_;
  std::vector<EventRecord> lates_;  // others look at those that are counted
  std::atomic<std::size_t> late_{0};
  std::vector<EventRecord> recent_, kept_;  // the former as a ring
  std::uint64_t count_ = 0, seen_ = 0, standstills_ = 0;
  Tick longest_ = 0, complete_until_ = std::numeric_limits<Tick>::max();
  std::optional<RunDelay> delay_;
  Tick since_ = 0, waited_ = 0;  // what that said at an instant
  Tick wanted_ = 0, woken_ = 0;  // when it woke too late, if it did
  std::atomic<Tick> idle_{0};
};

/// Late sinks' jobs by what explains them. What counts is the time from the sample's arrival on, or
/// from that of late jobs of the sink right before it, for their backlog may still be there, which
/// takes up to ten times as long to work off as what made it: how long workers stood still in it,
/// and how long batches took beyond their costs. Together these must be half of what the job was
/// late by, since what they delay delays others; the longer of the two names the cause. An
/// interruption is a standstill.
struct Lateness {
  std::uint64_t late = 0;
  std::uint64_t standstill = 0;   ///< workers stood still
  std::uint64_t overrun = 0;      ///< batches took longer than planned
  std::uint64_t unexplained = 0;  ///< the bound was broken
  std::uint64_t unlisted = 0;     ///< nobody knows, since too much happened to be kept
};
Lateness explain(std::span<const EventRecord> events, Tick bound);

}  // namespace carillon::dataflow
