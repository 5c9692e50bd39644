#include <cuda.h>
#include <cuda_runtime.h>
#include <unistd.h>

#include "fronthaul/gpu/direct.hpp"

namespace carillon::fronthaul::gpu {
namespace {

constexpr std::size_t kBytes = std::size_t{2}
                               << 20;  // a GPU's large page: dma-buf wants whole pages

// The driver's own functions, which no runtime wraps; null where the driver is older.
template <typename Function>
Function driver(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  if (cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result) !=
          cudaSuccess ||
      result != cudaDriverEntryPointSuccess)
    return nullptr;
  return reinterpret_cast<Function>(found);
}

std::string by_dma_buf(const cuda::Device& device, void* memory, const std::string& verbs_device) {
  const auto ask = driver<CUresult (*)(int*, CUdevice_attribute, CUdevice)>("cuDeviceGetAttribute");
  const auto export_range =
      driver<CUresult (*)(void*, CUdeviceptr, size_t, CUmemRangeHandleType, unsigned long long)>(
          "cuMemGetHandleForAddressRange");
  int supported = 0;
  if (ask == nullptr || export_range == nullptr ||
      ask(&supported, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, static_cast<CUdevice>(device.index)) !=
          CUDA_SUCCESS ||
      supported == 0)
    return "the driver gives out no dma-buf of this GPU; the open kernel modules "
           "(nvidia-open) on Linux 5.12 or newer do";
  int file = -1;
  const CUresult result = export_range(&file, reinterpret_cast<CUdeviceptr>(memory), kBytes,
                                       CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
  if (result != CUDA_SUCCESS)
    return "exporting GPU memory as dma-buf: CUDA error " + std::to_string(result);
  std::string why = register_for_writes(verbs_device, memory, kBytes, file);
  ::close(file);
  return why;
}

}  // namespace

std::string try_direct(const cuda::Device& device, Export by, const std::string& verbs_device) {
  if (const cuda::Status status = cuda::use(device); !status.ok()) return status.text();
  const cuda::Memory memory(kBytes);
  if (!memory.status().ok()) return memory.status().text();
  return by == Export::DmaBuf ? by_dma_buf(device, memory.data(), verbs_device)
                              : register_for_writes(verbs_device, memory.data(), kBytes, -1);
}

}  // namespace carillon::fronthaul::gpu
