// What is known about the work: three tables, named as in the MegaStation paper. Written by the one
// scheduler, by a type of its own; read by policies and, after a frame's last event, by whoever
// explains the frame.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/tick.hpp"
#include "runtime/graph.hpp"
#include "runtime/pace.hpp"
#include "runtime/tables.hpp"

namespace carillon::runtime {

/// A claim's length of time where none is asked for: finding it and its two time stamps cost a
/// hundredth of that. ns; and no more than so many chunks.
inline constexpr double kClaim = 10 * kMicrosecond;
inline constexpr double kMostChunks = 256;

/// One source's rows of the tables, to read.
class SourceBoard {
 public:
  /// The graph outlives it. `opcodes`: names. `grain`: chunks per claim by opcode; for missing
  /// entries and 0 see grain().
  SourceBoard(const Graph& graph, std::uint32_t ring, std::span<const std::string_view> opcodes,
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
  /// An instruction's row. Only of a source that has a profile.
  const OnType& on(std::uint16_t instruction, std::uint16_t type) const {
    return on_type_[type * rows_ + row_[instruction]];
  }
  bool has_profile() const { return !on_type_.empty(); }
  /// T_frame and, by step, its part (MegaStation's T_symbol) in ns: from the first execution to the
  /// last commit.
  double frame_time() const { return frame_time_.mean(); }
  double step_time(std::uint16_t step) const { return step_time_[step].mean(); }
  /// From one frame's start to the next one's, as they are offered; kNever when that is not
  /// known, or no frame has been offered for longer than two of them.
  Tick interval(Tick now) const noexcept;
  /// When the next frame starts; kNever when that is not known.
  Tick next_start() const noexcept {
    return interval_ == kNever ? kNever : newest_start_ + interval_;
  }
  /// Frames in a row, up to the newest, that were refused, and that were late of those admitted.
  std::uint32_t refused() const noexcept { return refused_; }
  std::uint32_t late() const noexcept { return late_; }

 protected:
  const Graph* graph_;
  std::vector<OpcodeInfo> opcodes_;
  std::vector<OnType> on_type_;     // [type][row]
  std::vector<std::uint16_t> row_;  // [instruction]
  std::size_t rows_ = 0;            // of a type
  Average frame_time_;
  std::vector<Average> step_time_;  // [step]
  std::vector<FrameStatus> frames_;
  std::vector<InstructionStatus> instructions_;
  std::vector<std::uint32_t> left_;  // [slot][lot]
  Tick interval_ = kNever, newest_start_ = kNever;
  std::uint64_t newest_ = 0;
  std::uint32_t refused_ = 0, late_ = 0;
};

/// One source's rows, to write.
class SourceWriter : public SourceBoard {
 public:
  using SourceBoard::SourceBoard;

  using SourceBoard::frame;
  using SourceBoard::status;
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
  /// Adds the frame, which is done, to what is known of frames and steps.
  void completed(std::uint16_t slot);
  void admitted(bool yes) { refused_ = yes ? 0 : refused_ + 1; }
  void ended(bool in_time) { late_ = in_time ? 0 : late_ + 1; }
};

/// All tables, to read: what policies see.
class Scoreboard {
 public:
  std::span<const SourceWriter> sources() const { return sources_; }
  const SourceBoard& operator[](std::uint16_t source) const { return sources_[source]; }
  std::span<const DeviceStatus> devices() const { return devices_; }
  const FrameStatus& frame(FrameRef at) const { return sources_[at.source].frame(at.slot); }

 protected:
  Scoreboard(std::vector<SourceWriter> sources, std::uint32_t devices)
      : sources_(std::move(sources)), devices_(devices) {}

  std::vector<SourceWriter> sources_;
  std::vector<DeviceStatus> devices_;
};

/// All tables, to write: one scheduler's, and its executor's.
class ScoreboardWriter : public Scoreboard {
 public:
  ScoreboardWriter(std::vector<SourceWriter> sources, std::uint32_t devices)
      : Scoreboard(std::move(sources), devices), pace_(devices) {}

  using Scoreboard::frame;
  using Scoreboard::operator[];
  SourceWriter& operator[](std::uint16_t source) { return sources_[source]; }
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
  FrameStatus& frame(FrameRef at) { return sources_[at.source].frame(at.slot); }

 private:
  std::vector<Pace> pace_;  // [device]
};

}  // namespace carillon::runtime
