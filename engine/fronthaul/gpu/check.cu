#include "fronthaul/gpu/check.inl"
#include "phy/simt/device.cuh"

namespace carillon::fronthaul::gpu {
namespace {

using phy::simt::Cta;

__global__ void __launch_bounds__(kInspectThreads) inspect_kernel(InspectTask task) {
  Cta cta;
  inspect_block(cta, task);
}

__global__ void __launch_bounds__(phy::simt::kWarp) stamp_kernel(StampTask task) {
  Cta cta;
  stamp_block(cta, task);
}

}  // namespace

Status inspect(const InspectTask& task, Stream stream) {
  return phy::simt::put_on(stream, launch_of(task), inspect_kernel, task);
}

Status stamp(const StampTask& task, Stream stream) {
  return phy::simt::put_on(stream, launch_of(task), stamp_kernel, task);
}

}  // namespace carillon::fronthaul::gpu
