// What is done with a frame, whoever does it: the only description of the pipeline. Graphs of
// cores, of devices and of virtual machines are made of these steps; each adds what it alone needs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "frame/frame.hpp"
#include "frame/needs.hpp"
#include "frame/opcodes.hpp"

namespace carillon::frame {

/// All of an opcode on one symbol, or one combiner.
struct Step {
  Op op = Op::Load;
  std::uint16_t symbol = 0;
  std::uint32_t combiner = 0;  ///< ZeroForce's, see Frame::combiner_of
  /// The steps before it, by their places in the list, whose results it needs.
  std::vector<std::uint16_t> takes;
};

/// Uplink: PilotFft(s) of all pilots of an occasion → ZeroForce of each of its combiners.
/// UplinkFft(s) and ZeroForce of those that it may have → EqualizeDemodulate(s). Those of the
/// symbols that have some of it → Decode(s), of the code blocks that end in s. Those → Store(s), of
/// the transport blocks of several code blocks that end there.
///
/// Downlink: Encode(s), of the code blocks that begin in s. Those of all that s carries →
/// Modulate(s). That, if s carries data, and ZeroForce of its occasion's first → Precode(s) →
/// Ifft(s).
///
/// There is a step where `needs` (needs_of) say that some frame may need it. They come stage by
/// stage: received symbols, combiners, and each later stage in the order of symbols; but
/// Modulate, Precode and Ifft of a symbol together.
std::vector<Step> steps_of(const Frame& frame, std::span<const SymbolNeeds> needs);

}  // namespace carillon::frame
