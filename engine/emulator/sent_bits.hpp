// What the emulated users send in the uplink, known to both ends from the seed.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned.hpp"
#include "emulator/radio_plan.hpp"
#include "frame/data_port.hpp"
#include "frame/frame.hpp"

namespace carillon::emulator {

class SentBits final : public frame::KnownBits {
 public:
  /// Codes every frame of the replay. The frame outlives this.
  SentBits(const frame::Frame& frame, const RadioPlan& plan);

  const std::uint8_t* coded(std::uint32_t radio_frame, std::uint32_t code_block) const override {
    const auto& offset = offset_[radio_frame % offset_.size()];
    return &bits_[radio_frame % replay_ * frame_bytes_ + offset[code_block]];
  }

  const std::uint8_t* payload(std::uint32_t radio_frame) const override {
    return &payload_[radio_frame % replay_ * payload_bytes_];
  }

 private:
  std::uint32_t replay_;
  std::size_t frame_bytes_ = 0;
  std::vector<std::vector<std::size_t>> offset_;  // [program][code block]
  AlignedArray<std::uint8_t> bits_;               // [replayed frame][frame_bytes_]
  std::size_t payload_bytes_;
  AlignedArray<std::uint8_t> payload_;  // [replayed frame][payload_bytes_]
};

}  // namespace carillon::emulator
