#include "frame/receive.hpp"

#include <immintrin.h>

#include <array>
#include <bit>
#include <cstring>

namespace carillon::frame {
namespace {

bool any_received(const std::int8_t* soft, std::uint32_t sent) noexcept {
  return std::any_of(soft, soft + sent, [](auto bit) { return bit != 0; });
}

// The signs of 64 soft bits, the first one's lowest.
std::uint64_t signs(const std::int8_t* soft) noexcept {
  std::uint64_t word = 0;
  for (int i = 0; i < 4; ++i) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(soft + 16 * i));
    word |= std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(bytes))} << 16 * i;
  }
  return word;
}

std::uint64_t bits_from(const std::uint8_t* coded, std::uint32_t first) noexcept {
  std::uint64_t word;
  std::memcpy(&word, coded + first / 8, sizeof word);
  const std::uint64_t above = coded[first / 8 + sizeof word];
  return word >> first % 8 | above << 1 << (63 - first % 8);
}

// Of `count` soft bits against coded bits from `e` on.
std::uint64_t differences(const std::int8_t* soft, const std::uint8_t* coded, std::uint32_t e,
                          std::uint32_t count) noexcept {
  std::uint64_t sum = 0;
  std::uint32_t i = 0;
  for (; i + 64 <= count; i += 64)
    sum += static_cast<std::uint64_t>(std::popcount(signs(soft + i) ^ bits_from(coded, e + i)));
  for (; i < count; ++i) sum += (soft[i] < 0) != ((coded[(e + i) / 8] >> (e + i) % 8 & 1) != 0);
  return sum;
}

bool all_zero(const std::uint8_t* info, std::uint32_t bits) noexcept {
  return std::all_of(info, info + (bits + 7) / 8, [](auto byte) { return byte == 0; });
}

}  // namespace

std::uint32_t code_block_of(const phy::TransportPlan& plan, std::uint32_t re) noexcept {
  const auto blocks = plan.blocks();
  // Sizes differ by one unit at most (38.212 5.4.2.1), so that the mean leads next to it.
  auto r = static_cast<std::uint32_t>(std::uint64_t{re} * blocks.size() / plan.re_count());
  while (re < blocks[r].first_re) --r;
  while (re >= blocks[r].first_re + blocks[r].re_count) ++r;
  return r;
}

void decode_soft(const phy::TransportPlan& plan, const Coding& coding, std::uint32_t sent,
                 std::span<phy::DecodeBlock> pack, const phy::LdpcKernels& ldpc,
                 phy::LdpcScratch& scratch, std::span<CodeBlockResult> results) noexcept {
  phy::DecodeOptions options;
  options.fillers = plan.fillers();
  options.sent = sent;
  options.max_iterations = coding.iterations;
  options.early_stop = coding.early_stop;
  options.crc = plan.decoder_crc();
  options.crc_span = plan.Kprime();
  ldpc.decode(plan.code(), pack, options, scratch);
  for (std::size_t i = 0; i < pack.size(); ++i) {
    CodeBlockResult& result = results[i];
    result.decode = pack[i].result;
    result.good = options.crc == phy::Crc::None ? result.decode.parity : result.decode.crc;
    // Zeros, which are what becomes of bits that were not received, satisfy every CRC: then the
    // code has to hold too, on something that was received.
    if (result.good && all_zero(pack[i].info, plan.K()))
      result.good = result.decode.parity && any_received(pack[i].soft, sent);
  }
}

void decode_blocks(const FrameProgram& program, Direction direction, const Coding& coding,
                   std::span<const ReceivedBlock> blocks, const phy::DemapKernels& demap,
                   const phy::LdpcKernels& ldpc, DecodeScratch scratch, std::uint8_t* infos,
                   CodeBlockResult* results, SoftStore* store) noexcept {
  const auto places = program.code_blocks(direction);
  const auto all = program.transport_blocks(direction);
  const auto& plan = program.plan(all[places[blocks[0].index].transport_block]);
  std::uint32_t sent = 0;
  std::array<phy::DecodeBlock, phy::kMaxPack> pack{};
  std::array<CodeBlockResult, phy::kMaxPack> found;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto& place = places[blocks[i].index];
    const auto& cb = plan.blocks()[place.index];
    std::int8_t* soft = blocks[i].soft;
    sent = std::max(sent, cb.last_position);
    if (!cb.map.direct) {
      soft = scratch.soft + i * plan.N();
      demap.recover(cb.map, blocks[i].soft, soft);
    }
    const TransportBlock& block = all[place.transport_block];
    if (block.combine) store->combine(block, plan, place.index, soft, sent);
    pack[i] = {soft, infos + place.info_offset, {}};
  }
  decode_soft(plan, coding, sent, {pack.data(), blocks.size()}, ldpc, scratch.ldpc,
              {found.data(), blocks.size()});
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    results[blocks[i].index] = found[i];
    const auto& place = places[blocks[i].index];
    const TransportBlock& block = all[place.transport_block];
    if (block.keep && (!found[i].good || plan.C() > 1))
      store->keep(block, plan, place.index, pack[i].soft, sent);
  }
}

void clear_unsent(const phy::SoftMap& map, std::int8_t* soft) noexcept {
  if (!map.direct) return;
  const std::span pieces(map.pieces.data(), map.piece_count);
  for (std::uint32_t end = 0; end < map.N;) {
    std::uint32_t next = map.N, after = map.N;  // the piece that comes next
    for (const phy::SoftPiece& piece : pieces)
      if (piece.d >= end && piece.d < next) next = piece.d, after = piece.d + piece.count;
    std::memset(soft + end, 0, next - end);
    end = after;
  }
}

// Soft bits lie at their place in the codeword, or one after the other where places repeat.
std::uint64_t raw_errors(const phy::SoftMap& map, const std::int8_t* soft,
                         const std::uint8_t* coded) noexcept {
  if (!map.direct) return differences(soft, coded, 0, map.E);
  std::uint64_t errors = 0;
  for (std::uint32_t p = 0; p < map.piece_count; ++p)
    errors += differences(soft + map.pieces[p].d, coded, map.pieces[p].e, map.pieces[p].count);
  return errors;
}

bool assemble(const FrameProgram& program, Direction direction, std::uint32_t transport_block,
              const std::uint8_t* infos, std::uint8_t* payload) noexcept {
  const auto& tb = program.transport_blocks(direction)[transport_block];
  const auto& plan = program.plan(tb);
  const auto places = program.code_blocks(direction).subspan(tb.first_code_block, plan.C());
  const std::size_t stride = places.size() > 1 ? places[1].info_offset - places[0].info_offset : 0;
  return phy::desegment(plan, infos + places[0].info_offset, stride, payload + tb.payload_offset);
}

}  // namespace carillon::frame
