// Uplink blocks on their way out of the baseband unit: each as soon as it is decoded, those of a
// frame that was given up when it ends, none twice.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/tick.hpp"
#include "frame/cpu/pipeline.hpp"
#include "frame/data_port.hpp"

namespace carillon::app {

/// Whether an uplink block of a frame that has been decoded is right. A CRC is believed: only
/// blocks without one are compared, if what was sent is known (else null).
bool passed(const frame::FrameSlot& slot, const frame::KnownBits* known, std::uint32_t radio_frame,
            std::size_t transport_block);

/// Used by the conductor alone, but for begin().
class Delivery {
 public:
  enum class Out : std::uint8_t { No, Good, Other };

  /// Pipeline and port outlive this.
  Delivery(frame::Pipeline& pipeline, const frame::DataPort& port);

  /// Before a frame's first task; one thread at a time.
  void begin(std::uint32_t place) noexcept;
  /// An instruction of the uplink has committed: hands out the blocks that it was the last for.
  void committed(frame::FramePlace frame, std::uint16_t instruction, Tick at) noexcept;
  /// The frame is over: hands out what is left as late.
  void ended(frame::FramePlace frame, Tick at) noexcept;
  /// So is one that never began and was to do this.
  void refused(std::uint32_t radio_frame, const frame::FrameProgram& program, Tick at) noexcept;

  /// [block] What has been handed out of the frame in that place.
  std::span<const Out> out(std::uint32_t place) const noexcept { return out_[place]; }

 private:
  void hand_out(frame::FramePlace frame, std::uint32_t block, Tick at) noexcept;
  float snr_of(const frame::FrameSlot& slot, const frame::TransportBlock& block) const;
  void late(frame::FramePlace frame, std::uint32_t block, Tick at) noexcept;

  frame::Pipeline& pipeline_;
  const frame::DataPort port_;
  std::vector<std::vector<Out>> out_;  // [place][block]
};

}  // namespace carillon::app
