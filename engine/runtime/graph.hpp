// The task graph: what must be done for one frame, in which order and by when. Knows no radio.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/tick.hpp"

namespace carillon::runtime {

/// Where an instruction's chunks come from.
/// Commits: all chunks are there once its predecessors have committed.
/// Arrivals: chunk i is the i-th item to arrive from outside; Task::arrived[i] names the item.
enum class Feed : std::uint8_t { Commits, Arrivals };

inline constexpr Tick kAlways = std::numeric_limits<Tick>::min();
inline constexpr Tick kNever = std::numeric_limits<Tick>::max();

/// A buffer that an instruction reads or writes. `frame` 0 is this frame: a reader waits for every
/// instruction added before it that writes the buffer. -n is the n-th frame before: the version
/// last committed, never waited for.
struct Operand {
  std::uint16_t buffer = 0;
  std::int8_t frame = 0;
  bool write = false;
};

/// One node of the graph. Ticks count from the frame's start.
struct Instruction {
  std::uint16_t opcode = 0;
  std::uint16_t step = 0;  ///< what orders the frame: instructions of a step belong together
  std::uint16_t predecessors = 0;  ///< how many; filled by GraphBuilder::build
  Feed feed = Feed::Commits;
  bool notify = false;        ///< its commit (or miss) is a FrameEvent
  bool drop_alone = false;    ///< past its deadline it costs only itself and its successors
  std::uint32_t chunks = 1;   ///< at most; a frame may have fewer. Arrivals: at most 32767 items
  Tick release = kAlways;     ///< not before. Arrivals: also when its first item is expected
  Tick close = kNever;        ///< Arrivals: items missing now are fed as missing
  Tick early_close = kNever;  ///< and already now if `quorum` items came: the others are lost
  std::uint32_t quorum = 0;
  Tick deadline = kNever;
  std::uint32_t longest = 1;  ///< a chunk's time at most, over the mean, by what it works on
  std::span<const Operand> operands = {};
  std::span<const std::uint16_t> waits_for = {};   ///< ids it waits for, ascending; filled by build
  std::span<const std::uint16_t> successors = {};  ///< ids that wait for it; filled by build
};

/// An instant of the frame at which the scheduler has something to do.
struct Timer {
  enum class Kind : std::uint8_t { Release, EarlyClose, Close, Deadline };
  Tick offset = 0;
  Kind kind = Kind::Release;
  std::uint16_t instruction = 0;
};

/// All instructions of one opcode and one deadline: what policies that look ahead count together.
struct Lot {
  Tick deadline = kNever;
  std::uint16_t opcode = 0;
  auto operator<=>(const Lot&) const = default;
};

/// Immutable; owns all that its spans refer to. Movable: the spans stay valid.
class Graph {
 public:
  std::span<const Instruction> instructions() const { return instructions_; }
  const Instruction& operator[](std::uint16_t id) const { return instructions_[id]; }
  std::uint16_t size() const { return static_cast<std::uint16_t>(instructions_.size()); }

  /// The instructions' place in order of deadline, then step, then id: what is urgent in a frame.
  std::uint16_t rank(std::uint16_t id) const { return ranks_[id]; }
  /// The instruction of that rank.
  std::uint16_t by_rank(std::uint16_t rank) const { return order_[rank]; }
  /// From when on it can be ready: its own release or the latest of those it waits for.
  Tick available(std::uint16_t id) const { return available_[id]; }
  /// The shortest time from an instruction's availability to its deadline; 0 when there is none.
  Tick shortest_span() const { return shortest_span_; }
  /// All finite releases and closes, by offset.
  std::span<const Timer> timers() const { return timers_; }
  /// The deadlines of `drop_alone` instructions, by offset. A frame may have them earlier.
  std::span<const Timer> drops() const { return drops_; }
  /// By deadline.
  std::span<const Lot> lots() const { return lots_; }
  /// The instruction's, as an index into lots().
  std::uint16_t lot(std::uint16_t id) const { return lot_of_[id]; }
  /// One more than the highest opcode.
  std::uint16_t opcodes() const { return opcodes_; }

 private:
  friend class GraphBuilder;
  std::vector<Instruction> instructions_;
  std::unique_ptr<Operand[]> operands_;
  std::unique_ptr<std::uint16_t[]> waits_for_, successors_;
  std::vector<std::uint16_t> ranks_, order_;
  std::vector<Tick> available_;
  std::vector<Timer> timers_, drops_;
  std::vector<Lot> lots_;
  std::vector<std::uint16_t> lot_of_;
  Tick shortest_span_ = 0;
  std::uint16_t opcodes_ = 0;
};

/// Either a graph or the first thing that is wrong with it.
struct GraphResult {
  std::optional<Graph> graph;
  std::string error;
};

class GraphBuilder {
 public:
  static constexpr std::size_t kMaxInstructions = 65535;
  static constexpr std::uint32_t kMaxArrivals = 0x7fff;
  static constexpr std::uint32_t kMaxChunks = (1U << 24) - 1;

  /// Copies the operands, from which follows what it waits for; ignores `predecessors`, `waits_for`
  /// and `successors`. Returns the instruction's id: 0, 1, 2 …
  std::uint16_t add(const Instruction& instruction);
  /// `to` starts only when `from` has committed, whatever its operands. Naming the same pair twice
  /// is harmless.
  void depend(std::uint16_t from, std::uint16_t to);

  /// Errors: no instruction or too many, an id out of range, a cycle (naming its instructions),
  /// zero or too many chunks, a deadline before the release, a close on a Feed::Commits
  /// instruction.
  GraphResult build() const;

 private:
  using Edges = std::vector<std::pair<std::uint16_t, std::uint16_t>>;

  Edges all_edges() const;
  void lay_out(Graph& graph, const Edges& edges) const;

  std::vector<Instruction> instructions_;
  std::vector<std::vector<Operand>> operands_;
  Edges edges_;
};

}  // namespace carillon::runtime
