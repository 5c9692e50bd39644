#include "runtime/scoreboard.hpp"

#include <algorithm>

namespace carillon::runtime {
namespace {

// Long enough to average over cache states, short enough to follow a change of clock. The first
// windows are shorter: half of all that was executed.
constexpr std::uint32_t kWindowChunks = 1024;

}  // namespace

SourceBoard::SourceBoard(const Graph& graph, std::uint32_t ring,
                         std::span<const std::string_view> opcodes,
                         std::span<const std::uint32_t> grain)
    : graph_(&graph),
      opcodes_(graph.opcodes()),
      frames_(ring),
      instructions_(std::size_t{ring} * graph.size()),
      left_(std::size_t{ring} * graph.lots().size()) {
  for (std::size_t i = 0; i < opcodes_.size(); ++i) {
    if (i < opcodes.size()) opcodes_[i].name = opcodes[i];
    if (i < grain.size()) opcodes_[i].grain = grain[i];
  }
}

std::uint32_t SourceBoard::grain(std::uint16_t opcode) const noexcept {
  const OpcodeInfo& info = opcodes_[opcode];
  if (info.grain != 0) return info.grain;
  if (info.mean <= 0) return 1;  // not measured yet
  return static_cast<std::uint32_t>(std::clamp(kClaim / info.mean, 1.0, kMostChunks));
}

void SourceWriter::measured(std::uint16_t opcode, std::uint32_t chunks, Tick busy) {
  if (chunks == 0) return;  // cancelled before it began
  OpcodeInfo& info = opcodes_[opcode];
  info.chunks += chunks;
  info.busy += busy;
  info.window_chunks += chunks;
  info.window_busy += busy;
  if (info.window_chunks < std::min<std::uint64_t>(kWindowChunks, info.chunks / 2)) return;
  std::atomic_ref(info.mean).store(static_cast<double>(info.window_busy) / info.window_chunks,
                                   std::memory_order_relaxed);
  info.window_chunks = 0;
  info.window_busy = 0;
}

void SourceWriter::progressed(std::uint16_t slot, std::uint16_t instruction,
                              std::uint32_t uncommitted, std::uint32_t done) {
  InstructionStatus& status = this->status(slot, instruction);
  left_[slot * graph_->lots().size() + graph_->lot(instruction)] +=
      (uncommitted - done) - (status.uncommitted - status.done);
  status.uncommitted = uncommitted;
  status.done = done;
}

void SourceWriter::set_profile(std::vector<OnType> on_type, double frame_time,
                               std::vector<std::uint16_t> row) {
  on_type_ = std::move(on_type);
  rows_ = graph_->opcodes();
  row_ = std::move(row);
  if (row_.empty())
    for (const Instruction& each : graph_->instructions()) row_.push_back(each.opcode);
  else
    rows_ = *std::ranges::max_element(row_) + std::size_t{1};
  frame_time_.start(frame_time);
  std::uint16_t steps = 0;
  for (const Instruction& each : graph_->instructions())
    steps = std::max(steps, static_cast<std::uint16_t>(each.step + 1));
  step_time_.resize(steps);
}

void SourceWriter::executed(std::uint16_t slot, std::uint16_t instruction, std::uint16_t type) {
  const InstructionStatus& status = this->status(slot, instruction);
  Tick start = status.executed;
  for (const std::uint16_t needed : (*graph_)[instruction].waits_for)
    start = std::max(start, this->status(slot, needed).committed);
  OnType& on = on_type_[type * rows_ + row_[instruction]];
  // Of what was heard of together with what it waited for, nothing is known.
  if (status.committed > start) on.time.add(static_cast<double>(status.committed - start));
}

void SourceWriter::completed(std::uint16_t slot) {
  if (!has_profile()) return;
  struct Span {
    Tick first = kNever, last = kAlways;
    void add(const InstructionStatus& status) {
      first = std::min(first, status.executed);
      last = std::max(last, status.committed);
    }
  };
  Span frame, within;
  std::uint16_t step = 0;
  const auto close = [&] {
    if (within.last != kAlways)
      step_time_[step].add(static_cast<double>(within.last - within.first));
    within = {};
  };
  for (std::uint16_t i = 0; i < graph_->size(); ++i) {
    const InstructionStatus& status = this->status(slot, i);
    if (status.chunks == 0 || status.state != InstructionStatus::State::Committed) continue;
    if ((*graph_)[i].step != step) close();
    step = (*graph_)[i].step;
    within.add(status);
    frame.add(status);
  }
  close();
  if (frame.last != kAlways) frame_time_.add(static_cast<double>(frame.last - frame.first));
}

void SourceWriter::offered(std::uint16_t slot) {
  const FrameStatus& frame = frames_[slot];
  if (newest_start_ != kNever && frame.frame > newest_ && frame.start > newest_start_) {
    interval_ = (frame.start - newest_start_) / static_cast<Tick>(frame.frame - newest_);
  }
  newest_ = frame.frame;
  newest_start_ = frame.start;
  const std::span left(&left_[slot * graph_->lots().size()], graph_->lots().size());
  std::ranges::fill(left, 0);
  for (OpcodeInfo& info : opcodes_) info.asked = 0;
  for (std::uint16_t i = 0; i < graph_->size(); ++i) {
    opcodes_[(*graph_)[i].opcode].asked += status(slot, i).chunks;
    left[graph_->lot(i)] += status(slot, i).chunks;
  }
}

Tick SourceBoard::interval(Tick now) const noexcept {
  const bool silent = interval_ == kNever || now - newest_start_ > 2 * interval_;
  return silent ? kNever : interval_;
}

void ScoreboardWriter::executed(FrameRef at, std::uint16_t instruction, std::uint16_t queue) {
  const SourceBoard& source = sources_[at.source];
  const InstructionStatus& status = source.status(at.slot, instruction);
  DeviceStatus& device = devices_[status.device];
  const OnType& on = source.on(instruction, device.type);
  if (on.sms == 0 || status.why == Reason::Overcommitted) return;
  Tick ready = status.issued;
  for (const std::uint16_t needed : source.graph()[instruction].waits_for) {
    const InstructionStatus& its = source.status(at.slot, needed);
    if (its.chunks == 0) continue;
    // When it was copied is not known.
    ready = std::max(ready, its.device == status.device ? its.committed : status.executed);
  }
  pace_[status.device].ended(ready, status.committed, queue, on.sms, on.alone, device.sms);
  device.others = pace_[status.device].others();
}

}  // namespace carillon::runtime
