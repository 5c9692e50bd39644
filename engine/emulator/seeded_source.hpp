// What the emulated users expect of the downlink: random bits that both ends know from the seed.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned.hpp"
#include "frame/data_port.hpp"
#include "frame/frame.hpp"

namespace carillon::emulator {

class SeededSource final : public frame::TransportSource {
 public:
  /// Frames repeat after downlink_payloads(), by the radio's number. The frame outlives this.
  SeededSource(const frame::Frame& frame, std::uint64_t seed);

  void take(frame::FramePlace frame, Tick air_start,
            std::span<const std::uint8_t*> bits) noexcept override;
  void release(frame::FramePlace) noexcept override {}

 private:
  const frame::Frame& frame_;
  std::vector<AlignedArray<std::uint8_t>> payloads_;  // [radio's frame mod as many]
};

}  // namespace carillon::emulator
