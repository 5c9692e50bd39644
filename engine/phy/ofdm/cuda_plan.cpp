// What of OFDM on a GPU is the host's.
#include <cmath>
#include <numbers>

#include "phy/ofdm/cuda.hpp"
#include "phy/ofdm/cuda.inl"

namespace carillon::phy::cuda {

std::vector<Complex> fft_roots(std::uint32_t size) {
  std::vector<Complex> roots(size, {1, 0});
  for (std::uint32_t done = 1, radix; done < size; done *= radix) {
    radix = radix_after(size, done);
    for (std::uint32_t i = 1; i < radix; ++i)
      for (std::uint32_t k = 0; k < done; ++k) {
        const double angle = -2 * std::numbers::pi * (i * k) / (done * radix);
        roots[i * done + k] = {static_cast<float>(std::cos(angle)),
                               static_cast<float>(std::sin(angle))};
      }
  }
  return roots;
}

OfdmView view(const OfdmPlan& plan, const Complex* roots) {
  const OfdmShape& shape = plan.shape();
  return {shape.fft_size,     shape.subcarriers, shape.dc_hole,
          plan.noise_first(), plan.noise_bins(), roots};
}

namespace {

simt::Launch launch(std::uint32_t fft_size, std::uint32_t antennas, std::uint32_t symbols) {
  const std::uint32_t each = transforms_per_block(fft_size);
  return {.x = simt::divide_up(antennas, each),
          .y = symbols,
          .threads = threads_per_block(fft_size),
          .shared_bytes = each * padded(fft_size) * std::uint32_t{sizeof(Complex)}};
}

}  // namespace

simt::Launch launch_of(const GatherTask& task) {
  return {.x = task.antennas, .threads = kGatherThreads};
}

simt::Launch launch_of(const ReceiveTask& task) {
  return launch(task.plan.fft_size, task.antennas, task.symbols);
}

simt::Launch launch_of(const TransmitTask& task) {
  return launch(task.plan.fft_size, task.antennas, task.symbols);
}

}  // namespace carillon::phy::cuda
