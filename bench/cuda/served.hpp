// Cells' frames as a pool's executor serves them, from pinned memory: at the pace of the air, or as
// fast as they are done.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emulator/gpu_run.hpp"

namespace carillon::bench {

struct Serving {
  std::uint16_t cells = 1;
  std::uint64_t frames = 1000;  ///< of each cell
  /// More of them, before those that count: they load kernels, and adaptive
  /// learns how late its forecasts are.
  std::uint64_t warm_up = 500;
  std::string policy = "adaptive";
  Tick deadline = 4 * kMillisecond;  ///< from a frame's start on air
};

/// Frames at the pace of the air, of all cells.
struct Served {
  std::string why = {};            ///< they could not be served; then there are none
  std::uint64_t in_time = 0;       ///< done before their deadline, every block as it was sent
  std::uint64_t wrong_blocks = 0;  ///< of frames that were done
  double seconds = 0;              ///< on air
  /// In all, of the host's thread while it was ready and had no core, ms; negative: not known.
  double waited = -1;
  /// Of each frame, from its last sample until its last result is on the host, in rising order;
  /// what the deadline leaves for it, if it was not done. ms.
  std::vector<double> latency = {};

  std::uint64_t frames() const { return latency.size(); }
};

Served serve(const frame::Frame& frame, const emulator::RecordedAir& air,
             const frame::GpuPool& pool, const Serving& serving);

/// Frames one after the other.
struct FrameTime {
  double us = 0;  ///< from a frame's end to the next one's; 0: not all were done as they were sent
  double devices = 0;  ///< that executed something of a frame, on average
};

/// Each cell begins a frame as soon as its last is over; the deadline counts for nothing. Errors as
/// of emulator::run_on_gpus().
FrameTime time_of_a_frame(const frame::Frame& frame, const emulator::RecordedAir& air,
                          const frame::GpuPool& pool, const Serving& serving);

}  // namespace carillon::bench
