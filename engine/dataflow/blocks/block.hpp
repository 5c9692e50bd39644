// What a node computes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace carillon::dataflow {

/// As a graph's file says it; docs/flowgraphs.md has the types.
struct BlockSpec {
  std::string type;  ///< rotator, fir, multiply, add or quadrature-demodulator
  std::size_t taps = 64, decimation = 1;
  bool complex_samples = true, complex_taps = false;
};

/// Executes on a window of samples; samples are floats, two of each complex one.
class Block {
 public:
  virtual ~Block() = default;
  /// `count` executions, each of one output.
  virtual void execute(const float* in, float* out, std::size_t count) noexcept = 0;
  /// Floats that so many executions read and write.
  virtual std::size_t reads(std::size_t count) const = 0;
  virtual std::size_t writes(std::size_t count) const = 0;
};

/// With taps and constants that keep samples as large as they are. Throws std::invalid_argument.
std::unique_ptr<Block> make_block(const BlockSpec& spec);

}  // namespace carillon::dataflow
