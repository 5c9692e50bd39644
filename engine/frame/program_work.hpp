// What a program makes of the graph: how much of each instruction, and what its chunks are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "frame/frame.hpp"

namespace carillon::frame {

struct FrameGraph;

/// The chunks of a Decode: code blocks of the same plan, decoded together.
class Packs {
 public:
  std::size_t size() const { return ends_.size(); }
  std::span<const std::uint32_t> operator[](std::size_t i) const {
    const std::size_t first = i == 0 ? 0 : ends_[i - 1];
    return std::span(blocks_).subspan(first, ends_[i] - first);
  }
  void add(std::span<const std::uint32_t> blocks) {
    blocks_.insert(blocks_.end(), blocks.begin(), blocks.end());
    ends_.push_back(blocks_.size());
  }

 private:
  std::vector<std::uint32_t> blocks_;  // indices of the uplink's code blocks
  std::vector<std::size_t> ends_;      // [pack]
};

struct ProgramWork {
  std::vector<std::uint32_t> chunks;  // [instruction] 0: nothing to do; but for what brings results
  std::vector<Packs> packs;           // [symbol] what its Decode decodes
};

/// The code blocks that end in each symbol, packed for the highest rate, but at most a worker's
/// share of them in a pack. [symbol]
std::vector<Packs> pack(const Frame& frame, const FrameProgram& program, std::uint32_t workers);

/// Of a program of the frame, or one that it has room for.
ProgramWork work_of(const FrameProgram& program, const Frame& frame, const FrameGraph& graph);

}  // namespace carillon::frame
