#include "fronthaul/layout.hpp"

#include <algorithm>
#include <utility>

#include "frame/frame.hpp"
#include "fronthaul/packet.hpp"

namespace carillon::fronthaul {
namespace {

Carries carries(frame::SymbolKind kind) {
  switch (kind) {
    case frame::SymbolKind::Pilot:
    case frame::SymbolKind::Uplink: return Carries::Uplink;
    case frame::SymbolKind::Downlink: return Carries::Downlink;
    case frame::SymbolKind::Guard: break;
  }
  return Carries::Nothing;
}

std::vector<SymbolLayout> lay_out(const frame::Frame& frame) {
  std::vector<SymbolLayout> symbols;
  for (const auto& s : frame.symbols())
    symbols.push_back({carries(s.kind), s.samples, s.start, s.end, 0, 0});
  for (const auto s : frame.symbols_of(frame::SymbolKind::Downlink))
    symbols[s].into_unit = frame.symbol(s).ordinal - frame.symbol(frame.first_of_unit(s)).ordinal;
  return symbols;
}

}  // namespace

Layout::Layout(const frame::Frame& frame)
    : Layout(frame.format().cell_id, frame.format().antennas, frame.duration(), lay_out(frame)) {}

Layout::Layout(std::uint32_t cell, std::uint32_t antennas, Tick duration,
               std::vector<SymbolLayout> symbols)
    : cell_(cell), antennas_(antennas), duration_(duration), symbols_(std::move(symbols)) {
  for (std::uint32_t s = 0; s < symbols_.size(); ++s) {
    auto& same = by_way_[index(symbols_[s].carries)];
    symbols_[s].ordinal = static_cast<std::uint32_t>(same.size());
    same.push_back(s);
  }
}

std::uint32_t Layout::packet_bytes(std::uint32_t symbol) const {
  return kHeaderBytes + 4 * symbols_[symbol].samples;
}

std::uint32_t Layout::most_packet_bytes() const {
  std::uint32_t most = 0;
  for (std::uint32_t s = 0; s < symbols_.size(); ++s)
    if (symbols_[s].carries != Carries::Nothing) most = std::max(most, packet_bytes(s));
  return most;
}

// A header is one cache line.
std::uint32_t Layout::buffer_bytes(std::uint32_t behind) const {
  return ((most_packet_bytes() + behind) / kHeaderBytes + 1) * kHeaderBytes;
}

}  // namespace carillon::fronthaul
