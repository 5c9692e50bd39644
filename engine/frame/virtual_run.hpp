// A cell in virtual time: its task graph under a policy on imaginary cores, packets and all. What
// is simulated is who does what and when; nothing is computed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/tick.hpp"
#include "frame/frame.hpp"
#include "runtime/policy.hpp"
#include "runtime/simulation.hpp"

namespace carillon::frame {

struct VirtualRunOptions {
  std::uint32_t cores = 1;
  std::uint64_t frames = 20;
  std::vector<runtime::Cost> costs = {};  ///< by opcode
  std::vector<std::uint32_t> grain = {};  ///< chunks per claim by opcode; 0, missing: automatic
  Tick packet = 0;                        ///< from one packet of a symbol to the next
};

/// A frame's milestones, from its start on air; kNever where it did not get there.
struct VirtualFrame {
  Tick first_packet = runtime::kNever;
  Tick started = runtime::kNever;         ///< its first task
  Tick pilots_done = runtime::kNever;     ///< the last PilotFft
  Tick combiner_done = runtime::kNever;   ///< the last ZeroForce
  Tick uplink_done = runtime::kNever;     ///< the last task of the uplink
  Tick downlink_first = runtime::kNever;  ///< the first downlink symbol of all antennas
  Tick slack = runtime::kNever;           ///< what was left to the deadline of the tightest task
  std::uint32_t missed = 0;               ///< downlink symbols that were not ready for the air
  bool completed = false;                 ///< neither refused nor dropped
};

struct VirtualRun {
  std::vector<VirtualFrame> frames;
  std::vector<runtime::Execution> executions;
  std::vector<Tick> busy;       ///< [core]
  std::vector<Tick> of_opcode;  ///< of the cores' time
};

/// Frames one after another without a pause; the packets of a symbol come after its end on air, one
/// antenna after the other, none of them lost.
VirtualRun run_in_virtual_time(const Frame& frame, runtime::Policy& policy,
                               const VirtualRunOptions& options);

}  // namespace carillon::frame
