// What a scoreboard's tables are made of: names of frames and their instructions, and rows.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

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

/// Sources of frames that can share a scheduler.
inline constexpr std::size_t kMaxSources = 64;

/// A frame by its number; each source counts its own. Sources are numbered as they were given, from
/// 0.
struct FrameId {
  std::uint64_t frame = 0;
  std::uint16_t source = 0;
  constexpr FrameId(std::uint64_t frame, std::uint16_t source = 0) : frame(frame), source(source) {}
};

/// A frame by its place: in which source's ring, and where there.
struct FrameRef {
  std::uint16_t source = 0;
  std::uint16_t slot = 0;
  bool operator==(const FrameRef&) const = default;
};

/// One instruction of one frame. The generation tells apart the frames that shared a ring slot.
struct InstanceId {
  std::uint64_t frame = 0;
  std::uint16_t source = 0;
  std::uint16_t slot = 0;  ///< of the frame in its source's ring
  std::uint16_t instruction = 0;
  std::uint32_t generation = 0;
  FrameRef place() const { return {source, slot}; }
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
  Unit,            ///< placed: with the unit (frame or step) that it belongs to
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
};
std::string_view to_string(Reason reason);

/// Table 1: opcode info, per source: what a chunk costs is the source's doing.
struct OpcodeInfo {
  std::string_view name;
  std::uint32_t grain = 0;   ///< chunks per claim, as asked for; 0: see SourceBoard::grain
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

/// Where a frame stands among the others, for its policy alone.
struct Order {
  Tick queue = kAlways;  ///< the last deadline of the frames that go first
  bool yields = false;   ///< to all frames that do not
};

/// One place of a source's frame ring.
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
  Tick start = 0;
  Tick lead = 0;           ///< by how much deadlines of `drop_alone` are earlier than the graph's
  Tick deadline = kNever;  ///< the last of its instructions: past it, the frame is dropped
  Order order = {};        ///< as the policy said
  Tick admitted = 0, finished = 0;
};

}  // namespace carillon::runtime
