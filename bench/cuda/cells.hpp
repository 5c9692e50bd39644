// Cells as a pool of devices serves them: each opcode of a symbol alone, with its copies, and whole
// frames. `carillon calibrate --gpu` makes a device profile of it.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "cuda/bench.hpp"
#include "frame/frame.hpp"
#include "frame/opcodes.hpp"

namespace carillon::bench {

/// A kernel of an opcode: what it was launched with, what the compiler gave it.
struct CellKernel {
  std::uint32_t ctas = 0, threads = 0, registers = 0, shared_bytes = 0;
  double us = 0;  ///< alone, launches back to back
};

/// An opcode of one symbol (ZeroForce: of the frame). Load and Store are copies between pinned host
/// memory and the device; what Store computes is part of Decode, and Modulate of Precode.
struct CellOpcode {
  frame::Op op = frame::Op::Load;
  double us = 0;     ///< all its kernels, or its copy; 0: it failed
  double bytes = 0;  ///< of operands and result, each once; of a copy, what it moves
  std::vector<CellKernel> kernels;
  /// The same for all symbols of its kind at once; 0: it has none. CTAs are those of the kernel
  /// that is the longest for one symbol.
  std::uint32_t full_ctas = 0;
  double full_us = 0;
};

/// Frames one after the other, by the host's clock: from the launch of a frame's graph, its samples
/// in pinned host memory, until the host knows that all results are back there. µs.
struct CellLatency {
  std::uint64_t frames = 0;
  double mean = 0, p50 = 0, p99 = 0;
  double p9999 = 0;  ///< 0: of too few frames, below 20 000
};

struct CellRow {
  std::string format;  ///< as FrameFormat's fields are written
  std::vector<CellOpcode> opcodes;
  CellLatency latency;
  double simulated = 0;  ///< µs that such a frame takes by its opcodes; 0: not known
};

/// What the host needs: to hand over a graph that does nearly nothing, and then until it knows of
/// the end. µs.
struct HostRow {
  double launch = 0, notify = 0;
};

struct Cells {
  HostRow host;
  std::vector<CellRow> rows;
};

struct CellShape {
  std::uint32_t antennas, users;
};
/// Figure 13's, and the five of MegaStation's evaluation.
inline constexpr CellShape kCellShapes[] = {{64, 16},  {64, 32},  {128, 32},
                                            {128, 64}, {256, 64}, {256, 128}};

/// Adds a row each way.
void measure_cells(GpuBench& bench, const CellShape& shape, Cells& cells);

/// As members "host" and "cells" of a JSON object.
void write_cells(std::ostream& out, const Cells& cells);

}  // namespace carillon::bench
