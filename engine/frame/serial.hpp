// The pipeline without a runtime: a frame's instructions one after another on the calling thread.
#pragma once

#include <cstdint>

#include "frame/pipeline.hpp"

namespace carillon::frame {

/// Runs a whole frame, begun with Pipeline::begin and with all its samples set, in topological
/// order on worker 0's memory. For link simulation, calibration and tests. Samples that are null
/// count as missing packets.
void run_serially(Pipeline& pipeline, std::uint64_t frame);

}  // namespace carillon::frame
