// What each opcode leaves on a GPU for those that follow it, where they may run on another.
#include <algorithm>
#include <utility>

#include "frame/gpu/arrays.hpp"

namespace carillon::frame {
namespace {

constexpr Direction kUp = Direction::Uplink, kDown = Direction::Downlink;

// Bytes of a block's place: until the next one's, or the end.
template <typename Block>
std::size_t room_at(std::span<const Block> blocks, std::uint32_t index, std::size_t Block::*offset,
                    std::size_t all) {
  const std::size_t end = index + 1 < blocks.size() ? blocks[index + 1].*offset : all;
  return end - blocks[index].*offset;
}

std::size_t payload_room(const Frame& frame, Direction direction, std::uint32_t block) {
  return room_at(frame.program().transport_blocks(direction), block,
                 &TransportBlock::payload_offset, frame.room(direction).payload_bytes);
}

// Pieces of one array, adjacent ones as one: a copy costs the host as much as a launch.
void add_of_array(std::vector<GpuPiece>& pieces, std::vector<GpuPiece> of_array) {
  const auto begin = [](const GpuPiece& each) { return static_cast<std::byte*>(each.at); };
  std::ranges::sort(of_array, {}, begin);
  const std::size_t before = pieces.size();
  for (const GpuPiece& each : of_array)
    if (pieces.size() > before && begin(pieces.back()) + pieces.back().bytes == begin(each))
      pieces.back().bytes += each.bytes;
    else
      pieces.push_back(each);
}

}  // namespace

bool blocks_within_symbols(const Frame& frame) {
  return std::ranges::all_of(frame.program().code_blocks(kUp), [](const CodeBlockPlace& place) {
    return place.first_symbol == place.last_symbol;
  });
}

std::vector<GpuPiece> GpuUplink::loaded(SymbolKind kind, std::uint32_t ordinal) const {
  const bool pilot = kind == SymbolKind::Pilot;
  const GpuSamples& all = pilot ? pilot_samples : samples;
  std::uint8_t* const flags = pilot ? pilot_missing : missing;
  return {all.symbol(ordinal), piece(flags + ordinal * all.antennas, all.antennas)};
}

// Of the users that have their pilots in the symbol, what noise came with them, and how far they
// are from their groups' means.
std::vector<GpuPiece> GpuUplink::estimates(std::uint32_t ordinal) const {
  const FrameFormat& f = frame_.format();
  const std::uint32_t first = std::min(f.users, ordinal * frame_.comb());
  const std::uint32_t end = std::min(f.users, (ordinal + 1) * frame_.comb());
  std::vector<GpuPiece> pieces = {piece(noise_ + std::size_t{ordinal} * f.antennas, f.antennas)};
  if (first == end) return pieces;
  if (deviations_ != nullptr)
    pieces.push_back(piece(deviations_ + std::size_t{ordinal} * f.antennas, f.antennas));
  pieces.push_back({.at = csi_ + first * estimate_.csi_user_stride,
                    .bytes = (end - first) * estimate_.csi_user_stride * sizeof(phy::Tile),
                    .pitch = estimate_.csi_tile_stride * sizeof(phy::Tile),
                    .rows = estimate_.tiles});
  return pieces;
}

std::vector<GpuPiece> GpuUplink::combiner(std::uint32_t part) const {
  const std::size_t users = frame_.format().users, antennas = frame_.format().antennas;
  const Ordinals csi = tiles_of({part, 1});
  const std::size_t first = std::min(csi.first * expand_.group, frame_.tiles());
  const std::size_t end = std::min((csi.first + csi.count) * expand_.group, frame_.tiles());
  std::vector<GpuPiece> pieces;
  // Of an array with so much for each tile.
  const auto add = [&](auto* at, std::size_t each, std::size_t from, std::size_t to) {
    if (at != nullptr && from != to) pieces.push_back(piece(at + from * each, (to - from) * each));
  };
  const std::size_t weights = users * frame_.array().antenna_stride;
  add(combiners_.post_noise, users * phy::kTileLanes, first, end);
  add(combiners_.tiles, weights, first, end);
  add(combiners_.scalars, weights, first, end);
  add(combiners_.half_tiles, weights, first, end);
  add(combiners_.half_scalars, weights, first, end);
  add(combiners_.half_scale, users, first, end);
  // For symbols that lack antennas.
  add(csi_, combine_.tile_stride, csi.first, csi.first + csi.count);
  add(combine_.takes_part, antennas, 0, 1);
  add(combine_.mean_noise, 1, 0, 1);
  add(combine_.residual, users, 0, 1);
  if (combiners_.in_parts)
    add(combiners_.power, antennas, csi.first, csi.first + csi.count);
  else
    add(combiners_.gain.gain, 1, 0, 1);
  return pieces;
}

std::vector<GpuPiece> GpuUplink::received(std::uint32_t ordinal) const {
  const std::size_t antennas = samples.antennas;
  const GpuPiece flags = piece(missing + ordinal * antennas, antennas);
  if (half_) return {piece(half_grid_ + ordinal * row(), row()), flags};
  return {piece(grid_ + ordinal * row(), row()), flags};
}

std::vector<GpuPiece> GpuUplink::soft_bits(std::uint32_t ordinal) const {
  const auto places = frame_.program().code_blocks(kUp);
  std::vector<GpuPiece> soft, pieces;
  for (const auto c :
       frame_.program().code_blocks_at(frame_.symbols_of(SymbolKind::Uplink)[ordinal]))
    soft.push_back(
        piece(soft_ + places[c].coded_offset,
              room_at(places, c, &CodeBlockPlace::coded_offset, frame_.room(kUp).coded_bytes)));
  add_of_array(pieces, std::move(soft));
  return pieces;
}

std::vector<GpuPiece> GpuUplink::decoded(std::uint32_t ordinal) const {
  const auto blocks = frame_.program().transport_blocks(kUp);
  const auto places = frame_.program().code_blocks(kUp);
  std::vector<GpuPiece> judgements, found, payloads, infos, pieces;
  for (const auto c :
       frame_.program().code_blocks_at(frame_.symbols_of(SymbolKind::Uplink)[ordinal])) {
    const TransportBlock& block = blocks[places[c].transport_block];
    judgements.push_back(piece(judged + code_blocks_.place(c), 1));
    found.push_back(piece(results + code_blocks_.place(c), 1));
    if (frame_.program().plan(block).C() == 1)
      payloads.push_back(piece(payload + block.payload_offset,
                               payload_room(frame_, kUp, places[c].transport_block)));
    else
      infos.push_back(
          piece(info_ + places[c].info_offset,
                room_at(places, c, &CodeBlockPlace::info_offset, frame_.room(kUp).info_bytes)));
  }
  for (auto* each : {&judgements, &found, &payloads, &infos})
    add_of_array(pieces, std::move(*each));
  return pieces;
}

// The transport blocks that end there, with what is known of all of their code blocks.
std::vector<GpuPiece> GpuUplink::stored(std::uint32_t ordinal) const {
  const std::uint16_t symbol = frame_.symbols_of(SymbolKind::Uplink)[ordinal];
  const auto blocks = frame_.program().transport_blocks(kUp);
  std::vector<GpuPiece> judgements, found, goods, payloads, pieces;
  for (std::uint32_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b].last_symbol != symbol) continue;
    for (std::uint32_t r = 0; r < frame_.program().plan(blocks[b]).C(); ++r) {
      const std::uint32_t place = code_blocks_.place(blocks[b].first_code_block + r);
      judgements.push_back(piece(judged + place, 1));
      found.push_back(piece(results + place, 1));
    }
    goods.push_back(piece(good + b, 1));
    payloads.push_back(piece(payload + blocks[b].payload_offset, payload_room(frame_, kUp, b)));
  }
  for (auto* each : {&judgements, &found, &goods, &payloads})
    add_of_array(pieces, std::move(*each));
  return pieces;
}

