// One datagram: the samples of one antenna in one symbol, in the wire format of Agora's fronthaul.
// 64-byte little-endian header, then S × {int16 I, int16 Q} with 32768 = 1.0, S = prefix + FFT
// size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fronthaul/layout.hpp"

namespace carillon::fronthaul {

/// Which samples a packet holds, as its header says.
struct PacketIds {
  std::uint32_t frame = 0;
  std::uint32_t symbol = 0;  // index into the schedule
  std::uint32_t cell = 0;
  std::uint32_t antenna = 0;  // within the cell

  bool operator==(const PacketIds&) const = default;
};

struct PacketHeader {
  PacketIds ids;
  std::uint8_t padding[48];  // undefined
};
static_assert(sizeof(PacketHeader) == 64);
inline constexpr std::uint32_t kHeaderBytes = sizeof(PacketHeader);

/// The symbol of a radio unit's report, of which there is one for each frame with downlink, when it
/// has been on air: a header alone. `antenna`: bit i is set when in frame - i something else went
/// on air than the baseband unit sends, since a symbol had not come in time. Each frame is in 32
/// reports. Not part of Agora's format: radio units that send none are not asked for any.
inline constexpr std::uint32_t kReportSymbol = 0xffff;
inline constexpr std::uint32_t kReportedFrames = 32;

/// Why a packet was not believed.
enum class Reject : std::uint8_t {
  None,
  Length,
  Cell,
  Antenna,
  Symbol,
  Old,
  Early,
  Duplicate,
  Differing,  ///< a duplicate with other samples: one of the two is forged or damaged
};
inline constexpr std::size_t kRejects = 9;

/// Reads the header of a datagram; all zero when it is shorter than one. Any alignment.
PacketIds read_ids(std::span<const std::byte> datagram) noexcept;
void write_ids(const PacketIds& ids, std::byte* packet) noexcept;

/// Whether a packet of `bytes` with this header can belong to the cell at all, whatever its frame:
/// known cell, antenna and symbol, a symbol that carries samples this way, the symbol's exact
/// length. Pure. The first reason in the order Length (no whole header), Cell, Symbol, Antenna,
/// Length.
Reject check(const PacketIds& ids, std::size_t bytes, const Layout& layout, Carries way) noexcept;

}  // namespace carillon::fronthaul
