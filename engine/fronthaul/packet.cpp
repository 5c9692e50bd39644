#include "fronthaul/packet.hpp"

#include <bit>
#include <cstring>

namespace carillon::fronthaul {

static_assert(std::endian::native == std::endian::little, "the wire is little-endian");

PacketIds read_ids(std::span<const std::byte> datagram) noexcept {
  PacketIds ids;
  if (datagram.size() >= kHeaderBytes) std::memcpy(&ids, datagram.data(), sizeof ids);
  return ids;
}

void write_ids(const PacketIds& ids, std::byte* packet) noexcept {
  std::memcpy(packet, &ids, sizeof ids);
}

Reject check(const PacketIds& ids, std::size_t bytes, const Layout& layout, Carries way) noexcept {
  if (bytes < kHeaderBytes) return Reject::Length;
  if (ids.cell != layout.cell()) return Reject::Cell;
  if (ids.symbol >= layout.symbols().size()) return Reject::Symbol;
  if (layout.symbols()[ids.symbol].carries != way) return Reject::Symbol;
  if (ids.antenna >= layout.antennas()) return Reject::Antenna;
  if (bytes != layout.packet_bytes(ids.symbol)) return Reject::Length;
  return Reject::None;
}

}  // namespace carillon::fronthaul
