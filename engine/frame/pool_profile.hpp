// What a frame's steps cost on a device: assumed, or as a device profile has it, which says what
// was measured.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/tick.hpp"
#include "frame/opcodes.hpp"
#include "runtime/devices/device_type.hpp"
#include "runtime/devices/work.hpp"

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

/// What a kernel has to do.
struct KernelCost {
  std::uint64_t ctas = 0;
  double flops = 0;
  std::uint64_t read = 0, output = 0;  ///< bytes
  std::uint32_t terms = 0;             ///< of the sums that each thread adds up
  double share = 1;                    ///< of what an opcode does at once
};

/// Whether a measured profile has the opcode.
bool is_in(const PoolProfile& profile, Op op);

/// Whether Precode does Modulate's work, too.
bool merged_modulate(const PoolProfile& profile);

/// A kernel of that cost. Throws std::invalid_argument when a measured profile does not have it.
runtime::Work kernel_work(const PoolProfile& profile, Op op, const KernelCost& cost);

}  // namespace carillon::frame
