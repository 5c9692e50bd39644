// A node while its graph runs: what it reads and writes, and one job of it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/aligned.hpp"
#include "base/tick.hpp"
#include "dataflow/blocks/block.hpp"
#include "dataflow/changes.hpp"
#include "dataflow/graph.hpp"
#include "dataflow/journal.hpp"
#include "dataflow/ring.hpp"
#include "dataflow/tags.hpp"

namespace carillon::dataflow {

/// What became of a node's jobs.
struct NodeAccount {
  std::uint64_t jobs = 0, executions = 0;
  Tick busy = 0;              ///< from when a worker turned to its jobs to their ends
  Tick longest_job = 0;       ///< of one job
  Tick longest_response = 0;  ///< from a job's release to its end
  /// Of a sink: the longest from a sample's arrival to the end of the job that was the last to read
  /// something of it; where sources are paced.
  Tick longest_latency = 0;
  std::uint64_t late = 0;         ///< of a sink: jobs that ended later than the bound allows
  std::uint64_t interrupted = 0;  ///< jobs that took many times what was planned
  std::uint64_t lost_tags = 0;
  std::uint64_t changes = 0, late_changes = 0;  ///< made, and how many of them after their samples
};

/// All that is not atomic belongs to whoever has set `busy`.
struct NodeState {
  explicit NodeState(std::size_t room_for_changes) : changes(room_for_changes) {}

  // An input: where its samples come from.
  struct Feed {
    EdgeId edge = 0;
    NodeState* from = nullptr;
    std::size_t reader = 0;  // of the ring and the tags behind `from`
    std::uint64_t produce = 1, threshold = 1, consume = 1, history = 0, ahead = 0;
    std::uint64_t left = 0;  // samples that were too few for an execution at the end

    std::uint64_t available() const { return from->out->available(reader); }
    std::uint64_t executions() const {
      const std::uint64_t there = available();
      return there < threshold ? 0 : (there - threshold) / consume + 1;
    }
  };

  // As the graph has it.
  Block* block = nullptr;
  std::uint64_t batch = 1;
  double period = 0;    // ns of an execution
  Tick budget = 0;      // ns that a batch is planned to take; 0: none
  bool device = false;  // its block is to be asked
  bool live = false;    // a source whose samples come when they come
  std::vector<Feed> feeds;
  std::vector<EdgeId> outputs;
  std::uint64_t produce = 1;
  std::unique_ptr<Ring> out;       // none: a sink
  std::unique_ptr<TagQueue> tags;  // beside it

  /// When the first of the samples behind a position of the ring arrived at a source.
  struct Mark {
    std::uint64_t position = 0;
    Tick arrival = 0;
  };
  std::vector<Mark> marks;  // of `out`'s last jobs, as a ring

  // As it runs, apart from what all look at.
  alignas(kCacheLine) std::atomic<bool> busy{false};  // a job is offered or runs
  std::atomic<Tick> released{0}, point{0};            // of that job, and what gives it priority
  std::atomic<bool> ended{false};
  std::atomic<std::size_t> readers{0};  // that have not ended
  std::atomic<std::uint64_t> executed{0}, marked{0};
  std::atomic<bool> asleep{false};          // its own thread, where each node has one
  std::atomic<std::uint32_t> called{0};     // a futex's word, for that thread
  std::atomic<std::uint64_t> remaining{0};  // executions that its block wants

  std::uint64_t count = 0;  // executions of the job
  Tick release = 0;
  Tick looked = 0;          // when the job was found, and of how many executions
  std::uint64_t there = 0;  // its device had samples then
  std::vector<const float*> windows;
  std::vector<Tag> tags_in, tags_made;
  Changes changes;      // add() is anybody's
  Histogram latencies;  // of a sink
  // Written by whoever is at it, and read by whoever looks on.
  std::atomic<std::uint64_t> jobs{0}, late{0}, interrupted{0}, lost_tags{0};
  std::atomic<Tick> busy_for{0}, longest_job{0}, longest_response{0}, longest_latency{0};

  bool source() const { return feeds.empty(); }
  bool sink() const { return out == nullptr; }
  /// Executions of its next job; 0: it has nothing more to do.
  std::uint64_t most() const {
    const bool unread = !sink() && readers.load() == 0;
    return unread ? 0 : std::min(batch, remaining.load());
  }
  bool has_room(std::uint64_t executions) const {
    return sink() || out->room() >= executions * produce;
  }

  /// Reads, executes and writes the job. `arrived`: the oldest of its samples.
  void execute(Tick arrived) noexcept;
  /// It has ended, and reads nothing more.
  void leave() noexcept;
  /// Of the oldest sample that its next job takes away. `begun`: when sources began.
  Tick arrival(Tick begun) const noexcept;
  void account_for(Tick start, Tick end) noexcept;
  NodeAccount account() const noexcept;

 private:
  void execute_part(std::uint64_t first, std::uint64_t executions) noexcept;
  void gather_tags(std::uint64_t first, std::uint64_t executions) noexcept;
  void give(Tag tag, std::uint64_t begin) noexcept;
  void hand_on(const Tag& tag, const Feed& feed) noexcept;
  void make(const Tag& tag) noexcept;
};

}  // namespace carillon::dataflow
