#include "phy/ldpc/cuda.inl"
#include "phy/simt/device.cuh"

namespace carillon::phy::cuda {
namespace {

template <std::uint32_t kGraph, std::uint32_t kTeam>
__global__ void __launch_bounds__(kDecodeThreads, 1)
    decode_kernel(const __grid_constant__ DecodeTask task) {
  simt::Cta cta;
  decode_blocks<kGraph, kTeam>(cta, task);
}

template <std::uint32_t kGraph>
auto kernel_for(std::uint32_t team) {
  return team == 1 ? decode_kernel<kGraph, 1> : decode_kernel<kGraph, 2>;
}

}  // namespace

Status decode(const DecodeTask& task, Stream stream) {
  const std::uint32_t team = task.shape.team;
  return simt::put_on(stream, launch_of(task),
                      task.base_graph == 1 ? kernel_for<1>(team) : kernel_for<2>(team), task);
}

}  // namespace carillon::phy::cuda
