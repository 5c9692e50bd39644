// The arithmetic of a valid FrameFormat, done once: symbols in time, who sends what where,
// transport blocks and their code blocks. Immutable; read by the graph builder, the kernels'
// launchers, the fronthaul and the emulated radio alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned.hpp"
#include "frame/blocks.hpp"
#include "frame/format.hpp"
#include "phy/ofdm/ofdm.hpp"
#include "phy/tile.hpp"
#include "phy/transport/transport.hpp"
#include "phy/zeroforce/zeroforce.hpp"

namespace carillon::frame {

class Frame {
 public:
  /// The format must be valid (FrameFormat::validate); throws std::invalid_argument with the first
  /// problem otherwise.
  explicit Frame(const FrameFormat& format);

  const FrameFormat& format() const { return format_; }
  const phy::OfdmPlan& ofdm() const { return ofdm_; }
  std::uint32_t tiles() const { return ofdm_.tiles(); }
  phy::ArrayShape array() const { return array_; }

  std::span<const Symbol> symbols() const { return symbols_; }
  const Symbol& symbol(std::uint32_t index) const { return symbols_[index]; }
  std::span<const std::uint16_t> symbols_of(SymbolKind kind) const;
  std::uint32_t samples() const { return samples_; }  // of a whole frame, per antenna
  std::uint32_t most_samples() const;                 // of the longest symbol
  Tick duration() const { return symbols_.back().end; }
  Tick air_time(std::uint64_t sample) const;  // samples → ticks, rounded to nearest

  /// The conjugate of the pilots' base sequence, as receive_pilot wants it: all combs at once, in
  /// every pilot symbol. [tiles]
  std::span<const phy::Tile> pilot_division() const { return {pilot_division_.data(), tiles()}; }
  /// What user u sends in its pilot symbol: the sequence on its own comb, zero elsewhere. [tiles]
  std::vector<phy::Tile> pilot_tiles(std::uint32_t user) const;
  std::uint32_t pilot_symbol_of(std::uint32_t user) const;  // ordinal among pilot symbols
  std::uint32_t comb() const { return comb_; }              // 1 with time-orthogonal pilots

  /// The downlink's first D symbol carries user u's unit-energy reference on subcarriers
  /// k ≡ u (mod users) and no data. [tiles][users]
  std::span<const phy::Tile> downlink_reference() const { return downlink_reference_.span(); }

  std::span<const TransportBlock> transport_blocks(Direction d) const {
    return side(d).transport_blocks;
  }
  std::span<const CodeBlockPlace> code_blocks(Direction d) const { return side(d).code_blocks; }
  const phy::TransportPlan& plan(const TransportBlock& b) const { return blocks_.plans[b.plan]; }
  const phy::CodeBlock& code_block(Direction d, const CodeBlockPlace& c) const {
    return plan(side(d).transport_blocks[c.transport_block]).blocks()[c.index];
  }
  /// Allocations of a data symbol, one for each user.
  std::span<const Allocation> allocations(std::uint32_t symbol) const;
  /// Whether anyone has data in a symbol.
  bool anyone_in(std::uint32_t symbol) const;
  /// Code blocks whose last (uplink) or first (downlink) resource element lies in a symbol.
  std::span<const std::uint32_t> code_blocks_at(std::uint32_t symbol) const;
  /// The first symbol with resource elements of the code blocks that end in an uplink symbol.
  std::uint16_t first_symbol_of_blocks_at(std::uint16_t symbol) const;
  /// The symbols in which the code blocks that a downlink symbol carries begin, ascending.
  std::vector<std::uint16_t> first_symbols_of_blocks_in(std::uint16_t symbol) const;
  /// Uplink transport blocks of several code blocks that end in a symbol (their CRC24A is checked
  /// when all code blocks are there).
  std::span<const std::uint32_t> assemblies_at(std::uint32_t symbol) const;
  std::span<const std::uint16_t> signs() const { return blocks_.signs; }

  /// Bytes for one frame in flight.
  std::size_t info_bytes(Direction d) const { return side(d).info_bytes; }
  std::size_t payload_bytes(Direction d) const { return side(d).payload_bytes; }
  std::size_t coded_bytes(Direction d) const { return side(d).coded_bytes; }
  /// Payload bits of one frame over all users, CRCs excluded.
  std::uint64_t payload_bits(Direction d) const { return side(d).payload_bits; }

  Tick uplink_deadline(std::uint32_t last_symbol) const;  // from the frame's start
  /// May be negative. A D symbol's samples leave before those of its unit that are first on air.
  Tick downlink_deadline(std::uint32_t symbol) const;
  /// downlink_lead_ms, and what it may become where it follows T_f: no more than leaves half of the
  /// time between a channel's last pilot and the first D symbol that is precoded with it, and no
  /// more than a radio unit keeps ahead of the air.
  Tick least_lead() const;
  Tick most_lead() const;
  /// How long before its first D symbol must leave a frame is begun, if that is before its start.
  static constexpr Tick kHeadStart = 300 * kMicrosecond;
  /// The first D symbol of those that go on air with this one whole or not at all.
  std::uint16_t first_of_unit(std::uint32_t symbol) const;
  /// Of all symbols of the downlink, and of the uplink if that counts.
  Tick last_deadline(bool uplink) const;
  /// Coded bits of one user in one data symbol: the largest allocation's.
  std::uint32_t bits_per_symbol(Direction d) const;
  const Coding& coding(Direction d) const;

 private:
  const BlockSide& side(Direction d) const { return blocks_.sides[static_cast<std::size_t>(d)]; }
  void lay_out_pilots();
  void lay_out_downlink_reference();

  FrameFormat format_;
  phy::OfdmPlan ofdm_;
  phy::ArrayShape array_{};
  std::uint32_t comb_ = 1;
  std::uint32_t samples_ = 0;
  std::vector<Symbol> symbols_;
  std::array<std::vector<std::uint16_t>, 4> by_kind_;
  AlignedArray<phy::Tile> pilot_division_;
  AlignedArray<phy::Tile> downlink_reference_;
  Blocks blocks_;
};

}  // namespace carillon::frame
