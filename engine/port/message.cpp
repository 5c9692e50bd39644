#include "port/message.hpp"

#include <array>
#include <cstring>

namespace carillon::port {

using frame::Direction;

namespace {

// A modulation's place among its kinds, from 1 on; what is none stays none.
std::uint32_t kind_of(std::uint32_t bits_per_symbol) {
  return bits_per_symbol % 2 == 0 ? bits_per_symbol / 2 : 0xff;
}

}  // namespace

std::vector<BlockRow> rows_of(const frame::Frame& frame, const frame::FrameProgram& program) {
  std::vector<BlockRow> rows;
  for (const Direction direction : {Direction::Uplink, Direction::Downlink})
    for (const auto& block : program.transport_blocks(direction))
      rows.push_back({.direction = static_cast<std::uint8_t>(direction),
                      .harq_process = static_cast<std::uint8_t>(block.harq_process),
                      .redundancy_version = static_cast<std::uint8_t>(block.redundancy_version),
                      .user = block.user,
                      .slot = frame.symbol(block.first_symbol).slot,
                      .first_symbol = block.first_symbol,
                      .last_symbol = block.last_symbol,
                      .bits = program.plan(block).A()});
  return rows;
}

std::vector<BlockRow> rows_of(const frame::Frame& frame) {
  std::vector<BlockRow> rows;
  std::uint32_t first = 0;  // slot of the program's frame
  for (const frame::FrameProgram& program : frame.programs()) {
    for (BlockRow row : rows_of(frame, program)) {
      row.slot = static_cast<std::uint16_t>(first + row.slot);
      rows.push_back(row);
    }
    first += frame::slots_of(frame.format());
  }
  return rows;
}

std::vector<std::uint32_t> list_of(std::span<const std::uint8_t> rows) {
  std::vector<std::uint32_t> list;
  for (; rows.size() >= sizeof(GrantRow); rows = rows.subspan(sizeof(GrantRow))) {
    GrantRow row;
    std::memcpy(&row, rows.data(), sizeof(row));
    const std::array<std::uint32_t, frame::kGrantNumbers> numbers{
        row.user,         row.slot,
        row.direction,    row.first_block,
        row.blocks,       row.redundancy_version,
        row.harq_process, row.first_symbol,
        row.symbols,      kind_of(row.modulation),
        row.mcs,          row.rate,
        row.again};
    list.insert(list.end(), numbers.begin(), numbers.end());
  }
  return list;
}

Parsed parse(std::span<const std::uint8_t> datagram, std::uint32_t cell) {
  Parsed parsed;
  const bool whole = datagram.size() >= sizeof(Message);
  std::memcpy(&parsed.message, datagram.data(), whole ? sizeof(Message) : datagram.size());
  if (whole) parsed.piece = datagram.subspan(sizeof(Message));
  if (!whole || parsed.piece.size() > kPiece || parsed.message.magic != Message::kMagic ||
      (parsed.message.type != MessageType::Bits && parsed.message.type != MessageType::Work) ||
      parsed.message.cell != cell)
    parsed.why = Refusal::Format;
  return parsed;
}

Message message_of(MessageType type, const frame::Frame& frame, const frame::FrameProgram& program,
                   Direction direction, std::uint32_t radio_frame, std::uint32_t block) {
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
