// The bits that the emulated cell carries: random, and known to both ends from the seed alone.
#pragma once

#include <cstdint>
#include <span>

#include "frame/frame.hpp"

namespace carillon::emulator {

/// Fills a frame's payload memory (TransportBlock::payload_offset): each transport block's A bits,
/// MSB first, spare bits zero. `index` tells frames apart: the replay's frame for the uplink, the
/// downlink's frame mod downlink_payloads().
void fill_payload(const frame::Frame& frame, std::uint64_t seed, frame::Direction direction,
                  std::uint64_t index, std::span<std::uint8_t> payload);

/// Frames of the downlink whose bits differ: at least as many as the ring has, and all programs.
std::uint64_t downlink_payloads(const frame::Frame& frame);

}  // namespace carillon::emulator
