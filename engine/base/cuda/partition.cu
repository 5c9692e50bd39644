#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <utility>

#include "base/cuda/partition.hpp"
#include "base/cuda/whole_sm.cuh"

namespace carillon::cuda {
namespace {

/// The driver's functions, found when the program runs: it starts where there is no driver.
struct GreenContexts {
  decltype(&cuDeviceGet) device = nullptr;
  decltype(&cuDeviceGetDevResource) resource = nullptr;
  decltype(&cuDevSmResourceSplitByCount) split = nullptr;
  decltype(&cuDevResourceGenerateDesc) describe = nullptr;
  decltype(&cuGreenCtxCreate) make = nullptr;
  decltype(&cuGreenCtxDestroy) destroy = nullptr;
  decltype(&cuGreenCtxStreamCreate) stream = nullptr;
};

template <typename Function>
cudaError_t find(const char* name, Function& function) {
  constexpr unsigned kVersion = 13000;
  void* at = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &at, kVersion, cudaEnableDefault, &found);
  if (error != cudaSuccess) return error;
  function = reinterpret_cast<Function>(at);
  return found == cudaDriverEntryPointSuccess ? cudaSuccess : cudaErrorSymbolNotFound;
}

cudaError_t find(GreenContexts& driver) {
  cudaError_t error = find("cuDeviceGet", driver.device);
  const auto next = [&](const char* name, auto& function) {
    if (error == cudaSuccess) error = find(name, function);
  };
  next("cuDeviceGetDevResource", driver.resource);
  next("cuDevSmResourceSplitByCount", driver.split);
  next("cuDevResourceGenerateDesc", driver.describe);
  next("cuGreenCtxCreate", driver.make);
  next("cuGreenCtxDestroy", driver.destroy);
  next("cuGreenCtxStreamCreate", driver.stream);
  (void)cudaGetLastError();  // the caller is told
  return error;
}

CUresult divide(const GreenContexts& driver, const CUdevResource& card, const SmUnits& units,
                const Split& wanted, std::vector<CUdevResource>& parts) {
  CUresult result = CUDA_SUCCESS;
  const std::uint32_t sms = most_sms(wanted, units, [&](std::uint32_t least) {
    unsigned groups = 0;
    const CUresult asked = driver.split(nullptr, &groups, &card, nullptr, 0, least);
    if (asked != CUDA_SUCCESS) result = asked;
    return asked == CUDA_SUCCESS ? groups : 0;
  });
  if (sms == 0) return result == CUDA_SUCCESS ? CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION : result;
  parts.resize(wanted.parts);
  unsigned groups = wanted.parts;
  result = driver.split(parts.data(), &groups, &card, nullptr, 0, sms);
  if (result != CUDA_SUCCESS) return result;
  return groups == wanted.parts ? CUDA_SUCCESS : CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
}

}  // namespace

struct Partitions::State {
  struct Part {
    CUgreenCtx context = nullptr;
    cudaStream_t streams[2] = {};  // 1: urgent
    std::uint32_t sms = 0;
  };

  ~State() {
    for (Part& part : parts) {
      for (const cudaStream_t stream : part.streams) {
        if (stream == nullptr) continue;
        (void)cudaStreamSynchronize(stream);
        (void)cudaStreamDestroy(stream);
      }
      if (part.context != nullptr) (void)driver.destroy(part.context);
    }
  }

  std::string make(const Device& of, std::uint32_t count);
  CUresult make(Part& part, CUdevResource& resource, CUdevice device) const;

  GreenContexts driver;
  std::vector<Part> parts;
};

