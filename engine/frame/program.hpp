// What one frame does: who sends which bits where. Transport blocks, code blocks and their places
// in the frame, compiled from grants (FrameFormat::grants); other frames may do something else.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <tuple>
#include <variant>
#include <vector>

#include "frame/format.hpp"
#include "frame/pairing.hpp"
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
  /// Of a P symbol, the one that it is of; of U and D, whose combiner or precoder it has.
  std::uint16_t occasion = 0;
  /// A D symbol without data: the first of those that share a precoder.
  bool references = false;
};

/// Lays out the symbols of a frame in time.
std::vector<Symbol> lay_out_symbols(const FrameFormat& format);

/// One transport block: a user's bits over one frame, slot or symbol.
struct TransportBlock {
  Direction direction;
  std::uint16_t user;
  std::uint16_t first_symbol, last_symbol;
  std::uint16_t redundancy_version, harq_process;
  std::uint32_t plan;              // see FrameProgram::plan; the same for blocks coded alike
  std::uint32_t first_code_block;  // index into FrameProgram::code_blocks(direction)
  std::size_t payload_offset;      // bytes into a frame's payload memory of this direction
  // Of the uplink of a cell with HARQ processes:
  bool again = false;                  // it was sent before
  bool combine = false, keep = false;  // its soft bits, with those kept before; if it fails
  std::uint8_t attempt = 0;            // from 1 on
};

/// One code block of one transport block, and where its bits travel.
struct CodeBlockPlace {
  std::uint32_t transport_block;
  std::uint32_t index;                      // within its transport block
  std::uint16_t first_symbol, last_symbol;  // that carry its resource elements
  std::size_t info_offset;   // bytes into a frame's decoded (or to-encode) information memory
  std::size_t coded_offset;  // bytes into a frame's soft (uplink) or coded (downlink) memory
};

/// Neighbouring subcarriers of one data symbol that a user has for one of its transport blocks.
struct Allocation {
  std::uint32_t user = 0;
  std::uint32_t transport_block = 0;
  std::uint32_t first_subcarrier = 0;
  std::uint32_t count = 0;     // subcarriers
  std::uint32_t first_re = 0;  // resource elements of the transport block before this symbol
  std::size_t signs = 0;  // index into FrameProgram::signs(): [bit][tile from the first touched]
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

/// How transport blocks are coded. What several frames do is often coded alike: they share these.
class TransportPlans {
 public:
  using Plan = std::shared_ptr<const phy::TransportPlan>;

  /// A plan, made where it was not known; or why it cannot be made.
  std::variant<Plan, phy::CodingError> find(Direction direction, const phy::Coding& coding,
                                            std::uint32_t resource_elements);

 private:
  using Key = std::tuple<Direction, std::uint32_t, std::uint32_t, double, std::uint32_t>;

  std::map<Key, std::variant<Plan, phy::CodingError>> known_;
};

/// All transport blocks of one direction, and the memory that one frame in flight needs for them.
struct BlockSide {
  std::vector<TransportBlock> transport_blocks;
  std::vector<CodeBlockPlace> code_blocks;
  std::size_t payload_bytes = 0;
  std::size_t info_bytes = 0;
  std::size_t coded_bytes = 0;
  std::size_t soft_bytes = 0;         // that a receiver of all code blocks needs
  std::uint64_t payload_bits = 0;     // CRCs excluded
  std::uint32_t bits_per_symbol = 0;  // coded ones, of the largest allocation
};

/// What frames in flight need of one direction, whatever they do: bytes, and places of blocks.
struct Room {
  std::size_t transport_blocks = 0, code_blocks = 0;
  std::size_t payload_bytes = 0, info_bytes = 0, coded_bytes = 0, soft_bytes = 0;
  std::size_t longest_block = 0;  // bytes of a transport block
  std::size_t longest_kept = 0;   // of its soft bits, where these outlive the frame

