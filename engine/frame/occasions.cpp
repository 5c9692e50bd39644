#include "frame/occasions.hpp"

#include <algorithm>
#include <cmath>

namespace carillon::frame {
namespace {

std::vector<std::uint16_t> pilots_of(std::span<const Symbol> symbols) {
  std::vector<std::uint16_t> pilots;
  for (std::uint16_t s = 0; s < symbols.size(); ++s)
    if (symbols[s].kind == SymbolKind::Pilot) pilots.push_back(s);
  return pilots;
}

// The last P symbol of each occasion. A format that is not right may have fewer.
std::vector<std::uint16_t> ends_of(const FrameFormat& f, std::span<const Symbol> symbols) {
  const auto pilots = pilots_of(symbols);
  const std::size_t each = std::max<std::size_t>(1, pilots.size() / f.pilots.occasions);
  std::vector<std::uint16_t> ends;
  for (std::size_t i = each; i <= pilots.size() && ends.size() < f.pilots.occasions; i += each)
    ends.push_back(pilots[i - 1]);
  return ends;
}

// The last of the occasions whose last P symbol is `over`; where none is, the first.
template <typename Over>
std::uint16_t last_of(const std::vector<std::uint16_t>& ends, Over&& over) {
  const auto count = std::ranges::count_if(ends, over);
  return static_cast<std::uint16_t>(std::max<std::ptrdiff_t>(count, 1) - 1);
}

std::uint16_t occasion_of(const FrameFormat& f, std::span<const Symbol> symbols,
                          const std::vector<std::uint16_t>& ends, std::uint16_t s) {
  switch (symbols[s].kind) {
    case SymbolKind::Pilot:  // as many have ended before
      return static_cast<std::uint16_t>(
          std::ranges::count_if(ends, [&](std::uint16_t end) { return end < s; }));
    case SymbolKind::Uplink: return last_of(ends, [&](std::uint16_t end) { return end < s; });
    case SymbolKind::Downlink: break;
    case SymbolKind::Guard: return 0;
  }
  if (f.deadlines.precoder_age > 0) return last_of(ends, [](std::uint16_t) { return true; });
  const Tick leaves =
      symbols[first_of_unit(f, symbols, s)].start -
      std::llround(f.deadlines.downlink_lead_ms * static_cast<double>(kMillisecond));
  return last_of(ends, [&](std::uint16_t end) { return symbols[end].end < leaves; });
}

}  // namespace

std::uint16_t first_of_unit(const FrameFormat& f, std::span<const Symbol> symbols,
                            std::uint32_t symbol) {
  const auto unit = [&](std::uint32_t s) {
    switch (f.deadlines.downlink_unit) {
      case BlockSpan::Frame: return 0U;
      case BlockSpan::Slot: return s / f.symbols_per_slot;
      case BlockSpan::Symbol: break;
    }
    return s;
  };
  std::uint16_t s = 0;
  while (symbols[s].kind != SymbolKind::Downlink || unit(s) != unit(symbol)) ++s;
  return s;
}

void assign_occasions(const FrameFormat& f, std::span<Symbol> symbols) {
  const auto ends = ends_of(f, symbols);
  const Symbol* before = nullptr;
  for (std::uint16_t s = 0; s < symbols.size(); ++s) {
    Symbol& symbol = symbols[s];
    symbol.occasion = occasion_of(f, symbols, ends, s);
    if (symbol.kind != SymbolKind::Downlink) continue;
    symbol.references = before == nullptr || before->occasion != symbol.occasion;
    before = &symbol;
  }
}

void check_occasions(const FrameFormat& f, std::vector<Problem>& problems) {
  const auto carries = [](const Symbol& s) {
    return carries_data(s, Direction::Uplink) || carries_data(s, Direction::Downlink);
  };
  if (std::ranges::any_of(lay_out_symbols(f), carries)) return;
  problems.push_back({"schedule",
                      "carries no data: each D is the first after a pilot occasion, which carries "
                      "only references; add U or D, or lower pilots.occasions"});
}

}  // namespace carillon::frame
