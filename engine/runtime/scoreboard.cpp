#include "runtime/scoreboard.hpp"

#include <algorithm>

namespace carillon::runtime {
namespace {

// Long enough to average over cache states, short enough to follow a change of clock. The first
// windows are shorter: half of all that was executed.
constexpr std::uint32_t kWindowChunks = 1024;

// A claim's length of time: finding it and its two time stamps cost a hundredth of that.
constexpr double kClaim = 10 * kMicrosecond;
constexpr double kMostChunks = 256;

}  // namespace

std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::None: return "none";
    case Reason::EarliestFrame: return "earliest frame";
    case Reason::WorkConserving: return "work conserving";
    case Reason::Assigned: return "assigned beforehand";
    case Reason::Deadline: return "deadline passed";
    case Reason::Predecessor: return "predecessor missed";
    case Reason::Abandoned: return "abandoned";
    case Reason::Refused: return "refused";
  }
  return "unknown";
}

CellBoard::CellBoard(const Graph& graph, std::uint32_t ring,
                     std::span<const std::string_view> opcodes,
                     std::span<const std::uint32_t> grain)
    : graph_(&graph),
      opcodes_(graph.opcodes()),
      frames_(ring),
      instructions_(std::size_t{ring} * graph.size()) {
  for (std::size_t i = 0; i < opcodes_.size(); ++i) {
    if (i < opcodes.size()) opcodes_[i].name = opcodes[i];
    if (i < grain.size()) opcodes_[i].grain = grain[i];
  }
}

std::uint32_t CellBoard::grain(std::uint16_t opcode) const noexcept {
  const OpcodeInfo& info = opcodes_[opcode];
  if (info.grain != 0) return info.grain;
  if (info.mean <= 0) return 1;  // not measured yet
  return static_cast<std::uint32_t>(std::clamp(kClaim / info.mean, 1.0, kMostChunks));
}

void CellBoard::measured(std::uint16_t opcode, std::uint32_t chunks, Tick busy) {
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

void CellBoard::offered(std::uint16_t slot) {
  const FrameStatus& frame = frames_[slot];
  if (newest_start_ != kNever && frame.frame > newest_ && frame.air_start > newest_start_) {
    interval_ = (frame.air_start - newest_start_) / static_cast<Tick>(frame.frame - newest_);
  }
  newest_ = frame.frame;
  newest_start_ = frame.air_start;
  for (OpcodeInfo& info : opcodes_) info.asked = 0;
  for (std::uint16_t i = 0; i < graph_->size(); ++i) {
    opcodes_[(*graph_)[i].opcode].asked += status(slot, i).chunks;
  }
}

Tick CellBoard::interval(Tick now) const noexcept {
  const bool silent = interval_ == kNever || now - newest_start_ > 2 * interval_;
  return silent ? kNever : interval_;
}

}  // namespace carillon::runtime
