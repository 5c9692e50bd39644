// The cells that a pool of devices is measured with.
#pragma once

#include <cstdint>
#include <string>

#include "frame/format.hpp"

namespace carillon::bench {

/// The example cell of a pool (examples/cells/pool) of such a shape: 14 symbols in a millisecond,
/// 1216 subcarriers, 64QAM. `kind`: U or D.
frame::FrameFormat cell_format(std::uint32_t antennas, std::uint32_t users, char kind);

/// "128x64 uplink".
std::string name_of(const frame::FrameFormat& format);

}  // namespace carillon::bench
