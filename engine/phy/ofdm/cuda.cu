#include "phy/ofdm/cuda.inl"
#include "phy/simt/device.cuh"

namespace carillon::phy::cuda {
namespace {

__global__ void __launch_bounds__(kGatherThreads) gather_kernel(GatherTask task) {
  simt::Cta cta;
  gather_block(cta, task);
}

__global__ void __launch_bounds__(512) receive_kernel(ReceiveTask task) {
  simt::Cta cta;
  receive_block(cta, task);
}

__global__ void __launch_bounds__(512) transmit_kernel(TransmitTask task) {
  simt::Cta cta;
  transmit_block(cta, task);
}

}  // namespace

Status gather(const GatherTask& task, Stream stream) {
  return simt::put_on(stream, launch_of(task), gather_kernel, task);
}

Status receive(const ReceiveTask& task, Stream stream) {
  return simt::put_on(stream, launch_of(task), receive_kernel, task);
}

Status transmit(const TransmitTask& task, Stream stream) {
  return simt::put_on(stream, launch_of(task), transmit_kernel, task);
}

}  // namespace carillon::phy::cuda
