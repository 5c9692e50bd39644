// What of the checks is the host's.
#include "fronthaul/gpu/check.inl"
#include "phy/simt/serial.hpp"

namespace carillon::fronthaul::gpu {

using phy::simt::Launch;
using phy::simt::SerialCta;

Launch launch_of(const InspectTask& task) {
  return {.x = phy::simt::divide_up(task.count, kSliceSamples),
          .threads = kInspectThreads,
          .shared_bytes = 16};
}

Launch launch_of(const StampTask&) { return {.threads = phy::simt::kWarp}; }

void inspect_on_host(const InspectTask& task) {
  SerialCta::run(launch_of(task), [&](SerialCta& cta) { inspect_block(cta, task); });
}

void stamp_on_host(const StampTask& task) {
  SerialCta::run(launch_of(task), [&](SerialCta& cta) { stamp_block(cta, task); });
}

BlockCheck sums_of(std::span<const std::uint32_t> samples) {
  std::int64_t sum_i = 0, sum_q = 0;
  BlockCheck sums;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    sum_i += static_cast<std::int16_t>(samples[i] & 0xffff);
    sum_q += static_cast<std::int16_t>(samples[i] >> 16);
    sums.plain += samples[i];
    sums.placed += static_cast<std::uint32_t>(i + 1) * samples[i];
  }
  sums.sum_i = static_cast<unsigned long long>(sum_i);
  sums.sum_q = static_cast<unsigned long long>(sum_q);
  return sums;
}

bool same_sums(const BlockCheck& a, const BlockCheck& b) {
  return a.sum_i == b.sum_i && a.sum_q == b.sum_q && a.plain == b.plain && a.placed == b.placed;
}

}  // namespace carillon::fronthaul::gpu
