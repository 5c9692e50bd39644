// Blocks that have an SM to themselves.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace carillon::cuda {

/// As much shared memory as a block can have, allowed to this kernel. It is all that an SM has but
/// for what every block takes, with or without shared memory of its own: so no other block fits.
template <typename Kernel>
cudaError_t whole_sm(Kernel* kernel, std::uint32_t& shared_bytes) {
  int device = 0, bytes = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error == cudaSuccess)
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  shared_bytes = static_cast<std::uint32_t>(bytes);
  return error;
}

__device__ inline std::uint32_t this_sm() {
  std::uint32_t id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

}  // namespace carillon::cuda