CUresult Partitions::State::make(Part& part, CUdevResource& resource, CUdevice device) const {
  CUdevResourceDesc description = nullptr;
  CUresult result = driver.describe(&description, &resource, 1);
  if (result == CUDA_SUCCESS)
    result = driver.make(&part.context, description, device, CU_GREEN_CTX_DEFAULT_STREAM);
  int least = 0, greatest = 0;  // priorities: the greatest is the lowest number
  if (result == CUDA_SUCCESS)
    result = static_cast<CUresult>(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  for (const bool urgent : {false, true})
    if (result == CUDA_SUCCESS)
      result = driver.stream(&part.streams[urgent], part.context, CU_STREAM_NON_BLOCKING,
                             urgent ? greatest : least);
  part.sms = resource.sm.smCount;
  return result;
}

std::string Partitions::State::make(const Device& of, std::uint32_t count) {
  if (const Status found(find(driver)); !found.ok())
    return of.name + ": no green contexts, which need a driver of version 580: " + found.text();
  CUdevice device = 0;
  CUdevResource card{};
  CUresult result = driver.device(&device, static_cast<int>(of.index));
  if (result == CUDA_SUCCESS) result = driver.resource(device, &card, CU_DEV_RESOURCE_TYPE_SM);
  const auto told = [&](const std::string& what) {
    return of.name + ": " + what + ": " + Status(static_cast<int>(result)).text();
  };
  if (result != CUDA_SUCCESS) return told("its SMs");
  const SmUnits units = {card.sm.smCount, card.sm.minSmPartitionSize,
                         card.sm.smCoscheduledAlignment};
  const Split wanted = split(units, count);
  if (!wanted.why.empty()) return of.name + ": " + wanted.why;
  std::vector<CUdevResource> resources;
  result = divide(driver, card, units, wanted, resources);
  if (result != CUDA_SUCCESS)
    return told(std::to_string(count) + " partitions of " + std::to_string(units.sms) + " SMs");
  parts.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    result = make(parts[i], resources[i], device);
    if (result != CUDA_SUCCESS) return told("partition " + std::to_string(i));
  }
  return "";
}

Partitions::Partitions() = default;

Partitions::Partitions(const Device& device, std::uint32_t parts)
    : state_(std::make_unique<State>()) {
  why_ = state_->make(device, parts);
  if (!why_.empty()) state_.reset();
}

Partitions::Partitions(Partitions&& other) noexcept = default;
Partitions& Partitions::operator=(Partitions&& other) noexcept = default;
Partitions::~Partitions() = default;

std::uint32_t Partitions::parts() const {
  return state_ == nullptr ? 0 : static_cast<std::uint32_t>(state_->parts.size());
}

std::uint32_t Partitions::sms(std::uint32_t part) const { return state_->parts[part].sms; }

Stream Partitions::stream(std::uint32_t part, bool urgent) const {
  return state_->parts[part].streams[urgent];
}

Status Partitions::make_stream(std::uint32_t part, int priority, Stream& stream) const {
  return Status(static_cast<int>(state_->driver.stream(&stream, state_->parts[part].context,
                                                       CU_STREAM_NON_BLOCKING, priority)));
}

namespace {

constexpr std::uint64_t kStayCycles = 100'000;  // some 50 µs: longer than a grid takes to start

__global__ void probe_kernel(std::uint32_t* seen) {
  if (threadIdx.x != 0) return;
  seen[blockIdx.x] = this_sm();
  const std::uint64_t begin = clock64();
  while (clock64() - begin < kStayCycles) {
  }
}

}  // namespace

SmProbe::SmProbe(std::uint32_t blocks) : seen_(blocks) {}

Status SmProbe::launch(Stream stream) {
  if (!status().ok()) return status();
  std::uint32_t shared_bytes = 0;
  if (const Status allowed(whole_sm(probe_kernel, shared_bytes)); !allowed.ok()) return allowed;
  (void)cudaGetLastError();
  const auto blocks = static_cast<std::uint32_t>(seen_.count());
  probe_kernel<<<blocks, 32, shared_bytes, stream>>>(seen_.data());
  return Status(cudaGetLastError());
}

std::vector<std::uint32_t> SmProbe::sms() const {
  std::vector<std::uint32_t> found;
  for (std::size_t i = 0; i < seen_.count(); ++i) found.push_back(seen_.get(i));
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

Status SmProbe::see(Stream stream, std::vector<std::uint32_t>& sms) {
  sms.clear();
  if (const Status launched = launch(stream); !launched.ok()) return launched;
  const Status ended(cudaStreamSynchronize(stream));
  if (ended.ok()) sms = this->sms();
  return ended;
}

}  // namespace carillon::cuda
