// Cells on servers full of imaginary devices in virtual time: their task graphs under a policy,
// samples at the pace of the air or as fast as frames end. Nothing is computed or measured.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/tick.hpp"
#include "frame/pool_server.hpp"
#include "rack/rack.hpp"

namespace carillon::rack {

struct PoolRunOptions : frame::PoolServerOptions {
  std::uint64_t frames = 100;  ///< of each cell
  /// 0: frames come at the pace of the air; else so many of each cell are always under way, their
  /// samples all there. After one that is refused, the next comes so many times sooner than the
  /// air would have it.
  std::uint32_t at_once = 0;
  Tick apart = 0;  ///< how much later the frames of each cell start than the one's before
  Tick late = 0;   ///< mean of what samples come late, exponentially distributed
  /// Told of each frame that ends, and now and then in between; false: stop.
  std::function<bool(std::uint64_t ended)> progress = {};
};

/// The fronthaul switch: a port to each server, which the radio units that are served there share.
struct Switch {
  double bytes_per_s = 0;
  Tick latency = 0;  ///< of the first byte
};

/// A server dies, with all that it was doing, or starts again. A loss is noticed so much later; a
/// server that starts says so.
struct HostFault {
  Tick at = 0;
  std::uint16_t server = 0;
  bool up = false;
  Tick noticed = kMillisecond;
};

struct RackModel {
  std::vector<runtime::PoolModel> servers;  ///< all with the same seed
  std::optional<Switch> fronthaul;          ///< none: samples are where they have to be at once
  std::vector<HostFault> faults;
  std::vector<std::optional<std::uint16_t>> homes;  ///< as Rack has them
  RackOptions moving;
};

/// What became of a frame. Ticks count from its start on air (at_once: from when it began).
struct PoolFrame {
  std::uint16_t cell = 0;
  bool done = false;
  runtime::Reason why = runtime::Reason::None;  ///< a server's, which sends a NACK
  Cause lost = Cause::None;                     ///< HostLost or Moving: noise for the radio
  Tick began = 0;                               ///< its start, in virtual time
  Tick latency = 0;           ///< until its last result was there, or it was given up or lost
  std::uint16_t devices = 0;  ///< that executed something of it
  std::uint16_t server = 0;   ///< Rack::kNone: it went nowhere
};

/// Devices are numbered over all servers, in order.
struct PoolRun {
  std::vector<PoolFrame> frames;  ///< in the order in which they ended
  std::vector<runtime::Execution> executions;
  std::vector<double> busy;           ///< [device] share of its SMs' time
  std::vector<std::uint64_t> memory;  ///< [device] bytes, the most that results took at once
  std::vector<double> of_opcode;      ///< [Op] ns of kernels and transfers, per frame that was done
  std::vector<double> ports;          ///< [server] share of the time that its port is busy
  std::vector<Move> moves;
  std::vector<Join> joins;
  std::uint64_t tasks = 0;   ///< instructions that committed
  std::uint64_t copies = 0;  ///< between devices
  std::uint64_t again = 0;   ///< instructions that had to be issued again
  Tick end = 0;              ///< of the last event, or of the last frame on air
};

/// Throws std::invalid_argument as PoolServer and build_pool_graph do, or when several servers, or
/// one that is lost or has a reserve, are to be saturated (at_once).
PoolRun run_on_rack(const std::vector<const frame::Frame*>& cells, const RackModel& rack,
                    const PoolRunOptions& options);

/// One server, whose cells' samples are there at once.
PoolRun run_on_pool(const std::vector<const frame::Frame*>& cells, const runtime::PoolModel& model,
                    const PoolRunOptions& options);

}  // namespace carillon::rack
