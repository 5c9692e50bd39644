#include "phy/ldpc/cuda.inl"
#include "phy/simt/device.cuh"

namespace carillon::phy::cuda {
namespace {

template <std::uint32_t kGraph>
__global__ void __launch_bounds__(kDecodeThreads)
    decode_kernel(const __grid_constant__ DecodeTask task) {
  simt::Cta cta;
  decode_blocks<kGraph>(cta, task);
}

}  // namespace

Status decode(const DecodeTask& task, Stream stream) {
  return simt::put_on(stream, launch_of(task),
                      task.base_graph == 1 ? decode_kernel<1> : decode_kernel<2>, task);
}

}  // namespace carillon::phy::cuda
