#include <cuda.h>
#include <cuda_runtime.h>

#include "fronthaul/gpu/direct.hpp"

namespace carillon::fronthaul::gpu {
namespace {

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

CUdeviceptr address_of(std::byte* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

}  // namespace

// Memory operations that the host waits for are then finished in this memory, too, whoever else
// writes to it: what CUDA asks for of memory that is registered with a network card.
std::string prepare_for_card(std::byte* memory) {
  const auto set =
      driver<CUresult (*)(const void*, CUpointer_attribute, CUdeviceptr)>("cuPointerSetAttribute");
  const unsigned on = 1;
  if (set == nullptr ||
      set(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address_of(memory)) != CUDA_SUCCESS)
    return "the driver does not prepare this GPU's memory for a network card (SYNC_MEMOPS)";
  return {};
}

std::string export_as_dma_buf(const cuda::Device& device, std::byte* memory, std::size_t bytes,
                              Descriptor& file) {
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
  int found = -1;
  const CUresult result =
      export_range(&found, address_of(memory), bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
  if (result != CUDA_SUCCESS)
    return "exporting GPU memory as dma-buf: CUDA error " + std::to_string(result);
  file = Descriptor(found);
  return {};
}

}  // namespace carillon::fronthaul::gpu
