// What a cell's stages cost in place: on one core, from samples in memory, with the caches as a run
// leaves them.
#pragma once

#include <cstdint>
#include <vector>

#include "emulator/memory_air.hpp"
#include "frame/frame.hpp"

namespace carillon::emulator {

struct ClaimTime {
  std::uint32_t opcode, chunks;
  std::uint32_t ns;
};

class Calibration {
 public:
  /// Code blocks are packed as for so many workers.
  Calibration(const frame::FrameFormat& format, const RadioPlan& radio, std::uint32_t workers = 1);

  /// Every claim of so many frames, one after another on the calling thread, with claims of at most
  /// `grain` chunks.
  std::vector<ClaimTime> time(std::uint32_t grain, std::uint64_t frames);

 private:
  frame::Frame frame_;
  frame::Pipeline pipeline_;
  MemoryAir air_;
  std::uint64_t next_ = 0;  // frame
};

}  // namespace carillon::emulator
