#pragma once

#include "frame/format.hpp"

namespace carillon {

/// Two users in a slot of sixteen symbols, each downlink symbol a block of its own.
inline frame::FrameFormat small_cell(const char* schedule = "PPUUGGGGGGGGDDDD") {
  frame::FrameFormat f;
  f.antennas = 4;
  f.users = 2;
  f.numerology.fft_size = 128;
  f.numerology.subcarriers = 72;
  f.schedule = schedule;
  f.symbols_per_slot = 16;
  f.downlink.block = frame::BlockSpan::Symbol;
  f.deadlines.downlink_lead_ms = 0;
  return f;
}

}  // namespace carillon
