// What a radio unit holds to put on air instead of a downlink that is late.
#pragma once

#include "emulator/radio_unit.hpp"
#include "frame/frame.hpp"

namespace carillon::emulator {

/// Writes the users' references into the contingency of D symbols that carry these, so that who
/// listens for them finds them although nothing else is on air. Without a channel there is no
/// precoder: antenna a radiates those of user a mod K, each as strong as a resource element of
/// data. Before start.
void write_references(const frame::Frame& frame, RadioUnit& radio);

}  // namespace carillon::emulator
