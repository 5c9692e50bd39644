// Changes of a node's parameters that wait for their executions.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace carillon::dataflow {

/// A parameter that is to change before the execution `at`, or the next one if that is over; 0:
/// whenever that is.
struct Change {
  std::string parameter;
  double value = 0;
  std::uint64_t at = 0;
};

/// One thread at a time adds, and one makes them. Those of one execution are made as they were
/// added.
class Changes {
 public:
  explicit Changes(std::size_t room = 0) : added_(room), waiting_(room) {}

  /// False: so many wait that there is no room.
  bool add(const Change& change);
  /// The first one that is to be made before the execution `end`; none: nullptr. Also sorts what
  /// has been added, which is done once before the run.
  const Change* next(std::uint64_t end) noexcept;
  /// It was, right before the execution `at`.
  void made(std::uint64_t at) noexcept;

  /// Any thread: how many were made, and how many of these after their execution.
  std::uint64_t all_made() const noexcept { return made_.load(std::memory_order_relaxed); }
  std::uint64_t late() const noexcept { return late_.load(std::memory_order_relaxed); }

 private:
  struct Waiting {
    Change change;
    std::uint64_t number = 0;  // in the order in which they were added
  };
  std::vector<Change> added_;     // as a ring
  std::vector<Waiting> waiting_;  // as a heap, the next one first
  std::size_t count_ = 0;         // of these
  std::uint64_t taken_ = 0;
  std::atomic<std::uint64_t> all_added_{0}, made_{0}, late_{0};
};

}  // namespace carillon::dataflow
