#include "frame/milestones.hpp"

#include <algorithm>

#include "frame/opcodes.hpp"

namespace carillon::frame {

using runtime::kNever;

MilestoneKeeper::MilestoneKeeper(const Frame& frame, const FrameGraph& graph) : graph_(graph) {
  for (std::uint32_t s = 0; s < frame.symbols().size(); ++s)
    if (graph.receive[s] != kNoInstruction)
      first_packet_ = std::min(first_packet_, frame.symbol(s).end);
  const auto downlink = frame.symbols_of(SymbolKind::Downlink);
  if (!downlink.empty()) first_downlink_ = graph.transmit[downlink.front()];
}

Milestones MilestoneKeeper::begin() const { return {.first_packet = first_packet_}; }

void MilestoneKeeper::take(Milestones& frame, std::uint16_t instruction, Tick start,
                           Tick end) const {
  const auto reach = [&](Tick& milestone) {
    milestone = milestone == kNever ? end : std::max(milestone, end);
  };
  frame.started = std::min(frame.started, start);
  frame.slack = std::min(frame.slack, graph_.graph[instruction].deadline - end);
  reach(frame.ended);
  const auto op = static_cast<Op>(graph_.graph[instruction].opcode);
  if (is_uplink(op)) reach(frame.uplink_done);
  switch (op) {
    case Op::PilotFft: reach(frame.pilots_done); break;
    case Op::ZeroForce: reach(frame.combiner_done); break;
    case Op::Ifft:
      if (instruction == first_downlink_) reach(frame.downlink_first);
      break;
    default: break;
  }
}

}  // namespace carillon::frame
