// What an opcode does: a kernel over a range of an instruction's chunks.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace carillon::runtime {

/// In Task::arrived: the item never came; treat it as zeros.
inline constexpr std::uint16_t kMissing = 0x8000;

/// Chunks [first, first + count) of one instruction of one frame, claimed by one worker.
struct Task {
  std::uint64_t frame;
  std::uint16_t source;
  std::uint16_t slot;  ///< place of the frame in its source's ring: frame % ring
  std::uint16_t instruction;
  std::uint16_t opcode;
  std::uint16_t step;
  std::uint32_t first;
  std::uint32_t count;
  const std::uint16_t* arrived;  ///< Feed::Arrivals: chunk i is item arrived[i] & ~kMissing
  std::uint32_t worker;
  bool rehearsal = false;  ///< will be done again: whatever is counted is not counted yet
};

using Kernel = void (*)(void* context, const Task&) noexcept;

struct Opcode {
  std::string_view name;  ///< outlives the runtime
  Kernel kernel = nullptr;
};

/// A source's kernels and what they work on.
struct Kernels {
  std::span<const Opcode> opcodes;
  void* context = nullptr;
};

}  // namespace carillon::runtime
