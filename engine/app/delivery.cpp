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
    : pipeline_(pipeline), port_(port), out_(pipeline.ring()) {
  for (auto& out : out_) out.resize(pipeline.frame().room(Direction::Uplink).transport_blocks);
}

void Delivery::begin(std::uint32_t place) noexcept { std::ranges::fill(out_[place], Out::No); }

void Delivery::committed(frame::FramePlace frame, std::uint16_t instruction, Tick at) noexcept {
  if (port_.sink == nullptr) return;
  const frame::FrameGraph& graph = pipeline_.graph();
  const frame::FrameProgram& program = *pipeline_.slot(frame.place).program;
  const std::uint16_t symbol = graph.graph[instruction].step;
  const bool brought = instruction == graph.bring[symbol];
  if (brought || instruction == graph.decode[symbol])
    for (const std::uint32_t b : program.lone_blocks_at(symbol)) hand_out(frame, b, at);
  if (brought || instruction == graph.assemble[symbol])
    for (const std::uint32_t b : program.assemblies_at(symbol)) hand_out(frame, b, at);
}

void Delivery::hand_out(frame::FramePlace frame, std::uint32_t block, Tick at) noexcept {
  Out& out = out_[frame.place][block];
  if (out != Out::No) return;
  const frame::FrameSlot& slot = pipeline_.slot(frame.place);
  const auto& tb = slot.program->transport_blocks(Direction::Uplink)[block];
  const bool good = passed(slot, port_.known, frame.radio_frame, block);
  out = good ? Out::Good : Out::Other;
  port_.sink->receive(
      frame, {.block = block,
              .verdict = good ? Verdict::Good : Verdict::Failed,
              .at = at,
              .bits = {&slot.payload[tb.payload_offset], (slot.program->plan(tb).A() + 7) / 8},
              .snr = snr_of(slot, tb)});
}

// From the variance that the demapper uses, of the one tile of each symbol that is sampled.
float Delivery::snr_of(const frame::FrameSlot& slot, const frame::TransportBlock& block) const {
  const frame::Frame& frame = pipeline_.frame();
  const std::size_t users = frame.format().users;
  float noise = 0;
  std::uint32_t symbols = 0;
  for (std::uint32_t s = block.first_symbol; s <= block.last_symbol; ++s) {
    if (frame.symbol(s).kind != frame::SymbolKind::Uplink) continue;
    const auto& quality = slot.quality[frame.symbol(s).ordinal * users + block.user];
    noise += quality.noise_power;
    symbols += quality.symbols;
  }
  return noise > 0 ? static_cast<float>(symbols) / noise : 0;
}

void Delivery::ended(frame::FramePlace frame, Tick at) noexcept {
  if (port_.sink == nullptr) return;
  const auto& program = *pipeline_.slot(frame.place).program;
  for (std::uint32_t b = 0; b < program.transport_blocks(Direction::Uplink).size(); ++b)
    if (std::exchange(out_[frame.place][b], Out::Other) == Out::No) late(frame, b, at);
}

void Delivery::refused(std::uint32_t radio_frame, const frame::FrameProgram& program,
                       Tick at) noexcept {
  if (port_.sink == nullptr) return;
  const std::size_t blocks = program.transport_blocks(Direction::Uplink).size();
  for (std::uint32_t b = 0; b < blocks; ++b) late({radio_frame, frame::kNoPlace}, b, at);
}

void Delivery::late(frame::FramePlace frame, std::uint32_t block, Tick at) noexcept {
  port_.sink->receive(frame, {.block = block, .verdict = Verdict::Late, .at = at, .bits = {}});
}

}  // namespace carillon::app
