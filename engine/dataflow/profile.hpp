// What a batch of a block takes on this machine.
#pragma once

#include <cstdint>
#include <vector>

#include "dataflow/blocks/block.hpp"

namespace carillon::dataflow {

/// What is counted.
enum class Setting : std::uint8_t {
  Warm,     ///< the kernel, again and again on the same samples
  Cold,     ///< the kernel, after other memory has taken its samples' place in the core's caches
  InPlace,  ///< a thread's CPU time for each batch, for which another thread wakes it
};

struct ProfileOptions {
  std::size_t batch = 1;
  Setting setting = Setting::Warm;
  double seconds = 0.1;    ///< so long
  double period_us = 200;  ///< in place: from one wake-up to the next, at least
};

/// ns of a batch, as often as there is time: one value for each batch; warm ones are means of as
/// many as take 2 µs. Runs on the calling thread, in place on its own. At least one value. Of a
/// block that has no device.
std::vector<double> profile(Block& block, const ProfileOptions& options);

}  // namespace carillon::dataflow
