// Small cells for tests of pools.
#pragma once

#include <string>

#include "frame/format.hpp"

namespace carillon::frame {

inline FrameFormat pool_cell(std::uint32_t antennas, std::uint32_t users, char data) {
  FrameFormat f;
  f.antennas = antennas;
  f.users = users;
  f.numerology.fft_size = 2048;
  f.numerology.subcarriers = 1216;
  const std::uint32_t pilots = (users + 15) / 16;
  f.schedule = std::string(pilots, 'P') + std::string(14 - pilots, data);
  f.pilots.kind = PilotKind::Comb;
  f.pilots.comb = 16;
  f.combiner.group = 16;
  f.uplink.block = BlockSpan::Symbol;
  f.uplink.crc = false;
  f.uplink.modulation = ModulationChoice::Qam64;
  f.uplink.base_graph = 1;
  f.uplink.lifting = 104;
  f.downlink = f.uplink;
  f.deadlines.precoder_age = 1;
  return f;
}

}  // namespace carillon::frame
