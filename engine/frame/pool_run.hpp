// Cells on a pool of imaginary devices in virtual time: their task graphs under a policy, samples
// at the pace of the air or as fast as frames end. Nothing is computed or measured.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/tick.hpp"
#include "frame/pool_server.hpp"

namespace carillon::frame {

struct PoolRunOptions : PoolServerOptions {
  std::uint64_t frames = 100;  ///< of each cell
  std::uint32_t at_once = 0;   ///< 0: frames come at the pace of the air; else so many of each
                               ///< cell are always under way, their samples all there
  Tick apart = 0;  ///< how much later the frames of each cell start than the one's before
  Tick late = 0;   ///< mean of what samples come late, exponentially distributed
  std::function<bool(std::uint64_t ended)> progress = {};  ///< false: stop
};

/// What became of a frame. Ticks count from its start on air (at_once: from when it began).
struct PoolFrame {
  std::uint16_t cell = 0;
  bool done = false;
  runtime::Reason why = runtime::Reason::None;  ///< of a frame that was not
  Tick began = 0;                               ///< its start, in virtual time
  Tick latency = 0;           ///< until its last result was there, or it was given up
  std::uint16_t devices = 0;  ///< that executed something of it
};

struct PoolRun {
  std::vector<PoolFrame> frames;  ///< in the order in which they ended
  std::vector<runtime::Execution> executions;
  std::vector<double> busy;           ///< [device] share of its SMs' time
  std::vector<std::uint64_t> memory;  ///< [device] bytes, the most that results took at once
  std::vector<double> of_opcode;      ///< [Op] ns of kernels and transfers, per frame that was done
  std::uint64_t tasks = 0;            ///< instructions that committed
  std::uint64_t copies = 0;           ///< between devices
  std::uint64_t again = 0;            ///< instructions that had to be issued again
  Tick end = 0;
};

/// Throws std::invalid_argument as PoolServer and build_pool_graph do.
PoolRun run_on_pool(const std::vector<const Frame*>& cells, const runtime::PoolModel& model,
                    const PoolRunOptions& options);

}  // namespace carillon::frame
