// From a user's equalized symbols to payload bits: the same for the base station's uplink and for
// the emulated users' downlink.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "frame/frame.hpp"
#include "frame/soft_store.hpp"
#include "phy/demap/demap.hpp"
#include "phy/ldpc/ldpc.hpp"

namespace carillon::frame {

/// What decoding found out about one code block.
struct CodeBlockResult {
  phy::DecodeResult decode;
  bool good = false;  // its CRC (without one: every parity check) holds, on what was received
};

struct DecodeScratch {
  std::int8_t* soft;  // as long as the longest pack of code blocks
  phy::LdpcScratch& ldpc;
};

/// A code block and its soft bits.
struct ReceivedBlock {
  std::uint32_t index;  // within its direction
  std::int8_t* soft;
};

/// Index of the code block that holds resource element `re` of a transport block.
std::uint32_t code_block_of(const phy::TransportPlan& plan, std::uint32_t re) noexcept;

/// A user's equalized symbols in `count` tiles from `first` on: s[0], s[stride], …, and the
/// variance of each tile's lanes, noise[0], noise[noise_stride], ….
struct UserTiles {
  std::uint32_t first, count;
  const phy::Tile* s;
  std::size_t stride;
  const float* noise;
  std::size_t noise_stride;
};

/// Calls body(modulation, phy::SoftRun) for those subcarriers of the tiles that belong to the
/// allocation, once for each code block; soft_of(code block of the direction) → its buffer.
template <typename SoftOf, typename Body>
void for_soft_runs(const FrameProgram& program, Direction direction, const Allocation& a,
                   const UserTiles& tiles, SoftOf&& soft_of, Body&& body) noexcept {
  const std::uint32_t begin = std::max(a.first_subcarrier, tiles.first * phy::kTileLanes);
  const std::uint32_t end =
      std::min(a.first_subcarrier + a.count, (tiles.first + tiles.count) * phy::kTileLanes);
  if (begin >= end) return;
  const auto& tb = program.transport_blocks(direction)[a.transport_block];
  const auto& plan = program.plan(tb);
  const std::size_t signs = a.signs - a.first_subcarrier / phy::kTileLanes;  // of tile 0
  std::uint32_t re = a.first_re + begin - a.first_subcarrier;
  for (std::uint32_t k = begin, r = code_block_of(plan, re); k < end; ++r) {
    const auto& cb = plan.blocks()[r];
    const std::uint32_t count = std::min(end - k, cb.first_re + cb.re_count - re);
    const std::uint32_t tile = k / phy::kTileLanes, i = tile - tiles.first;
    body(plan.modulation(), phy::SoftRun{.map = cb.map,
                                         .re = re - cb.first_re,
                                         .first = k % phy::kTileLanes,
                                         .count = count,
                                         .s = tiles.s + i * tiles.stride,
                                         .stride = tiles.stride,
                                         .noise = tiles.noise + i * tiles.noise_stride,
                                         .noise_stride = tiles.noise_stride,
                                         .signs = &program.signs()[signs + tile],
                                         .sign_stride = tiles_of(a),
                                         .soft = soft_of(tb.first_code_block + r)});
    re += count;
    k += count;
  }
}

/// The tiles' soft bits to the decoders' buffers.
template <typename SoftOf>
void demap_tiles(const FrameProgram& program, Direction direction, const Allocation& a,
                 const UserTiles& tiles, const phy::DemapKernels& kernels,
                 SoftOf&& soft_of) noexcept {
  for_soft_runs(program, direction, a, tiles, soft_of, kernels.demap);
}

/// Decodes at most ldpc_pack() code blocks of a plan, whose soft bits lie in d order (N of each, 0
/// where nothing was received): `sent` is one more than the last place of which anything was. Into
/// the pack's infos, and `results`, one for each.
void decode_soft(const phy::TransportPlan& plan, const Coding& coding, std::uint32_t sent,
                 std::span<phy::DecodeBlock> pack, const phy::LdpcKernels& ldpc,
                 phy::LdpcScratch& scratch, std::span<CodeBlockResult> results) noexcept;

/// Decodes at most ldpc_pack() code blocks of a direction, all of the same plan, into `infos` (K
/// bits of each at its info_offset) and `results` (of all code blocks of the direction). `store`:
/// where soft bits are kept of blocks that are sent again; they are combined in `soft`.
void decode_blocks(const FrameProgram& program, Direction direction, const Coding& coding,
                   std::span<const ReceivedBlock> blocks, const phy::DemapKernels& demap,
                   const phy::LdpcKernels& ldpc, DecodeScratch scratch, std::uint8_t* infos,
                   CodeBlockResult* results, SoftStore* store = nullptr) noexcept;

/// Where a soft buffer held other blocks before: makes a code block's places zero of which nothing
/// is sent.
void clear_unsent(const phy::SoftMap& map, std::int8_t* soft) noexcept;

/// Coded bits of a code block (`coded`: E of them, least significant bit first, and
/// phy::kCodedPadding bytes) that the signs of its soft bits give wrong.
std::uint64_t raw_errors(const phy::SoftMap& map, const std::int8_t* soft,
                         const std::uint8_t* coded) noexcept;

/// A transport block's payload from its decoded code blocks (`infos` at info_offset), at its
/// payload_offset. Returns whether the transport block's CRC holds.
bool assemble(const FrameProgram& program, Direction direction, std::uint32_t transport_block,
              const std::uint8_t* infos, std::uint8_t* payload) noexcept;

/// Whether a block was received, where what was sent is known: without a CRC that decides alone.
/// Parity checks fail of right blocks too, where they are of bits that nobody sent.
inline bool received(const phy::TransportPlan& plan, bool good, bool same) noexcept {
  return same && (good || plan.transport_crc() == phy::Crc::None);
}

}  // namespace carillon::frame
