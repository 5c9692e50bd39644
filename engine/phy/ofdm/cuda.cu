#include "phy/ofdm/cuda.inl"
#include "phy/simt/device.cuh"

namespace carillon::phy::cuda {
namespace {

__global__ void __launch_bounds__(kGatherThreads) gather_kernel(GatherTask task) {
  simt::Cta cta;
  gather_block(cta, task);
}

template <std::uint32_t kSize>
__global__ void __launch_bounds__(threads_per_block(kSize)) receive_kernel(ReceiveTask task) {
  simt::Cta cta;
  receive_sized<kSize>(cta, task);
}

template <std::uint32_t kSize>
__global__ void __launch_bounds__(threads_per_block(kSize)) transmit_kernel(TransmitTask task) {
  simt::Cta cta;
  transmit_sized<kSize>(cta, task);
}

}  // namespace

Status gather(const GatherTask& task, Stream stream) {
  return simt::put_on(stream, launch_of(task), gather_kernel, task);
}

Status receive(const ReceiveTask& task, Stream stream) {
  return with_size(task.plan.fft_size, [&](auto size) {
    return simt::put_on(stream, launch_of(task), receive_kernel<size()>, task);
  });
}

Status transmit(const TransmitTask& task, Stream stream) {
  return with_size(task.plan.fft_size, [&](auto size) {
    return simt::put_on(stream, launch_of(task), transmit_kernel<size()>, task);
  });
}

}  // namespace carillon::phy::cuda
