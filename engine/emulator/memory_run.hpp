// A cell in real time without a network: worker threads under the runtime, samples from memory.
// What virtual time foretells, measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/tick.hpp"
#include "emulator/memory_air.hpp"
#include "frame/cpu/pipeline.hpp"
#include "frame/frame.hpp"
#include "frame/milestones.hpp"
#include "runtime/policy.hpp"
#include "telemetry/trace.hpp"

namespace carillon::emulator {

struct MemoryRunOptions {
  std::uint64_t frames = 100;
  std::vector<std::uint32_t> grain = {};  ///< chunks per claim by opcode; 0, missing: automatic
  /// Each frame by itself, its packets all there when it begins; else at the pace of the air.
  bool at_once = false;
  bool traced = false;  ///< every claim is noted
};

/// Where a worker's time went. What is left of it was waiting.
struct MemoryWorker {
  Tick lasted = 0;
  Tick kernels = 0;
  Tick scheduling = 0;  ///< with the scheduler's token
  Tick claiming = 0;    ///< finding, claiming and committing chunks
  Tick arriving = 0;    ///< beginning frames and bringing packets, with the scheduling it causes
};

struct MemoryGap {
  Tick start = 0, length = 0;
};

struct MemoryRunResult {
  std::vector<frame::Milestones> frames;
  std::vector<MemoryWorker> workers;
  std::uint64_t blocks_failed = 0;  ///< uplink blocks of completed frames whose check failed
  std::vector<Tick> busy;           ///< [frame][opcode] core time of the kernels
  std::vector<Tick> starts;         ///< [frame] on air
  std::vector<telemetry::TraceEvent> traced;  ///< claims, where asked for: each worker's newest
  std::vector<MemoryGap> idle;                ///< a worker stood still, not in a claim
  std::vector<MemoryGap> bringing;            ///< a worker began frames and brought packets
  std::uint64_t claims = 0;                   ///< of all frames
  std::uint32_t instructions;                 ///< of a frame
  std::string complaint;  ///< why the threads are not real-time ones; empty when they are
};

class MemoryRun {
 public:
  MemoryRun(const frame::FrameFormat& format, const RadioPlan& radio, std::uint32_t workers);

  std::uint32_t workers() const { return workers_; }

  /// Runs so many frames on threads that are real-time ones where that is allowed, each on a core
  /// of its own as far as there are any. Frames of one call follow those of the call before.
  MemoryRunResult run(runtime::Policy& policy, const MemoryRunOptions& options);

 private:
  frame::Frame frame_;
  std::uint32_t workers_;
  frame::Pipeline pipeline_;
  MemoryAir air_;
  std::uint64_t next_ = 0;  // frame
};

}  // namespace carillon::emulator
