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

/// Executes on windows of samples, one of each input; samples are floats, two of each complex one.
class Block {
 public:
  virtual ~Block() = default;
  /// `count` executions. A source has no input, a sink no output.
  virtual void execute(const float* const* in, float* out, std::size_t count) noexcept = 0;
  /// Floats that so many executions read of an input, and write.
  virtual std::size_t reads(std::size_t input, std::size_t count) const = 0;
  virtual std::size_t writes(std::size_t count) const = 0;
};

/// With taps and constants that keep samples as large as they are. Throws std::invalid_argument.
std::unique_ptr<Block> make_block(const BlockSpec& spec);

}  // namespace carillon::dataflow
