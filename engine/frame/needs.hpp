// What frames may ask of each symbol, whatever they do: the graph is built for the most of it.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "frame/frame.hpp"

namespace carillon::frame {

struct SymbolNeeds {
  bool anyone = false;                                  // somebody may have data in it
  std::size_t decodes = 0, assembles = 0, encodes = 0;  // chunks, see ProgramWork
  std::uint16_t decodes_from = 0;        // the first symbol with something of what is decoded in it
  std::set<std::uint16_t> assembled_of;  // where the code blocks end that it assembles
  std::set<std::uint16_t> encoded_at;    // where the code blocks that it carries begin
  std::set<std::uint32_t> combiners;     // that it may have, of an uplink symbol
};

/// Of all programs; of a cell whose frames a program schedules, of all that it has room for.
/// [symbol]
std::vector<SymbolNeeds> needs_of(const Frame& frame, std::uint32_t workers);

}  // namespace carillon::frame
