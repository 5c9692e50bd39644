#include "phy/equalize/cuda.inl"
#include "phy/equalize/cuda_leave_out.inl"
#include "phy/simt/device.cuh"

namespace carillon::phy::cuda {
namespace {

template <std::uint32_t kUsers>
__global__ void __launch_bounds__(kEqualizeThreads, 4) tile_kernel(EqualizeTask task) {
  simt::Cta cta;
  equalize_tile<kUsers>(cta, task);
}

template <std::uint32_t kUsers, typename W, typename Y>
__global__ void __launch_bounds__(kEqualizeThreads)
    lanes_kernel(EqualizeTask task, const W* w, const Y* y) {
  simt::Cta cta;
  equalize_lanes<kUsers>(cta, task, w, y);
}

__global__ void __launch_bounds__(kLeaveOutThreads) leave_out_kernel(LeaveOutTask task) {
  simt::Cta cta;
  leave_out_block(cta, task);
}

template <std::uint32_t kUsers>
Status launch(const EqualizeTask& task, Stream stream) {
  const simt::Launch launch = launch_of(task);
  if (task.half_w_scalars != nullptr)
    return simt::put_on(stream, launch, tile_kernel<kUsers>, task);
  if (task.half_w_tiles != nullptr)
    return simt::put_on(stream, launch, lanes_kernel<kUsers, HalfTile, HalfTile>, task,
                        task.half_w_tiles, task.half_y);
  if (task.w_scalars != nullptr)
    return simt::put_on(stream, launch, lanes_kernel<kUsers, Complex, Tile>, task, task.w_scalars,
                        task.y);
  return simt::put_on(stream, launch, lanes_kernel<kUsers, Tile, Tile>, task, task.w_tiles, task.y);
}

}  // namespace

Status equalize(const EqualizeTask& task, Stream stream) {
  return users_at_once(task) == 32 ? launch<32>(task, stream) : launch<16>(task, stream);
}

Status leave_out(const LeaveOutTask& task, Stream stream) {
  return simt::put_on(stream, launch_of(task), leave_out_kernel, task);
}

}  // namespace carillon::phy::cuda
