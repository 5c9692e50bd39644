// What the fronthaul must know of a cell: which symbol carries how many samples which way, and
// when.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/tick.hpp"

namespace carillon::frame {
class Frame;
}

namespace carillon::fronthaul {

enum class Carries : std::uint8_t { Nothing, Uplink, Downlink };

struct SymbolLayout {
  Carries carries = Carries::Nothing;
  std::uint32_t samples = 0;  // prefix + FFT
  Tick start = 0, end = 0;    // on air, from the frame's start
  std::uint32_t ordinal = 0;  // among the symbols that carry the same; filled by Layout
  /// Of a D symbol, by how many D symbols its unit began before it. A unit goes on air whole or
  /// not at all.
  std::uint32_t into_unit = 0;
};

class Layout {
 public:
  explicit Layout(const frame::Frame& frame);
  Layout(std::uint32_t cell, std::uint32_t antennas, Tick duration,
         std::vector<SymbolLayout> symbols);

  std::uint32_t cell() const { return cell_; }
  std::uint32_t antennas() const { return antennas_; }
  Tick duration() const { return duration_; }
  std::span<const SymbolLayout> symbols() const { return symbols_; }
  /// Symbols that carry samples this way, ascending.
  std::span<const std::uint32_t> symbols(Carries way) const { return by_way_[index(way)]; }

  /// One packet's bytes: 64 + 4·samples.
  std::uint32_t packet_bytes(std::uint32_t symbol) const;
  std::uint32_t most_packet_bytes() const;
  /// Room for any packet of this cell, `behind` bytes more and another one, so that a longer
  /// datagram shows, in whole cache lines.
  std::uint32_t buffer_bytes(std::uint32_t behind = 0) const;
  /// Packets of one frame.
  std::uint32_t packets(Carries way) const {
    return static_cast<std::uint32_t>(symbols(way).size()) * antennas_;
  }

 private:
  static std::size_t index(Carries way) { return static_cast<std::size_t>(way); }

  std::uint32_t cell_, antennas_;
  Tick duration_;
  std::vector<SymbolLayout> symbols_;
  std::vector<std::uint32_t> by_way_[3];
};

}  // namespace carillon::fronthaul
