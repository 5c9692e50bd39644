#include "runtime/devices/work.hpp"

namespace carillon::runtime {

KernelLoad load_on(const DeviceType& type, const Work& work) {
  const double peak_of_sm = (work.half ? type.half_flops : type.fp32_flops) / type.sms;
  return {.ctas = work.footprint.ctas,
          .ctas_per_sm = ctas_per_sm(type, work.footprint),
          .floor = work.floor,
          .sm_time = work.flops / (work.efficiency * peak_of_sm) * 1e9,
          .bytes = work.bytes};
}

}  // namespace carillon::runtime
