#include "app/delivery.hpp"

#include <algorithm>
#include <utility>

namespace carillon::app {

using frame::Direction;
using frame::Verdict;

bool passed(const frame::FrameSlot& slot, const frame::KnownBits* known, std::uint32_t radio_frame,
            std::size_t transport_block) {
  const auto& block = slot.program->transport_blocks(Direction::Uplink)[transport_block];
  const auto& plan = slot.program->plan(block);
  if (plan.transport_crc() != phy::Crc::None || known == nullptr)
    return slot.good[transport_block] != 0;
  const std::uint8_t* got = &slot.payload[block.payload_offset];
  return std::equal(got, got + (plan.A() + 7) / 8,
                    known->payload(radio_frame) + block.payload_offset);
}

Delivery::Delivery(frame::Pipeline& pipeline, const frame::DataPort& port)
    : pipeline_(pipeline), frame_(pipeline.frame()), port_(port), out_(pipeline.ring()) {
  const frame::FrameGraph& graph = pipeline.graph();
  for (const frame::FrameProgram& program : frame_.programs()) {
    BlocksOf& blocks_of = blocks_of_.emplace_back(graph.graph.size());
    const auto blocks = program.transport_blocks(Direction::Uplink);
    for (std::uint32_t b = 0; b < blocks.size(); ++b) {
      const std::uint16_t last = blocks[b].last_symbol;
      const bool alone = program.plan(blocks[b]).C() == 1;
      blocks_of[(alone ? graph.decode : graph.assemble)[last]].push_back(b);
      if (graph.bring[last] != frame::kNoInstruction) blocks_of[graph.bring[last]].push_back(b);
    }
  }
  for (auto& out : out_) out.resize(frame_.most_transport_blocks(Direction::Uplink));
}

void Delivery::begin(std::uint32_t place) noexcept {
  std::ranges::fill(out_[place], std::uint8_t{0});
}

void Delivery::committed(frame::FramePlace frame, std::uint16_t instruction, Tick at) noexcept {
  if (port_.sink == nullptr) return;
  const frame::FrameSlot& slot = pipeline_.slot(frame.place);
  for (const std::uint32_t b : blocks_of_[slot.number][instruction]) {
    if (std::exchange(out_[frame.place][b], std::uint8_t{1}) != 0) continue;
    const auto& block = slot.program->transport_blocks(Direction::Uplink)[b];
    const bool good = passed(slot, port_.known, frame.radio_frame, b);
    port_.sink->receive(frame, {.block = b,
                                .verdict = good ? Verdict::Good : Verdict::Failed,
                                .at = at,
                                .bits = {&slot.payload[block.payload_offset],
                                         (slot.program->plan(block).A() + 7) / 8}});
  }
}

void Delivery::ended(frame::FramePlace frame, Tick at) noexcept {
  if (port_.sink == nullptr) return;
  const auto& program = frame_.program(frame.radio_frame);
  for (std::uint32_t b = 0; b < program.transport_blocks(Direction::Uplink).size(); ++b)
    if (std::exchange(out_[frame.place][b], std::uint8_t{1}) == 0) late(frame, b, at);
}

void Delivery::refused(std::uint32_t radio_frame, Tick at) noexcept {
  if (port_.sink == nullptr) return;
  const std::size_t blocks = frame_.program(radio_frame).transport_blocks(Direction::Uplink).size();
  for (std::uint32_t b = 0; b < blocks; ++b) late({radio_frame, frame::kNoPlace}, b, at);
}

void Delivery::late(frame::FramePlace frame, std::uint32_t block, Tick at) noexcept {
  port_.sink->receive(frame, {.block = block, .verdict = Verdict::Late, .at = at, .bits = {}});
}

}  // namespace carillon::app
