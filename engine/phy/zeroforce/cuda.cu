#include "phy/simt/device.cuh"
#include "phy/zeroforce/cuda.inl"

namespace carillon::phy::cuda {

using namespace zeroforce;

namespace {

// Some compute while others load; more would leave too few registers for what is on its way.
constexpr int blocks_of(std::uint32_t edge) { return edge == 32 ? 2 : edge == 16 ? 5 : 16; }

__global__ void __launch_bounds__(kSurveyThreads) survey_kernel(SurveyTask task) {
  simt::Cta cta;
  survey_block(cta, task);
}

template <std::uint32_t kEdge>
__global__ void __launch_bounds__(product_threads(kEdge), blocks_of(kEdge))
    gram_kernel(CombineTask task) {
  simt::Cta cta;
  gram_edge<kEdge>(cta, task);
}

template <std::uint32_t kEdge>
__global__ void __launch_bounds__(product_threads(kEdge), blocks_of(kEdge))
    weigh_kernel(CombineTask task) {
  simt::Cta cta;
  weigh_edge<kEdge>(cta, task);
}

__global__ void __launch_bounds__(kMostFactorThreads) factor_kernel(FactorTask task) {
  simt::Cta cta;
  factor_block(cta, task);
}

__global__ void __launch_bounds__(kExpandThreads) expand_kernel(ExpandTask task) {
  simt::Cta cta;
  expand_block(cta, task);
}

__global__ void __launch_bounds__(kPowerThreads) antenna_power_kernel(AntennaPowerTask task) {
  simt::Cta cta;
  antenna_power_block(cta, task);
}

__global__ void __launch_bounds__(kGainThreads) gain_kernel(GainTask task) {
  simt::Cta cta;
  gain_block(cta, task);
}

}  // namespace

Status survey(const SurveyTask& task, Stream stream) {
  return simt::put_on(stream, launch_of(task), survey_kernel, task);
}

Status gram(const GramTask& task, Stream stream) {
  const std::uint32_t edge = edge_of(task.of);
  const auto kernel = edge == 8 ? gram_kernel<8> : edge == 16 ? gram_kernel<16> : gram_kernel<32>;
  return simt::put_on(stream, launch_of(task), kernel, task.of);
}

Status factor(const FactorTask& task, Stream stream) {
  return simt::put_on(stream, launch_of(task), factor_kernel, task);
}

Status weigh(const WeighTask& task, Stream stream) {
  const std::uint32_t edge = edge_of(task.of);
  const auto kernel = edge == 8    ? weigh_kernel<8>
                      : edge == 16 ? weigh_kernel<16>
                                   : weigh_kernel<32>;
  return simt::put_on(stream, launch_of(task), kernel, task.of);
}

Status expand(const ExpandTask& task, Stream stream) {
  return simt::put_on(stream, launch_of(task), expand_kernel, task);
}

Status antenna_power(const AntennaPowerTask& task, Stream stream) {
  return simt::put_on(stream, launch_of(task), antenna_power_kernel, task);
}

Status choose_gain(const GainTask& task, Stream stream) {
  return simt::put_on(stream, launch_of(task), gain_kernel, task);
}

}  // namespace carillon::phy::cuda
