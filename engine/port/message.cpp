#include "port/message.hpp"

#include <cstring>

namespace carillon::port {

using frame::Direction;

std::vector<BlockRow> rows_of(const frame::Frame& frame) {
  std::vector<BlockRow> rows;
  std::uint32_t first = 0;  // slot of the program's frame
  for (const frame::FrameProgram& program : frame.programs()) {
    for (const Direction direction : {Direction::Uplink, Direction::Downlink})
      for (const auto& block : program.transport_blocks(direction))
        rows.push_back(
            {.direction = static_cast<std::uint8_t>(direction),
             .harq_process = static_cast<std::uint8_t>(block.harq_process),
             .redundancy_version = static_cast<std::uint8_t>(block.redundancy_version),
             .user = block.user,
             .slot = static_cast<std::uint16_t>(first + frame.symbol(block.first_symbol).slot),
             .first_symbol = block.first_symbol,
             .last_symbol = block.last_symbol,
             .bits = program.plan(block).A()});
    first += frame::slots_of(frame.format());
  }
  return rows;
}

Parsed parse(std::span<const std::uint8_t> datagram, std::uint32_t cell) {
  Parsed parsed;
  const bool whole = datagram.size() >= sizeof(Message);
  std::memcpy(&parsed.message, datagram.data(), whole ? sizeof(Message) : datagram.size());
  if (whole) parsed.piece = datagram.subspan(sizeof(Message));
  if (!whole || parsed.piece.size() > kPiece || parsed.message.magic != Message::kMagic ||
      parsed.message.type != MessageType::Bits || parsed.message.cell != cell)
    parsed.why = Refusal::Format;
  return parsed;
}

Message message_of(MessageType type, const frame::Frame& frame, Direction direction,
                   std::uint32_t radio_frame, std::uint32_t block) {
  const frame::FrameProgram& program = frame.program(radio_frame);
  const auto& tb = program.transport_blocks(direction)[block];
  return {.type = type,
          .cell = static_cast<std::uint16_t>(frame.format().cell_id),
          .frame = radio_frame,
          .block = block,
          .user = tb.user,
          .harq_process = static_cast<std::uint8_t>(tb.harq_process),
          .redundancy_version = static_cast<std::uint8_t>(tb.redundancy_version),
          .slot = frame.symbol(tb.first_symbol).slot,
          .bits = program.plan(tb).A()};
}

}  // namespace carillon::port
