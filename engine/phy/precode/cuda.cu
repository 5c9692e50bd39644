#include "phy/precode/cuda.inl"
#include "phy/simt/device.cuh"

namespace carillon::phy::cuda {
namespace {

template <std::uint32_t kGroups>
__global__ void __launch_bounds__(kGroups* kPrecodeSymbols* simt::kWarp)
    tile_kernel(PrecodeTask task) {
  simt::Cta cta;
  precode_tile<kGroups>(cta, task);
}

template <typename W>
__global__ void __launch_bounds__(kWarpAntennas / kLaneAntennas * kTileLanes)
    lanes_kernel(PrecodeTask task, const W* w) {
  simt::Cta cta;
  precode_lanes(cta, task, w);
}

}  // namespace

Status precode(const PrecodeTask& task, Stream stream) {
  const simt::Launch launch = launch_of(task);
  if (task.half_w_scalars != nullptr)
    return simt::put_on(stream, launch, groups_of(task) == 1 ? tile_kernel<1> : tile_kernel<2>,
                        task);
  if (task.w_scalars != nullptr)
    return simt::put_on(stream, launch, lanes_kernel<Complex>, task, task.w_scalars);
  return simt::put_on(stream, launch, lanes_kernel<Tile>, task, task.w_tiles);
}

}  // namespace carillon::phy::cuda
