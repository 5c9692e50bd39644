// Cells in real time on a pool of GPUs, without a network: samples from pinned memory at the pace
// of the air, or a frame at a time. One thread schedules; nothing of it is simulated.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/tick.hpp"
#include "emulator/recorded_air.hpp"
#include "frame/gpu/server.hpp"

namespace carillon::emulator {

struct GpuRunOptions {
  std::uint64_t frames = 1000;  ///< of each cell
  std::uint16_t cells = 1;      ///< with frames of the same format
  std::string policy = "adaptive";
  /// A frame of each cell at a time, its samples all there when it begins; else at the pace of the
  /// air.
  bool at_once = false;
  Tick deadline = 4 * kMillisecond;  ///< from a frame's start on air
  /// Now and then; false: stop.
  std::function<bool(std::uint64_t ended)> progress = {};
};

/// What became of a frame.
struct GpuFrameRecord {
  bool done = false;
  Tick latency = 0;           ///< from its last sample until all of its results are on the host
  Tick at = 0;                ///< when they were
  std::uint32_t failed = 0;   ///< uplink transport blocks that are not what was sent
  std::uint16_t devices = 0;  ///< that executed something of it
};

struct GpuRunResult {
  std::vector<GpuFrameRecord> frames;  ///< [frame][cell], fewer when it was stopped
  std::uint32_t blocks = 0;            ///< uplink transport blocks of a frame
  std::uint64_t copies = 0;            ///< between devices
};

/// Every place of a cell's ring has one of the air's frames, the same in all cells. Throws
/// std::invalid_argument naming the option or key that is impossible, std::runtime_error when a
/// device fails before the run or has too little memory.
GpuRunResult run_on_gpus(const frame::Frame& frame, const RecordedAir& air,
                         const frame::GpuPool& pool, const GpuRunOptions& options);
/// Of an air that nobody needs again.
GpuRunResult run_on_gpus(const frame::Frame& frame, const RadioPlan& radio,
                         const frame::GpuPool& pool, const GpuRunOptions& options);

}  // namespace carillon::emulator
