#include "phy/demap/cuda.inl"
#include "phy/simt/device.cuh"

namespace carillon::phy::cuda {
namespace {

__global__ void __launch_bounds__(kRecoverThreads) recover_kernel(RecoverTask task) {
  simt::Cta cta;
  recover_block(cta, task);
}

}  // namespace

Status recover(const RecoverTask& task, Stream stream) {
  return simt::put_on(stream, launch_of(task), recover_kernel, task);
}

}  // namespace carillon::phy::cuda
