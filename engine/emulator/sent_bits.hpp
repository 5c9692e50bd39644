// What the emulated users send in the uplink, known to both ends from the seed: errors before
// decoding are counted against it, and blocks without a CRC compared with it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned.hpp"
#include "emulator/radio_plan.hpp"
#include "frame/frame.hpp"

namespace carillon::emulator {

class SentBits {
 public:
  /// Codes every frame of the replay. The frame outlives this.
  SentBits(const frame::Frame& frame, const RadioPlan& plan);

  /// The E coded bits of a code block in the radio's n-th frame, least significant bit first;
  /// phy::kCodedPadding bytes are readable after them.
  const std::uint8_t* coded(std::uint64_t radio_frame, std::uint32_t code_block) const {
    return &bits_[radio_frame % replay_ * frame_bytes_ + offset_[code_block]];
  }

  /// Its payload memory (TransportBlock::payload_offset).
  const std::uint8_t* payload(std::uint64_t radio_frame) const {
    return &payload_[radio_frame % replay_ * payload_bytes_];
  }

 private:
  std::uint32_t replay_;
  std::size_t frame_bytes_ = 0;
  std::vector<std::size_t> offset_;  // [code block]
  AlignedArray<std::uint8_t> bits_;  // [replayed frame][frame_bytes_]
  std::size_t payload_bytes_;
  AlignedArray<std::uint8_t> payload_;  // [replayed frame][payload_bytes_]
};

}  // namespace carillon::emulator
