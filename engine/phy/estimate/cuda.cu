#include "phy/estimate/cuda.inl"
#include "phy/estimate/cuda_deviation.inl"
#include "phy/simt/device.cuh"

namespace carillon::phy::cuda {
namespace {

__global__ void __launch_bounds__(kEstimateUsers* simt::kWarp) estimate_kernel(EstimateTask task) {
  simt::Cta cta;
  estimate_block(cta, task);
}

__global__ void __launch_bounds__(kDeviationThreads) deviation_kernel(DeviationTask task) {
  simt::Cta cta;
  deviation_block(cta, task);
}

}  // namespace

Status estimate(const EstimateTask& task, Stream stream) {
  return simt::put_on(stream, launch_of(task), estimate_kernel, task);
}

Status deviate(const DeviationTask& task, Stream stream) {
  return simt::put_on(stream, launch_of(task), deviation_kernel, task);
}

}  // namespace carillon::phy::cuda