  /// The more of both.
  void include(const Room& other);
  /// Whether that leaves room for `other`.
  bool holds(const Room& other) const;
  bool operator==(const Room&) const = default;
};
using Rooms = std::array<Room, 2>;  // [Direction]

class FrameProgram {
 public:
  std::span<const TransportBlock> transport_blocks(Direction d) const {
    return side(d).transport_blocks;
  }
  /// To say how they are sent.
  std::span<TransportBlock> blocks_of(Direction d) {
    return sides_[static_cast<std::size_t>(d)].transport_blocks;
  }
  std::span<const CodeBlockPlace> code_blocks(Direction d) const { return side(d).code_blocks; }
  const phy::TransportPlan& plan(const TransportBlock& b) const { return plan(b.plan); }
  const phy::TransportPlan& plan(std::uint32_t index) const { return *plans_[index]; }
  TransportPlans::Plan shared_plan(const TransportBlock& b) const { return plans_[b.plan]; }
  const phy::CodeBlock& code_block(Direction d, const CodeBlockPlace& c) const {
    return plan(side(d).transport_blocks[c.transport_block]).blocks()[c.index];
  }
  /// Of a data symbol, by user; of none that has nothing there.
  std::span<const Allocation> allocations(std::uint32_t symbol) const {
    return allocations_[symbol];
  }
  /// A user's allocations of a data symbol.
  std::span<const Allocation> allocations(std::uint32_t symbol, std::uint32_t user) const;
  /// Whether anyone has data in a symbol.
  bool anyone_in(std::uint32_t symbol) const { return !allocations_[symbol].empty(); }
  /// Code blocks whose last (uplink) or first (downlink) resource element lies in a symbol.
  std::span<const std::uint32_t> code_blocks_at(std::uint32_t symbol) const {
    return code_blocks_at_[symbol];
  }
  /// The first symbol with resource elements of the code blocks that end in an uplink symbol.
  std::uint16_t first_symbol_of_blocks_at(std::uint16_t symbol) const;
  /// The symbols in which the code blocks that a downlink symbol carries begin.
  std::set<std::uint16_t> first_symbols_of_blocks_in(std::uint16_t symbol) const;
  /// Uplink transport blocks of several code blocks that end in a symbol (their CRC24A is checked
  /// when all code blocks are there).
  std::span<const std::uint32_t> assemblies_at(std::uint32_t symbol) const {
    return assemblies_at_[symbol];
  }
  /// Those of one code block, which end with it.
  std::span<const std::uint32_t> lone_blocks_at(std::uint32_t symbol) const {
    return lone_blocks_at_[symbol];
  }
  /// Users that share subcarriers in the symbols of a pilot occasion: the frame has a combiner for
  /// each pairing. The first is the downlink's, if any D symbol has that occasion: of all of these,
  /// or of older frames all users (Deadlines::precoder_age).
  std::span<const Pairing> pairings(std::uint32_t occasion = 0) const {
    return pairings_[occasion];
  }
  /// Which of its occasion's a data symbol has: an uplink symbol shares it with those of its slot.
  std::uint32_t pairing_of(std::uint32_t symbol) const { return pairing_of_[symbol].number; }
  /// The pairing itself; of an uplink symbol that someone is in.
  const Pairing& pairing(std::uint32_t symbol) const {
    const PairingPlace& place = pairing_of_[symbol];
    return pairings_[place.occasion][place.number];
  }
  /// Users that share a combiner, where most do.
  std::uint32_t most_together() const;
  /// Whether each user that receives has a reference of its own.
  bool gives_all_references(std::span<const Symbol> symbols) const;

  /// With a spare one at the end.
  std::span<const std::uint16_t> signs() const { return signs_; }

  /// What one frame in flight needs.
  Room room(Direction d) const;
  /// Payload bits over all users, CRCs excluded.
  std::uint64_t payload_bits(Direction d) const { return side(d).payload_bits; }
  /// Coded bits of one user in one data symbol: the largest allocation's.
  std::uint32_t bits_per_symbol(Direction d) const { return side(d).bits_per_symbol; }

 private:
  friend class Compiler;
  const BlockSide& side(Direction d) const { return sides_[static_cast<std::size_t>(d)]; }

  std::vector<TransportPlans::Plan> plans_;                 // each once
  std::array<BlockSide, 2> sides_;                          // [Direction]
  std::vector<std::vector<Allocation>> allocations_;        // [symbol]
  std::vector<std::vector<std::uint32_t>> code_blocks_at_;  // [symbol]
  std::vector<std::vector<std::uint32_t>> assemblies_at_;   // [symbol]
  std::vector<std::vector<std::uint32_t>> lone_blocks_at_;  // [symbol]
  struct PairingPlace {
    std::uint32_t occasion = 0, number = 0;
  };
  std::vector<std::vector<Pairing>> pairings_;  // [occasion]
  std::vector<PairingPlace> pairing_of_;        // [symbol]
  std::vector<std::uint16_t> signs_;
};

/// What each frame of FrameFormat::grants does; what cannot be done (a rate that a grant cannot
/// carry) is left out, and a problem under its key.
std::vector<FrameProgram> compile(const FrameFormat& format, std::span<const Symbol> symbols,
                                  std::vector<Problem>& problems);

/// What one frame does that has those of these grants, of slots within it, that `which` names. One
/// that needs more than there is room for is left out as well.
FrameProgram compile(const FrameFormat& format, std::span<const Symbol> symbols,
                     std::span<const Grant> grants, std::vector<std::size_t> which,
                     const Rooms& room, TransportPlans& plans, std::vector<Problem>& problems);

/// What frames have room for that a program schedules: all users in all resource blocks, coded as
/// the cell says; and for kMoreBlocks times as many blocks, so that these may be smaller.
inline constexpr std::size_t kMoreBlocks = 4;
Rooms room_for_any(const FrameFormat& format, std::span<const Symbol> symbols,
                   std::vector<Problem>& problems);

/// Whether a direction's data may be in a symbol: the first D of a precoder has references instead.
bool carries_data(const Symbol& symbol, Direction direction);

}  // namespace carillon::frame
