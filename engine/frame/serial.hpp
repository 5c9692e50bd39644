// The pipeline without a runtime: a frame's instructions one after another on the calling thread.
#pragma once

#include <cstdint>
#include <functional>

#include "base/tick.hpp"
#include "frame/pipeline.hpp"

namespace carillon::frame {

/// Told of each instruction when it has run.
using Observer = std::function<void(std::uint16_t instruction, Tick start, Tick end)>;

/// Runs a whole frame, begun with Pipeline::begin and with all its samples set, on worker 0's
/// memory: always the most urgent instruction that is ready, so that symbols follow one another as
/// they do in real time. For link simulation, calibration and tests. Samples that are null count as
/// missing packets.
void run_serially(Pipeline& pipeline, std::uint64_t frame, const Observer& observer = {});

}  // namespace carillon::frame
