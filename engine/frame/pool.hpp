// A frame's task graph for a pool of devices (MegaStation §4.2, §4.4), and what each of its
// instructions costs: assumed, or as a device profile has it, which says what was measured.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/problem.hpp"
#include "frame/frame.hpp"
#include "frame/opcodes.hpp"
#include "runtime/devices/device_type.hpp"
#include "runtime/devices/work.hpp"
#include "runtime/graph.hpp"

namespace carillon::frame {

/// How an opcode's kernel is assumed to fare, see runtime::Work.
struct KernelProfile {
  double efficiency = 1;
  bool half = false;
  double traffic = 1;  ///< bytes of device memory moved for each that operands and result have
  Tick floor = 0;
  Tick term = 0;  ///< of serial time per term of the sums that a thread adds up
};

/// An opcode of one symbol (ZeroForce: of the frame) as a device was seen to run it alone; where it
/// is several kernels, the footprint is that of the longest, time and bytes are of all.
struct MeasuredKernel {
  runtime::Footprint footprint;
  Tick time = 0;
  double bytes = 0;  ///< of device memory
  /// The same of many symbols in one launch of so many CTAs: which part of the time CTAs on an SM
  /// share. 0: not known, and they share all of it.
  std::uint32_t full_ctas = 0;
  Tick full_time = 0;
};

struct PoolProfile {
  std::string_view name;
  std::uint32_t symbol_bytes = 8;             ///< a complex symbol between two kernels
  std::array<KernelProfile, kOps> kernels{};  ///< [Op]
  /// What the cell's opcodes took on it counts instead of `kernels`; null: nothing is known.
  const runtime::DeviceType* device = nullptr;
  std::array<MeasuredKernel, kOps> measured{};  ///< [Op]; time 0: of Modulate, Precode does it too
};

/// `megastation`: library kernels, as MegaStation's figures imply them for an A100, 1216
/// subcarriers, 16 of which share a combiner (so it takes 0.1 ms from device to device, 0.12 ms in
/// §5.5), frames of one pilot and 13 data symbols. Such kernels wait rather than compute: their
/// time is that of a thread's own work, whatever the device.
/// - ZeroForce at 128×32: 90 % of them take up to 0.3 ms (§5.5), in 23 waves of CTAs of 10 µs and
/// their arithmetic.
/// - EqualizeDemodulate and Precode: a thread adds up a user's antennas or an antenna's users, at
///   0.15 and 0.27 µs each, which makes the 44.2 and 42.7 % of the paper (§5.3) beside the 36.3 %
///   of ZeroForce, on average over the five shapes from 64×32 to 256×128.
/// - FFTs and Decode: the rest of the frame, 12 µs per symbol.
/// - 3 µs of serial part where nothing is known.
///
/// `roofline`: every kernel at a third of what the device's arithmetic and memory can, half
/// precision for received and sent symbols and on matrix units for their products: the goal for
/// kernels of our own on an H200. A kernel that leaves SMs empty is slower than that.
std::span<const PoolProfile> pool_profiles();

/// Null when there is none of that name.
const PoolProfile* find_pool_profile(std::string_view name);

struct PoolGraphOptions {
  Tick deadline = 4 * kMillisecond;    ///< of everything, from the frame's start on air (§5.2)
  std::uint32_t zero_force_parts = 1;  ///< sub-instructions by frequency (§5.5)
};

struct PoolGraph {
  runtime::Graph graph;
  std::vector<runtime::Work> work;  ///< [instruction]
};

/// A pilot symbol: Load → PilotFft; all of them → ZeroForce, in parts. An uplink symbol: Load →
/// UplinkFft → EqualizeDemodulate (after ZeroForce) → Decode of the code blocks that end there →
/// Store of their bits. A downlink symbol: Load of the payload → Encode → Modulate → Precode (after
/// ZeroForce of the same frame, whatever the precoder's age) → Ifft → Store of the antennas'
/// samples; the first one has no payload.
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
/// that are, under `grants.frames`.
std::vector<Problem> check_pool_graph(const Frame& frame, const PoolGraphOptions& options);

/// The first opcode of the frame that a measured profile does not have. `options` suit the frame.
std::optional<Op> unmeasured(const Frame& frame, const PoolGraphOptions& options,
                             const PoolProfile& profile);

/// Of each instruction, its row in a table of what instructions cost: one for each opcode and size.
std::vector<std::uint16_t> rows_of(const PoolGraph& graph);

}  // namespace carillon::frame
