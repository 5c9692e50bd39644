// A frame's task graph for a pool of devices (MegaStation §4.2, §4.4): its steps (frame/steps.hpp)
// as kernels, the transfers between them, and what each of them costs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/problem.hpp"
#include "frame/frame.hpp"
#include "frame/opcodes.hpp"
#include "frame/pool_profile.hpp"
#include "runtime/devices/work.hpp"
#include "runtime/graph.hpp"

namespace carillon::frame {

struct PoolGraphOptions {
  Tick deadline = 4 * kMillisecond;    ///< of everything, from the frame's start on air (§5.2)
  std::uint32_t zero_force_parts = 1;  ///< sub-instructions by frequency (§5.5)
};

struct PoolGraph {
  runtime::Graph graph;
  std::vector<runtime::Work> work;  ///< [instruction]
};

/// A kernel for each step, ZeroForce in parts; Precode takes ZeroForce of the same frame, whatever
/// the precoder's age. Transfers are what devices need in addition: a received symbol is loaded
/// before its FFT and a downlink symbol's payload before Encode; what Decode yields is stored, as
/// soon as what is assembled with it is there, and so are the antennas' samples after Ifft.
/// Devices separate all users at once, by one combiner.
///
/// An instruction is one kernel: one chunk. Buffer n is what instruction n writes. A received
/// symbol's Load is fed by its arrival as a whole; Stores notify. Kernels have the footprints of
/// MegaStation's table 1, CTAs in proportion to antennas (FFTs), CSI groups × users (ZeroForce),
/// subcarriers × users or antennas, or code blocks.
///
/// With a profile that was measured, a kernel that has such a device to itself takes the time
/// measured, and as many CTAs as were measured together take theirs; without Modulate in it,
/// Precode waits for Encode.
///
/// Throws std::invalid_argument with what check_pool_graph() or unmeasured() finds.
PoolGraph build_pool_graph(const Frame& frame, const PoolGraphOptions& options,
                           const PoolProfile& profile);

/// Options that are impossible for the frame, under `deadline` and `zero_force_parts`, and frames
/// that are, under the cell's key.
std::vector<Problem> check_pool_graph(const Frame& frame, const PoolGraphOptions& options);

/// The first opcode of the frame that a measured profile does not have.
std::optional<Op> unmeasured(const Frame& frame, const PoolProfile& profile);

/// Of each instruction, its row in a table of what instructions cost: one for each opcode and size.
std::vector<std::uint16_t> rows_of(const PoolGraph& graph);

}  // namespace carillon::frame
