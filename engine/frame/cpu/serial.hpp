// The pipeline without a runtime: a frame's instructions one after another on the calling thread.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>

#include "base/tick.hpp"
#include "frame/cpu/pipeline.hpp"

namespace carillon::frame {

/// Executes a claim.
using Claim = std::function<void(const runtime::Task& task)>;

/// Told of each claim when it has run.
using Observer =
    std::function<void(std::uint16_t instruction, std::uint32_t chunks, Tick start, Tick end)>;

inline constexpr std::uint32_t kWhole = std::numeric_limits<std::uint32_t>::max();

/// Runs a whole frame, begun with Pipeline::begin and with all its samples set, on worker 0's
/// memory: always the most urgent instruction that is ready, so that symbols follow one another as
/// they do in real time. For link simulation, calibration and tests. Samples that are null count as
/// missing packets. `grain`: chunks of a claim.
void run_serially(Pipeline& pipeline, std::uint64_t frame, const Claim& claim, std::uint32_t grain);
/// The same with the opcodes' kernels.
void run_serially(Pipeline& pipeline, std::uint64_t frame, const Observer& observer = {},
                  std::uint32_t grain = kWhole);

}  // namespace carillon::frame
