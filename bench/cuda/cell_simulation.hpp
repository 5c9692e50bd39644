// What the simulated pool makes of a cell's measured opcodes: one frame alone on one device. To be
// held against the frame that was measured.
#pragma once

#include <string_view>

#include "cuda/cells.hpp"
#include "runtime/devices/device_type.hpp"

namespace carillon::bench {

/// The type of a device that the driver calls so; null when the pool knows none.
const runtime::DeviceType* type_of(std::string_view name);

/// µs of a frame whose samples are all there, from its launch until the host knows of its end.
/// `bytes_per_us`: of device memory, measured.
double simulated_us(const frame::Frame& frame, const CellRow& row, const HostRow& host,
                    const runtime::DeviceType& type, double bytes_per_us);

}  // namespace carillon::bench
