// Pilot occasions: when in a frame all users send their pilots, and which symbols use what was
// learnt of the channel then.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "frame/format.hpp"
#include "frame/program.hpp"

namespace carillon::frame {

/// Fills in Symbol::occasion and Symbol::references. A U symbol has the combiner of the last
/// occasion that ended before it, or of the first where none has. A D symbol has the precoder of
/// the last one that ended before its samples leave (Deadlines::downlink_lead_ms before its unit);
/// with Deadlines::precoder_age above 0, of an older frame's last one.
void assign_occasions(const FrameFormat& format, std::span<Symbol> symbols);

/// The first D symbol of those that go on air with this one whole or not at all.
std::uint16_t first_of_unit(const FrameFormat& format, std::span<const Symbol> symbols,
                            std::uint32_t symbol);

/// Whether occasions leave a symbol for data. Of a format whose parts are each right.
void check_occasions(const FrameFormat& format, std::vector<Problem>& problems);

}  // namespace carillon::frame
