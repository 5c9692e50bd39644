// How late a frame can be at most, when no claim takes longer than it is allowed to.
#pragma once

#include <cstdint>
#include <vector>

#include "base/tick.hpp"
#include "frame/frame.hpp"

namespace carillon::frame {

/// What work costs at most. Times in ns; indices are opcodes.
struct WorstCosts {
  std::vector<double> claim_ns, chunk_ns;  ///< a claim of n chunks takes claim + n·chunk
  double commit_ns = 0;                    ///< of each instruction
  std::vector<std::uint32_t> grain;        ///< chunks of a claim; 0, missing: 10 µs, at most 256
  double packet_ns = 0;                    ///< from one packet of a symbol to the next
};

/// From a frame's start on air to the latest end; kNever: the cores do not suffice, or there is
/// none.
struct LatencyBound {
  Tick uplink = 0;    ///< of the last instruction of the uplink
  Tick downlink = 0;  ///< of the first downlink symbol
  Tick slack = 0;     ///< the least that is left to a deadline; negative: one may be missed
  double utilization = 0;
};

/// For frames one after another on cores that are never idle while something is ready and do not
/// interrupt a claim, in whatever order they take what is ready; packets come on time.
///
/// A frame's graph is a processing graph whose source is the frame. But its nodes run on several
/// cores at once, so that a bound by sporadic tasks, a period for each node, would be far too long;
/// list scheduling (Graham, 1969) gives one instead. Walk back from an instruction's end, always to
/// what it waited for last, to an arrival at time a. Whenever none of that path runs, all cores are
/// busy with other work: F ≤ a + L + (W - L)/m. W is the work of this and other frames that may be
/// released before F and does not end by a. All F grow together, from nothing, until each is what
/// the others say: then, by induction over time, none is ever exceeded.
LatencyBound latency_bound(const Frame& frame, std::uint32_t cores, const WorstCosts& costs);

}  // namespace carillon::frame
