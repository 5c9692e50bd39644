// A frame's task graph for a machine's cores: its steps (frame/steps.hpp), as instructions.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "frame/frame.hpp"
#include "frame/program_work.hpp"
#include "runtime/graph.hpp"

namespace carillon::frame {

inline constexpr std::uint16_t kNoInstruction = std::numeric_limits<std::uint16_t>::max();

/// Packets of a symbol leave the radio unit when it has been on air. Until just before, an idle
/// thread has nothing to wait for.
inline constexpr Tick kReadiness = 5 * kMicrosecond;

/// Received grids that a frame has at once: few enough to stay in a core's cache.
inline constexpr std::uint32_t kReceivedGrids = 4;

/// The graph of all frames, whatever their program, and which instruction does what for each symbol
/// (kNoInstruction: none).
struct FrameGraph {
  runtime::Graph graph;
  std::vector<ProgramWork> work;          // [program]
  std::vector<std::uint16_t> receive;     // [symbol] PilotFft or UplinkFft
  std::vector<std::uint16_t> decode;      // [symbol] Decode of the code blocks that end there
  std::vector<std::uint16_t> assemble;    // [symbol] Store of the transport blocks that end there
  std::vector<std::uint16_t> transmit;    // [symbol] Ifft
  std::vector<std::uint16_t> bring;       // [symbol] Store of what was done elsewhere
  std::vector<std::uint16_t> zero_force;  // [combiner] one after another, see Frame::combiner_of
  std::uint32_t workers = 1;              // among whom code blocks are divided
};

/// An instruction for each step, waiting for what that takes; but Precode does not wait for a
/// combiner when the precoder is an earlier frame's. An uplink symbol's FFT also waits until the
/// grid that it takes over has been equalized, kReceivedGrids uplink symbols before. A symbol's
/// packets are expected from 5 µs before its air end on; what is missing is given up half the
/// uplink budget after it. Code blocks are packed for the highest rate, but at most a worker's
/// share of a Decode.
///
/// `elsewhere`: a frame may also be worked on by others (Pipeline::send_away). Then nothing is left
/// of it but a Store of each symbol that yields something, fed when that is there, and of uplink
/// symbols that nobody is in, fed when they are there; a frame that is worked on here has none of
/// these.
///
/// Where frames differ an instruction has the most chunks that any of them gives it, and waits for
/// all that it waits for in any (frame/needs.hpp).
FrameGraph build_graph(const Frame& frame, std::uint32_t workers = 1, bool elsewhere = false);

}  // namespace carillon::frame
