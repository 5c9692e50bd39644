// The frames that benchmarks run on a device: 1200 subcarriers of 2048, a combiner for 16 of them,
// combs of 16 users; 64QAM, R=1/3, a code block for each user and symbol, five iterations. 14
// symbols: pilots, then all of one direction.
#pragma once

#include <string>
#include <vector>

#include "cuda/bench.hpp"
#include "frame/gpu/frame.hpp"

namespace carillon::bench {

struct FrameShape {
  std::uint32_t antennas, users;
};

/// One frame's arrays, with noise for samples. Not to be moved: its parts refer to each other.
class DeviceFrame {
 public:
  /// kind: 'U' or 'D'.
  DeviceFrame(const FrameShape& shape, char kind);
  DeviceFrame(const DeviceFrame&) = delete;
  DeviceFrame& operator=(const DeviceFrame&) = delete;

  /// All its launches, in as few as the stages allow, or symbol by symbol as they come from the
  /// air.
  std::vector<frame::GpuTask> tasks(bool by_symbol) const;
  /// The same, those of each symbol or kind of symbol apart; zero-forcing is with the last pilot.
  std::vector<std::vector<frame::GpuTask>> parts(bool by_symbol) const;
  /// µs that a whole device needs at least.
  double bound(const GpuBench& bench) const;

 private:
  frame::Frame frame_;
  frame::DeviceMemory memory_;
  frame::GpuFrame gpu_;
};

/// "uplink frame by symbol", "128x32".
std::string name_of(char kind, bool by_symbol);
std::string name_of(const FrameShape& shape);

/// Puts them on a stream.
Enqueue enqueue(std::vector<frame::GpuTask> tasks);

}  // namespace carillon::bench
