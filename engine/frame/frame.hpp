// The arithmetic of a valid FrameFormat, done once: symbols in time, pilots, deadlines, and what
// each frame does (frame/program.hpp). Immutable; read by the graph builder, the kernels'
// launchers, the fronthaul and the emulated radio alike.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/aligned.hpp"
#include "frame/format.hpp"
#include "frame/program.hpp"
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
  std::uint32_t pilot_symbol_of(std::uint32_t user) const;  // its place in each occasion
  std::uint32_t comb() const { return comb_; }              // 1 with time-orthogonal pilots

  /// In each pilot occasion all users send their pilots (frame/occasions.hpp).
  std::uint32_t occasions() const { return format_.pilots.occasions; }
  std::uint32_t pilots_of_occasion() const;  // P symbols of each
  std::span<const std::uint16_t> pilots_of(std::uint32_t occasion) const;
  /// A P symbol's place among those of its occasion.
  std::uint32_t place_of_pilot(std::uint32_t symbol) const {
    return symbols_[symbol].ordinal % pilots_of_occasion();
  }
  /// Whether any D symbol is precoded with what was learnt in an occasion.
  bool sends(std::uint32_t occasion) const { return downlink_reference_[occasion].size() > 0; }

  /// The first D symbol of a precoder carries users' unit-energy references and no data: on
  /// subcarrier k that of Pairing::turn. [tiles][users] of the first program and an occasion; of a
  /// tile of any pairing: [users].
  std::span<const phy::Tile> downlink_reference(std::uint32_t occasion = 0) const {
    return downlink_reference_[occasion].span();
  }
  void downlink_reference(const Pairing& pairing, std::uint32_t tile, phy::Tile* users) const;

  /// What the frame does that both ends of the fronthaul know by this number; nothing where a
  /// program schedules frames (WorkSource).
  const FrameProgram& program(std::uint64_t number = 0) const {
    return programs_[number % programs_.size()];
  }
  /// Frames that differ, after which they repeat.
  std::span<const FrameProgram> programs() const { return programs_; }
  /// Whether frames are scheduled while they come, at the data port: by a program there or by mac/.
  bool scheduled_by_port() const { return format_.grants.live(); }
  /// Whether frames differ in what they do.
  bool varies() const { return programs_.size() > 1 || scheduled_by_port(); }

  /// Why GPUs and virtual pools cannot work on it, under the key to change: they do the same in
  /// every frame, with at most one block of a user in a symbol, and one combiner.
  std::optional<Problem> why_not_on_devices() const;
  /// Combiners that a frame may have, one occasion's after another's, and users that share one.
  std::uint32_t combiners() const { return first_combiner_.back(); }
  std::uint32_t first_combiner(std::uint32_t occasion) const { return first_combiner_[occasion]; }
  std::uint32_t most_pairings(std::uint32_t occasion = 0) const {
    return first_combiner_[occasion + 1] - first_combiner_[occasion];
  }
  /// That of an uplink symbol that someone is in, or the precoder of a D symbol.
  std::uint32_t combiner_of(const FrameProgram& program, std::uint32_t symbol) const {
    return first_combiner_[symbols_[symbol].occasion] + program.pairing_of(symbol);
  }
  std::uint32_t most_together() const;

  /// What one frame in flight needs, whatever it does.
  const Room& room(Direction d) const { return rooms_[static_cast<std::size_t>(d)]; }
  const Rooms& rooms() const { return rooms_; }
  /// Bytes of the soft bits that are kept of an uplink block (SoftStore).
  std::size_t longest_kept() const { return room(Direction::Uplink).longest_kept; }

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
  const Coding& coding(Direction d) const;

 private:
  void lay_out_pilots();
  void lay_out_downlink_reference();
  void number_combiners();
  std::size_t count_pairings(std::uint32_t occasion) const;

  FrameFormat format_;
  phy::OfdmPlan ofdm_;
  phy::ArrayShape array_{};
  std::uint32_t comb_ = 1;
  std::uint32_t samples_ = 0;
  std::vector<Symbol> symbols_;
  std::array<std::vector<std::uint16_t>, 4> by_kind_;
  AlignedArray<phy::Tile> pilot_division_;
  std::vector<AlignedArray<phy::Tile>> downlink_reference_;  // [occasion]
  std::vector<std::uint32_t> first_combiner_;                // [occasion], and their number
  std::vector<FrameProgram> programs_;
  Rooms rooms_;
};

}  // namespace carillon::frame
