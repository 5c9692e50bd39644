#include "frame/needs.hpp"

#include <algorithm>

#include "frame/program_work.hpp"

namespace carillon::frame {
namespace {

void include_uplink(const Frame& frame, const FrameProgram& program, std::uint16_t symbol,
                    const Packs& packs, SymbolNeeds& needs) {
  needs.decodes = std::max(needs.decodes, packs.size());
  needs.assembles = std::max(needs.assembles, program.assemblies_at(symbol).size());
  needs.decodes_from = std::min(needs.decodes_from, program.first_symbol_of_blocks_at(symbol));
  for (const auto b : program.assemblies_at(symbol)) {
    const TransportBlock& block = program.transport_blocks(Direction::Uplink)[b];
    for (const CodeBlockPlace& place :
         program.code_blocks(Direction::Uplink)
             .subspan(block.first_code_block, program.plan(block).C()))
      needs.assembled_of.insert(place.last_symbol);
  }
  if (program.anyone_in(symbol)) needs.combiners.insert(frame.combiner_of(program, symbol));
}

void include_downlink(const FrameProgram& program, std::uint16_t symbol, SymbolNeeds& needs) {
  needs.encodes = std::max(needs.encodes, program.code_blocks_at(symbol).size());
  needs.encoded_at.merge(program.first_symbols_of_blocks_in(symbol));
}

// The symbols, up to this one, of blocks that may have it.
std::set<std::uint16_t> spanned(const Frame& frame, Direction direction, std::uint16_t symbol) {
  const BlockSpan span = frame.coding(direction).block;
  std::set<std::uint16_t> symbols;
  for (std::uint16_t s = 0; s <= symbol; ++s) {
    const bool near =
        span == BlockSpan::Frame || s == symbol ||
        (span == BlockSpan::Slot && frame.symbol(s).slot == frame.symbol(symbol).slot);
    if (near && carries_data(frame.symbol(s), direction)) symbols.insert(s);
  }
  return symbols;
}

SymbolNeeds room_in(const Frame& frame, std::uint16_t symbol) {
  SymbolNeeds needs;
  for (const Direction direction : {Direction::Uplink, Direction::Downlink}) {
    if (!carries_data(frame.symbol(symbol), direction)) continue;
    const Room& room = frame.room(direction);
    const auto symbols = spanned(frame, direction, symbol);
    needs.anyone = true;
    if (direction == Direction::Downlink) {
      needs.encodes = room.code_blocks;
      needs.encoded_at = symbols;
      continue;
    }
    const std::uint32_t occasion = frame.symbol(symbol).occasion;
    for (std::uint32_t pairing = 0; pairing < frame.most_pairings(occasion); ++pairing)
      needs.combiners.insert(frame.first_combiner(occasion) + pairing);
    needs.decodes = room.code_blocks;
    needs.assembles = room.transport_blocks;
    needs.decodes_from = *symbols.begin();
    needs.assembled_of = symbols;
  }
  return needs;
}

}  // namespace

std::vector<SymbolNeeds> needs_of(const Frame& frame, std::uint32_t workers) {
  const auto symbols = static_cast<std::uint16_t>(frame.symbols().size());
  std::vector<SymbolNeeds> needs(symbols);
  if (frame.scheduled_by_port()) {
    for (std::uint16_t s = 0; s < symbols; ++s) needs[s] = room_in(frame, s);
    return needs;
  }
  for (std::uint16_t s = 0; s < symbols; ++s) needs[s].decodes_from = s;
  for (const FrameProgram& program : frame.programs()) {
    const auto packs = pack(frame, program, workers);
    for (std::uint16_t s = 0; s < symbols; ++s) needs[s].anyone |= program.anyone_in(s);
    for (const auto s : frame.symbols_of(SymbolKind::Uplink))
      include_uplink(frame, program, s, packs[s], needs[s]);
    for (const auto s : frame.symbols_of(SymbolKind::Downlink))
      include_downlink(program, s, needs[s]);
  }
  return needs;
}

}  // namespace carillon::frame
