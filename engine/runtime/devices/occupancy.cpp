#include "runtime/devices/occupancy.hpp"

#include <algorithm>

namespace carillon::runtime {
namespace {

constexpr std::uint32_t divide_up(std::uint32_t value, std::uint32_t by) {
  return value / by + (value % by != 0);
}
constexpr std::uint32_t round_up(std::uint32_t value, std::uint32_t unit) {
  return divide_up(value, unit) * unit;
}

}  // namespace

std::uint32_t ctas_per_sm(const DeviceType& device, const Footprint& kernel) {
  if (device.host) return 1;
  const SmLimits& sm = device.sm;
  if (kernel.warps == 0 || kernel.warps > sm.cta_threads / kWarpThreads ||
      kernel.registers > sm.thread_registers || kernel.shared_bytes > sm.cta_shared_bytes) {
    return 0;
  }
  std::uint32_t ctas = std::min(sm.ctas, sm.warps / kernel.warps);

  if (kernel.registers > 0) {
    const std::uint32_t per_warp = round_up(kernel.registers * kWarpThreads, sm.register_unit);
    // The limit on a CTA's own registers adds nothing: it may have all that the SM has.
    const std::uint32_t warps = sm.registers / sm.partitions / per_warp * sm.partitions;
    ctas = std::min(ctas, warps / kernel.warps);
  }

  const std::uint32_t shared = round_up(kernel.shared_bytes + sm.shared_reserved, sm.shared_unit);
  if (shared > 0) ctas = std::min(ctas, sm.shared_bytes / shared);
  return ctas;
}

std::uint32_t sms_needed(const DeviceType& device, const Footprint& kernel) {
  const std::uint32_t ctas = ctas_per_sm(device, kernel);
  return ctas == 0 ? 0 : std::min(device.sms, divide_up(kernel.ctas, ctas));
}

}  // namespace carillon::runtime
