// Without nvcc: launches of kernels, none of which succeeds.
#include "phy/estimate/cuda.hpp"
#include "phy/ofdm/cuda.hpp"

namespace carillon::phy::cuda {

using carillon::cuda::kNotBuilt;

Status receive(const ReceiveTask&, Stream) { return kNotBuilt; }
Status transmit(const TransmitTask&, Stream) { return kNotBuilt; }
Status estimate(const EstimateTask&, Stream) { return kNotBuilt; }

}  // namespace carillon::phy::cuda
