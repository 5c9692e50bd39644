// A cell's frames as its antennas receive them, made once: whoever plays them to several cells, or
// again and again, copies.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned.hpp"
#include "emulator/radio_plan.hpp"
#include "frame/frame.hpp"

namespace carillon::emulator {

class RecordedAir {
 public:
  /// As many frames as the cell's ring has places, all of them different.
  RecordedAir(const frame::Frame& frame, const RadioPlan& radio);
  RecordedAir(const RecordedAir&) = delete;  // those that are copied have a frame of their own
  RecordedAir& operator=(const RecordedAir&) = delete;

  std::uint32_t frames() const { return static_cast<std::uint32_t>(payloads_.size()); }
  /// Samples of an antenna in a P or U symbol, prefix first: re, im, 32768 = 1.0.
  std::span<const std::int16_t> samples(std::uint32_t number, std::uint32_t symbol,
                                        std::uint32_t antenna) const;
  /// What the users sent, at TransportBlock::payload_offset.
  std::span<const std::uint8_t> payload(std::uint32_t number) const { return payloads_[number]; }
  /// What the base station is to send, likewise.
  std::span<const std::uint8_t> downlink(std::uint32_t number) const { return downlinks_[number]; }

 private:
  std::size_t first(std::uint32_t number, std::uint32_t symbol, std::uint32_t antenna) const;

  const frame::Frame& frame_;
  AlignedArray<std::int16_t> samples_;  // [frame][symbol][antenna][sample]
  std::vector<std::vector<std::uint8_t>> payloads_, downlinks_;
};

}  // namespace carillon::emulator
