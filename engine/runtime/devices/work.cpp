#include "runtime/devices/work.hpp"

namespace carillon::runtime {
namespace {

// Of a core's fp32 peak: what our kernels for CPUs reach of it is 46 to 71 % (docs/performance.md).
constexpr double kHostEfficiency = 0.5;

}  // namespace

KernelLoad load_on(const DeviceType& type, const Work& work) {
  if (type.host)
    return {.ctas = work.footprint.ctas,
            .sm_time = work.flops / (kHostEfficiency * type.fp32_flops / type.sms) * 1e9,
            .bytes = work.bytes};
  const double peak_of_sm = (work.half ? type.half_flops : type.fp32_flops) / type.sms;
  return {.ctas = work.footprint.ctas,
          .ctas_per_sm = ctas_per_sm(type, work.footprint),
          .floor = work.floor,
          .sm_time = work.flops / (work.efficiency * peak_of_sm) * 1e9,
          .bytes = work.bytes};
}

}  // namespace carillon::runtime
