// A cell in virtual time: its task graph under a policy on imaginary cores, packets and all. What
// is simulated is who does what and when; nothing is computed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/tick.hpp"
#include "frame/frame.hpp"
#include "frame/milestones.hpp"
#include "runtime/policy.hpp"
#include "runtime/simulation.hpp"

namespace carillon::frame {

struct VirtualRunOptions {
  std::uint32_t cores = 1;
  std::uint64_t frames = 20;
  std::vector<runtime::Cost> costs = {};  ///< by opcode
  std::vector<std::uint32_t> grain = {};  ///< chunks per claim by opcode; 0, missing: automatic
  Tick packet = 0;                        ///< from one packet of a symbol to the next
  /// Each frame by itself, its packets all there when it begins; else at the pace of the air.
  bool at_once = false;
  std::uint64_t seed = 1;  ///< of what claims take, where their costs vary
};

struct VirtualRun {
  std::vector<Milestones> frames;
  std::vector<runtime::Execution> executions;
  std::vector<Tick> busy;       ///< [core]
  std::vector<Tick> of_opcode;  ///< of the cores' time
};

/// When the last packet of a frame comes: how far into a frame it can begin with all of them there.
Tick all_received(const Frame& frame);

/// Frames one after another without a pause; the packets of a symbol come after its end on air, one
/// antenna after the other, none of them lost.
VirtualRun run_in_virtual_time(const Frame& frame, runtime::Policy& policy,
                               const VirtualRunOptions& options);

}  // namespace carillon::frame
