#include "runtime/devices/work.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace carillon::runtime {

Tick cta_time(const DeviceType& device, const Work& work) {
  if (work.footprint.ctas == 0) return work.floor;
  const std::uint32_t resident = ctas_per_sm(device, work.footprint);
  if (resident == 0) {
    const Footprint& f = work.footprint;
    throw std::invalid_argument("a CTA of " + std::to_string(f.warps) + " warps, " +
                                std::to_string(f.registers) + " registers per thread and " +
                                std::to_string(f.shared_bytes) + " bytes does not fit an SM of " +
                                std::string(device.name));
  }
  const double peak = work.half ? device.half_flops : device.fp32_flops;
  const double rate = work.efficiency * peak / device.sms / resident;  // of one CTA
  return work.floor + std::llround(work.flops / rate * static_cast<double>(kSecond));
}

}  // namespace carillon::runtime
