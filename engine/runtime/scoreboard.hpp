// What is known about the work: three tables, named as in the MegaStation paper. Written by the one
// scheduler, read by policies and, after a frame's last event, by whoever explains the frame.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/tick.hpp"
#include "runtime/devices/occupancy.hpp"
#include "runtime/graph.hpp"

namespace carillon::runtime {

/// A set of devices: cores, GPUs or partitions.
class DeviceMask {
 public:
  static constexpr std::uint32_t kDevices = 128;
  static constexpr DeviceMask first(std::uint32_t count) {
    DeviceMask mask;
    for (std::uint32_t i = 0; i < count; ++i) mask.set(i);
    return mask;
  }
  constexpr void set(std::uint32_t i) { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
  constexpr void reset(std::uint32_t i) { words_[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }
  constexpr bool test(std::uint32_t i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }
  constexpr std::uint64_t word(std::uint32_t i) const { return words_[i]; }
  constexpr std::uint32_t count() const {
    return static_cast<std::uint32_t>(std::popcount(words_[0]) + std::popcount(words_[1]));
  }
  constexpr bool operator==(const DeviceMask& other) const {  // = default calls memcmp
    return words_[0] == other.words_[0] && words_[1] == other.words_[1];
  }

 private:
  std::array<std::uint64_t, kDevices / 64> words_{};
};

/// Radio units that can share a scheduler.
inline constexpr std::size_t kMaxCells = 64;

/// A frame by its number; each cell counts its own. Cells are numbered as they were given, from 0.
struct FrameId {
  std::uint64_t frame = 0;
  std::uint16_t cell = 0;
  constexpr FrameId(std::uint64_t frame, std::uint16_t cell = 0) : frame(frame), cell(cell) {}
};

/// A frame by its place: in which cell's ring, and where there.
struct FrameRef {
  std::uint16_t cell = 0;
  std::uint16_t slot = 0;
  bool operator==(const FrameRef&) const = default;
};

/// One instruction of one frame. The generation tells apart the frames that shared a ring slot.
struct InstanceId {
  std::uint64_t frame = 0;
  std::uint16_t cell = 0;
  std::uint16_t slot = 0;  ///< of the frame in its cell's ring
  std::uint16_t instruction = 0;
  std::uint32_t generation = 0;
  FrameRef place() const { return {cell, slot}; }
  bool operator==(const InstanceId&) const = default;
};

/// Why something was issued, or why it never will be.
enum class Reason : std::uint8_t {
  None,
  EarliestFrame,   ///< issued: of the earliest frame with work
  WorkConserving,  ///< issued: earlier frames keep their cores, this one takes what is left
  Assigned,        ///< issued: its device was fixed beforehand
  Deadline,        ///< missed or dropped: its deadline passed
  Predecessor,     ///< missed: something it needs was missed
  Abandoned,       ///< dropped: the application gave the frame up
  Refused,         ///< the policy did not admit the frame
  Memory,          ///< not admitted: a device has no memory left for what the frame may need
  Unit,            ///< placed: with the unit (frame or symbol) that it belongs to
  Idlest,          ///< placed: on the device with the least to do
  Full,            ///< placed: where its predecessor ran there is room (full or partial)
  Fragmented,      ///< placed: elsewhere, which is sooner than to wait
  Waits,           ///< placed: where its predecessor ran, which is sooner than to copy
  Delayed,         ///< placed: nowhere is room
  Soonest,         ///< placed: where it is expected to be done first
  Urgent,          ///< issued: its slack is nearly used up
  Reordered,       ///< issued: it is ready and there is room
  Overcommitted,   ///< issued: to run on what others leave
  Coalesced,       ///< issued: behind its predecessor, whose room it inherits
  Returned,        ///< issued again: its device died
  Overload,        ///< moved: too many of the radio unit's frames came too late or were refused
  HostLost,        ///< lost, or moved: the server was
  Moving,          ///< lost: the radio unit was between two servers
};
std::string_view to_string(Reason reason);

/// Table 1: opcode info, per cell: what a chunk costs is the cell's doing.
struct OpcodeInfo {
  std::string_view name;
  std::uint32_t grain = 0;   ///< chunks per claim, as asked for; 0: see Scoreboard::grain
  double mean = 0;           ///< ns per chunk in the last full calibration window; 0 = unknown yet
  std::uint64_t chunks = 0;  ///< executed, in all
  Tick busy = 0;             ///< their time, in all
  std::uint32_t asked = 0;   ///< chunks of the newest frame that was offered, admitted or not
  std::uint32_t window_chunks = 0;
  Tick window_busy = 0;
};

/// A mean over the last full window of so many values; the first windows are shorter.
class Average {
 public:
  void add(double value) {
    sum_ += value;
    if (++count_ < std::min<std::uint64_t>(kWindow, ++all_ / 2)) return;
    mean_ = sum_ / count_;
    sum_ = 0;
    count_ = 0;
  }
  void start(double mean) { mean_ = mean; }
  double mean() const { return mean_; }

 private:
  static constexpr std::uint32_t kWindow = 256;
  double mean_ = 0, sum_ = 0;
  std::uint32_t count_ = 0;
  std::uint64_t all_ = 0;
};

/// Table 1 on one type of device of a pool: an opcode's executor there (MegaStation §4.5). An
/// opcode has a row for each size that it comes in.
struct OnType {
  Footprint footprint = {};
  std::uint32_t sms = 0;  ///< that it occupies alone
  Average time;           ///< T_inst in ns: commit − max(predecessors' commit, exec)
  double alone = 0;       ///< ns when it has the device to itself
  double copy = 0;        ///< ns to bring its result to another device
  double trunk = 0;       ///< ns that a transfer occupies the link that all devices share
};

/// Table 2: instruction status, per frame slot.
struct InstructionStatus {
  enum class State : std::uint8_t { Waiting, Ready, Issued, Committed, Missed };
  State state = State::Waiting;
  bool released = false;
  bool fed = false;  ///< Arrivals: an item has come, or its close has passed
  Reason why = Reason::None;
  Reason placed = Reason::None;                 ///< why on its device
  std::uint16_t device = 0;                     ///< that executed its first chunk
  std::uint16_t runs = 0;                       ///< how often it was issued again
  std::uint16_t waiting = 0;                    ///< predecessors that have not committed
  std::uint16_t missing = 0;                    ///< Arrivals: items fed as missing
  std::uint32_t chunks = 0;                     ///< this frame's count; 0 = skipped
  std::uint32_t unissued = 0, uncommitted = 0;  ///< of them
  std::uint32_t done = 0;     ///< of the uncommitted, when a frame was last admitted
  std::uint32_t planned = 0;  ///< the place of an issue of it among all (the scheduler's)
  Tick ready = 0, issued = 0, executed = 0, committed = 0;
  Tick busy = 0;  ///< kernel time, summed over devices
};

/// Table 3: device status. Filled by executors that plan what runs where (simulated, GPU); CPU
/// workers choose for themselves, their present is in the trace.
struct DeviceStatus {
  bool running = false;
  InstanceId what;
  Tick start = 0, estimated_end = 0;
  bool up = true;          ///< it can be used
  bool spare = false;      ///< only while no other is up
  std::uint16_t type = 0;  ///< of a pool's types of devices
  std::uint32_t sms = 0;   ///< that it has
  double degree = 0.2;     ///< MegaStation's α: the share of its SMs below which it is too busy
  double others = 0;       ///< the share of its SMs that somebody else keeps, as far as is known
  /// SMs that are ours.
  std::uint32_t ours() const {
    return std::max(1U, static_cast<std::uint32_t>(sms * (1 - others) + 0.5));
  }
};

/// How much of a device somebody else keeps, as the times of our kernels tell: of the SM time that
/// those that could run asked for, they got so much.
class Pace {
 public:
  /// A kernel that could start at `ready`, but for those before it in its queue, has ended. `sms`:
  /// that it takes of the device's `all` when it has them to itself, for `alone` ns.
  void ended(Tick ready, Tick end, std::uint16_t queue, std::uint32_t sms, double alone,
             std::uint32_t all);
  double others() const { return others_; }

 private:
  static constexpr Tick kStep = 8 * kMicrosecond;
  static constexpr std::int64_t kSteps = 1024;  // that are remembered
  static constexpr std::size_t kQueues = 1024;
  static constexpr Tick kLatest = 4 * kMillisecond;    // a kernel that ends later counts in part
  static constexpr Tick kUsual = 10 * kMicrosecond;    // launches and gaps
  static constexpr Tick kWindow = 400 * kMicrosecond;  // of the whole device
  static constexpr double kHardly = 0.15;              // chance hardly makes it look so little
  static constexpr double kFull = 0.75;                // chance makes it look so much

  struct Step {
    std::uint32_t asked = 0;  // SMs
    double got = 0;           // SM·ns, by what ended then
  };
  Step& at(std::int64_t step) { return steps_[static_cast<std::size_t>(step % kSteps)]; }
  void settle(std::int64_t until, std::uint32_t all);
  void close_window();

  std::array<Step, kSteps> steps_{};
  std::array<Tick, kQueues> free_{};       // by queue, when the last one there ended
  std::int64_t first_ = 0;                 // that is remembered
  double asked_ = 0, got_ = 0;             // SM·ns, of the window
  std::array<double, 3> shares_{1, 1, 1};  // of the last windows
  double others_ = 0;
};

/// One place of a cell's frame ring.
struct FrameStatus {
  enum class State : std::uint8_t { Empty, Live, Draining, Finished };
  State state = State::Empty;
  Reason why = Reason::None;  ///< of a drop
  std::uint64_t frame = 0;
  std::uint32_t generation = 0;
  std::uint16_t open = 0;        ///< instructions neither committed nor missed
  std::uint16_t issued = 0;      ///< issues that executors have not finished
  std::uint32_t next_timer = 0;  ///< index into Graph::timers
  std::uint32_t next_drop = 0;   ///< and into Graph::drops
  Tick air_start = 0;
  Tick lead = 0;           ///< by how much deadlines of `drop_alone` are earlier than the graph's
  Tick deadline = kNever;  ///< the last of its instructions: past it, the frame is dropped
  Tick queue = kAlways;    ///< the last deadline of the cell's frames before it, which go first
  bool yields = false;     ///< to all frames of other cells that do not
  Tick admitted = 0, finished = 0;
};

/// A claim's length of time where none is asked for: finding it and its two time stamps cost a
/// hundredth of that. ns; and no more than so many chunks.
inline constexpr double kClaim = 10 * kMicrosecond;
inline constexpr double kMostChunks = 256;

/// One cell's rows of the tables.
class CellBoard {
 public:
  /// The graph outlives it. `opcodes`: names. `grain`: chunks per claim by opcode; for missing
  /// entries and 0 see grain().
  CellBoard(const Graph& graph, std::uint32_t ring, std::span<const std::string_view> opcodes,
            std::span<const std::uint32_t> grain);

  const Graph& graph() const { return *graph_; }
  std::uint32_t ring() const { return static_cast<std::uint32_t>(frames_.size()); }
  std::uint16_t slot(std::uint64_t frame) const {
    return static_cast<std::uint16_t>(frame % frames_.size());
  }

  std::span<const OpcodeInfo> opcodes() const { return opcodes_; }
  /// OpcodeInfo::mean. Any thread.
  double mean(std::uint16_t opcode) const noexcept {
    auto& value = const_cast<double&>(opcodes_[opcode].mean);  // atomic_ref takes no const
    return std::atomic_ref(value).load(std::memory_order_relaxed);
  }
  /// Chunks per claim: as asked for, else what lately took a claim's length of time. Scheduler
  /// only.
  std::uint32_t grain(std::uint16_t opcode) const noexcept;
  std::span<const FrameStatus> frames() const { return frames_; }
  const FrameStatus& frame(std::uint16_t slot) const { return frames_[slot]; }
  const InstructionStatus& status(std::uint16_t slot, std::uint16_t instruction) const {
    return instructions_[std::size_t{slot} * graph_->size() + instruction];
  }
  std::span<const InstructionStatus> statuses(std::uint16_t slot) const {
    return {&instructions_[std::size_t{slot} * graph_->size()], graph_->size()};
  }
  /// By lot of the graph, chunks that a live frame still has to do, as far as is known: what has
  /// not committed, without what was done of it.
  std::span<const std::uint32_t> left(std::uint16_t slot) const {
    const std::size_t lots = graph_->lots().size();
    return {&left_[slot * lots], lots};
  }
  /// An instruction's row. Only of a cell that has a profile.
  const OnType& on(std::uint16_t instruction, std::uint16_t type) const {
    return on_type_[type * rows_ + row_[instruction]];
  }
  bool has_profile() const { return !on_type_.empty(); }
  /// T_frame and, by step, T_symbol in ns: from the first execution to the last commit.
  double frame_time() const { return frame_time_.mean(); }
  double symbol_time(std::uint16_t step) const { return symbol_time_[step].mean(); }
  /// From one frame's start on air to the next one's, as they are offered; kNever when that is not
  /// known, or no frame has been offered for longer than two of them.
  Tick interval(Tick now) const noexcept;
  /// When the next frame's air time starts; kNever when that is not known.
  Tick next_start() const noexcept {
    return interval_ == kNever ? kNever : newest_start_ + interval_;
  }
  /// Frames in a row, up to the newest, that were refused, and that were late of those admitted.
  std::uint32_t refused() const noexcept { return refused_; }
  std::uint32_t late() const noexcept { return late_; }

  // For the scheduler and the executors only.
  OpcodeInfo& opcode(std::uint16_t id) { return opcodes_[id]; }
  FrameStatus& frame(std::uint16_t slot) { return frames_[slot]; }
  InstructionStatus& status(std::uint16_t slot, std::uint16_t instruction) {
    return instructions_[std::size_t{slot} * graph_->size() + instruction];
  }
  /// Adds an instruction's execution to its opcode's calibration window.
  void measured(std::uint16_t opcode, std::uint32_t chunks, Tick busy);
  /// Notes how many of an instruction's chunks have not committed, and are done of those.
  void progressed(std::uint16_t slot, std::uint16_t instruction, std::uint32_t uncommitted,
                  std::uint32_t done);
  /// Notes what a frame in its place asks for, and when.
  void offered(std::uint16_t slot);
  /// For a pool of devices: rows by type, and of each instruction which row is its; without those,
  /// its opcode's.
  void set_profile(std::vector<OnType> on_type, double frame_time,
                   std::vector<std::uint16_t> row = {});
  /// Adds the instruction, which has just committed, to what is known of its type of device.
  void executed(std::uint16_t slot, std::uint16_t instruction, std::uint16_t type);
  /// Adds the frame, which is done, to what is known of frames and symbols.
  void completed(std::uint16_t slot);
  void admitted(bool yes) { refused_ = yes ? 0 : refused_ + 1; }
  void ended(bool in_time) { late_ = in_time ? 0 : late_ + 1; }

 private:
  const Graph* graph_;
  std::vector<OpcodeInfo> opcodes_;
  std::vector<OnType> on_type_;     // [type][row]
  std::vector<std::uint16_t> row_;  // [instruction]
  std::size_t rows_ = 0;            // of a type
  Average frame_time_;
  std::vector<Average> symbol_time_;  // [step]
  std::vector<FrameStatus> frames_;
  std::vector<InstructionStatus> instructions_;
  std::vector<std::uint32_t> left_;  // [slot][lot]
  Tick interval_ = kNever, newest_start_ = kNever;
  std::uint64_t newest_ = 0;
  std::uint32_t refused_ = 0, late_ = 0;
};

class Scoreboard {
 public:
  Scoreboard(std::vector<CellBoard> cells, std::uint32_t devices)
      : cells_(std::move(cells)), devices_(devices), pace_(devices) {}

  std::span<const CellBoard> cells() const { return cells_; }
  const CellBoard& operator[](std::uint16_t cell) const { return cells_[cell]; }
  std::span<const DeviceStatus> devices() const { return devices_; }
  const FrameStatus& frame(FrameRef at) const { return cells_[at.cell].frame(at.slot); }

  // For the scheduler and the executors only.
  CellBoard& operator[](std::uint16_t cell) { return cells_[cell]; }
  /// Adds an instruction, which has just committed, to what is known of its device. `queue`: see
  /// Finished.
  void executed(FrameRef at, std::uint16_t instruction, std::uint16_t queue);
  /// A device is there, or is no longer: what others kept of it says nothing of what they will.
  void changed(std::uint32_t device, bool up) {
    devices_[device].up = up;
    devices_[device].others = 0;
    pace_[device] = {};
  }
  DeviceStatus& device(std::uint32_t id) { return devices_[id]; }
  FrameStatus& frame(FrameRef at) { return cells_[at.cell].frame(at.slot); }

 private:
  std::vector<CellBoard> cells_;
  std::vector<DeviceStatus> devices_;
  std::vector<Pace> pace_;  // [device]
};

}  // namespace carillon::runtime