std::vector<GpuPiece> GpuDownlink::loaded(std::uint32_t ordinal) const {
  const std::uint16_t symbol = frame_.symbols_of(SymbolKind::Downlink)[ordinal];
  const auto blocks = frame_.program().transport_blocks(kDown);
  std::vector<GpuPiece> payloads, pieces;
  for (std::uint32_t b = 0; b < blocks.size(); ++b)
    if (blocks[b].first_symbol == symbol)
      payloads.push_back(piece(payload + blocks[b].payload_offset, payload_room(frame_, kDown, b)));
  add_of_array(pieces, std::move(payloads));
  return pieces;
}

GpuPiece GpuDownlink::coded_of(std::uint32_t transport_block) const {
  const auto blocks = frame_.program().transport_blocks(kDown);
  const std::size_t words =
      phy::cuda::encode_task(frame_.program().plan(blocks[transport_block])).coded_stride;
  return piece(coded_ + coded_at_[transport_block], words);
}

std::vector<GpuPiece> GpuDownlink::encoded(std::uint32_t ordinal) const {
  const std::uint16_t symbol = frame_.symbols_of(SymbolKind::Downlink)[ordinal];
  const auto blocks = frame_.program().transport_blocks(kDown);
  std::vector<GpuPiece> coded, pieces;
  for (std::uint32_t b = 0; b < blocks.size(); ++b)
    if (blocks[b].first_symbol == symbol) coded.push_back(coded_of(b));
  add_of_array(pieces, std::move(coded));
  return pieces;
}

// Precode reads coded bits, of all blocks that have some in the symbol.
std::vector<GpuPiece> GpuDownlink::modulated(std::uint32_t ordinal) const {
  std::vector<GpuPiece> coded, pieces;
  const std::uint16_t symbol = frame_.symbols_of(SymbolKind::Downlink)[ordinal];
  for (const Allocation& each : frame_.program().allocations(symbol))
    coded.push_back(coded_of(each.transport_block));
  add_of_array(pieces, std::move(coded));
  return pieces;
}

// With the gain, which Ifft has from nobody else.
std::vector<GpuPiece> GpuDownlink::precoded(std::uint32_t ordinal) const {
  const std::size_t row = std::size_t{frame_.tiles()} * frame_.array().antenna_stride;
  return {piece(grid_ + ordinal * row, row), piece(combiners_.gain_of(ordinal).gain, 1)};
}

std::vector<GpuPiece> GpuDownlink::transmitted(std::uint32_t ordinal) const {
  const std::uint32_t antennas = frame_.format().antennas;
  return {samples.symbol(ordinal), piece(saturated_ + std::size_t{ordinal} * antennas, antennas)};
}

}  // namespace carillon::frame
