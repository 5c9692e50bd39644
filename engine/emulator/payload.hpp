// The bits that the emulated cell carries: random, and known to both ends from the seed alone.
#pragma once

#include <cstdint>
#include <span>

#include "frame/frame.hpp"

namespace carillon::emulator {

/// Fills a frame's payload memory (TransportBlock::payload_offset): each transport block's A bits,
/// MSB first, spare bits zero. `index` tells frames apart: the replay's frame for the uplink, the
/// ring's slot for the downlink.
void fill_payload(const frame::Frame& frame, std::uint64_t seed, frame::Direction direction,
                  std::uint64_t index, std::span<std::uint8_t> payload);

}  // namespace carillon::emulator
