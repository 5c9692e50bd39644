#include "phy/simt/device.cuh"
#include "phy/transport/cuda.inl"

namespace carillon::phy::cuda {
namespace {

__global__ void __launch_bounds__(kEncodeThreads)
    encode_kernel(const __grid_constant__ EncodeTask task) {
  simt::Cta cta;
  encode_block(cta, task);
}

__global__ void __launch_bounds__(kDesegmentThreads)
    desegment_kernel(const __grid_constant__ DesegmentTask task) {
  simt::Cta cta;
  desegment_block(cta, task);
}

}  // namespace

Status encode(const EncodeTask& task, Stream stream) {
  return simt::put_on(stream, launch_of(task), encode_kernel, task);
}

Status desegment(const DesegmentTask& task, Stream stream) {
  return simt::put_on(stream, launch_of(task), desegment_kernel, task);
}

}  // namespace carillon::phy::cuda
