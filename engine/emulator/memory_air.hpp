// Antenna samples of several frames in memory, as packets would leave them: for measuring the
// pipeline without a network.
#pragma once

#include <cstdint>

#include "base/aligned.hpp"
#include "emulator/radio_plan.hpp"
#include "frame/cpu/pipeline.hpp"

namespace carillon::emulator {

class MemoryAir {
 public:
  /// At least two frames, and so many that they do not stay in a core's caches between turns.
  MemoryAir(const frame::Frame& frame, const RadioPlan& radio);

  std::size_t frames() const { return frames_; }
  /// Which of the generated frames' samples a frame has: UplinkGenerator's number.
  std::uint64_t replay(std::uint64_t frame) const { return frame % frames_ % different_; }
  /// What the downlink made for a symbol and antenna.
  const std::int16_t* sent(std::uint64_t frame, std::uint32_t symbol, std::uint32_t antenna);

  /// Aims the pipeline's downlink at memory of the air's own; before the first frame.
  void prepare(frame::Pipeline& pipeline);
  /// Begins a frame with all its samples in place.
  void bring(frame::Pipeline& pipeline, std::uint64_t frame);

 private:
  std::int16_t* place(AlignedArray<std::int16_t>& memory, std::size_t frame, std::uint32_t symbol,
                      std::uint32_t antenna);

  const frame::Frame& frame_;
  std::size_t frames_ = 0, different_ = 0;
  AlignedArray<std::int16_t> samples_, sent_;
};

}  // namespace carillon::emulator
