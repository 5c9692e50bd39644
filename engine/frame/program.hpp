// Who sends which bits where: transport blocks, code blocks and their places in the frame.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "frame/format.hpp"
#include "phy/transport/transport.hpp"

namespace carillon::frame {

enum class SymbolKind : char { Pilot = 'P', Uplink = 'U', Downlink = 'D', Guard = 'G' };

struct Symbol {
  SymbolKind kind;
  std::uint16_t slot;
  std::uint16_t ordinal;       // among the symbols of its kind
  std::uint32_t prefix;        // samples
  std::uint32_t samples;       // prefix + FFT
  std::uint32_t first_sample;  // from the frame's start
  Tick start, end;             // on air, from the frame's start
};

/// One transport block: a user's bits over one frame, slot or symbol.
struct TransportBlock {
  Direction direction;
  std::uint16_t user;
  std::uint16_t first_symbol, last_symbol;
  std::uint16_t redundancy_version, harq_process;
  std::uint32_t plan;              // index into Frame::plans
  std::uint32_t first_code_block;  // index into Frame::code_blocks(direction)
  std::size_t payload_offset;      // bytes into a frame's payload memory of this direction
};

/// One code block of one transport block, and where its bits travel.
struct CodeBlockPlace {
  std::uint32_t transport_block;
  std::uint32_t index;                      // within its transport block
  std::uint16_t first_symbol, last_symbol;  // that carry its resource elements
  std::size_t info_offset;   // bytes into a frame's decoded (or to-encode) information memory
  std::size_t coded_offset;  // bytes into a frame's soft (uplink) or coded (downlink) memory
};

/// A user's part of one data symbol; count is 0 where it has none.
struct Allocation {
  std::uint32_t transport_block = 0;
  std::uint32_t first_subcarrier = 0;
  std::uint32_t count = 0;     // subcarriers
  std::uint32_t first_re = 0;  // resource elements of the transport block before this symbol
  std::size_t signs = 0;       // index into Frame::signs(): [bit][tile from the first touched]
};

/// Tiles that an allocation touches.
inline std::uint32_t tiles_of(const Allocation& a) {
  return phy::tiles_for(a.first_subcarrier % phy::kTileLanes + a.count);
}

/// Lanes of a tile that an allocation has, a bit each.
inline std::uint32_t lanes_in(const Allocation& a, std::uint32_t tile) {
  const std::uint32_t begin = std::max(a.first_subcarrier, tile * phy::kTileLanes);
  const std::uint32_t end = std::min(a.first_subcarrier + a.count, (tile + 1) * phy::kTileLanes);
  return begin < end ? ((1U << (end - begin)) - 1) << begin % phy::kTileLanes : 0;
}

/// All transport blocks of one direction, and the memory that one frame in flight needs for them.
struct BlockSide {
  std::vector<TransportBlock> transport_blocks;
  std::vector<CodeBlockPlace> code_blocks;
  std::size_t payload_bytes = 0;
  std::size_t info_bytes = 0;
  std::size_t coded_bytes = 0;
  std::uint64_t payload_bits = 0;  // CRCs excluded
};

struct Blocks {
  std::vector<phy::TransportPlan> plans;
  std::array<BlockSide, 2> sides;                          // [Direction]
  std::vector<Allocation> allocations;                     // [symbol][user]
  std::vector<std::vector<std::uint32_t>> code_blocks_at;  // [symbol], see Frame::code_blocks_at
  std::vector<std::vector<std::uint32_t>> assemblies_at;   // [symbol], see Frame::assemblies_at
  std::vector<std::uint16_t> signs;                        // with a spare one at the end
};

/// Lays out the symbols of a frame in time.
std::vector<Symbol> lay_out_symbols(const FrameFormat& format);

/// Lays out all blocks; what cannot be (a rate that a grant cannot carry) is a problem under its
/// key.
Blocks lay_out_blocks(const FrameFormat& format, const std::vector<Symbol>& symbols,
                      std::vector<Problem>& problems);

}  // namespace carillon::frame
