// Without nvcc: no loads. cuda.cu takes its place where there is nvcc.
#include "emulator/background/background.hpp"
#include "emulator/background/gemm.hpp"

namespace carillon::emulator {

using cuda::kNotBuilt;

cuda::Status gemm(const GemmTask&, cuda::Stream) { return kNotBuilt; }

Spinners::Spinners(std::uint32_t, cuda::Stream) : why_(kNotBuilt.text()) {}
Spinners::~Spinners() = default;
bool Spinners::spinning() const { return false; }
cuda::Status Spinners::stop() { return kNotBuilt; }

struct Gemms::State {};

Gemms::Gemms(std::uint32_t, cuda::Stream) : status_(kNotBuilt) {}
Gemms::~Gemms() = default;
const cuda::Status& Gemms::refill() { return status_; }
cuda::Status Gemms::drain() { return status_; }

}  // namespace carillon::emulator
