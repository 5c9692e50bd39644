// The executor's scenarios where the driver itself is imaginary.
#include "runtime/cuda_executor_scenarios.inl"
#include "support/fake_gpus.hpp"

namespace carillon::runtime {

Gpus make_gpus(std::uint16_t devices, const cuda::DriverOptions& options, std::uint64_t seed) {
  const auto gpus = std::make_shared<test::FakeGpus>(devices, options, seed);
  return {gpus, gpus};
}

}  // namespace carillon::runtime
