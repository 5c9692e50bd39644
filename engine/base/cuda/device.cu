#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <utility>

#include "base/cuda/device.hpp"

namespace carillon::cuda {
namespace {

Device describe(int index, const cudaDeviceProp& of) {
  Device device;
  device.index = static_cast<std::uint32_t>(index);
  device.name = of.name;
  device.major = static_cast<std::uint32_t>(of.major);
  device.minor = static_cast<std::uint32_t>(of.minor);
  device.sms = static_cast<std::uint32_t>(of.multiProcessorCount);
  device.memory_bytes = of.totalGlobalMem;
  device.shared_bytes = static_cast<std::uint32_t>(of.sharedMemPerBlockOptin);
  char address[32];
  std::snprintf(address, sizeof address, "%04x:%02x:%02x.0", static_cast<unsigned>(of.pciDomainID),
                static_cast<unsigned>(of.pciBusID), static_cast<unsigned>(of.pciDeviceID));
  device.address = address;
  return device;
}

std::string why_none(cudaError_t error, const Machine& machine) {
  if (error == cudaErrorInsufficientDriver && machine.driver == 0)
    return "no NVIDIA driver; install one of version 580 or newer to use a GPU";
  if (error == cudaErrorInsufficientDriver)
    return "the NVIDIA driver is too old for CUDA 13.0; install version 580 or newer";
  if (error == cudaErrorNoDevice) return "an NVIDIA driver, but no device";
  if (error != cudaSuccess) return Status(error).text();
  if (!machine.devices.empty()) return "";
  if (machine.too_old.empty()) return "an NVIDIA driver, but no device";
  return machine.too_old[0].name + " is too old: compute capability 8.0 (A100) or newer is needed";
}

}  // namespace

std::string Status::text() const {
  const auto error = static_cast<cudaError_t>(code_);
  return std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error);
}

Machine look() {
  Machine machine;
  machine.built = true;
  (void)cudaDriverGetVersion(&machine.driver);
  (void)cudaRuntimeGetVersion(&machine.runtime);
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  for (int i = 0; i < count && error == cudaSuccess; ++i) {
    cudaDeviceProp properties;
    error = cudaGetDeviceProperties(&properties, i);
    if (error != cudaSuccess) break;
    Device device = describe(i, properties);
    (device.major < kLeastMajor ? machine.too_old : machine.devices).push_back(std::move(device));
  }
  (void)cudaGetLastError();  // what has been told is over
  machine.why = why_none(error, machine);
  return machine;
}

Status use(const Device& device) { return Status(cudaSetDevice(static_cast<int>(device.index))); }

Memory::Memory(std::size_t bytes) : bytes_(bytes) {
  if (bytes != 0) status_ = Status(cudaMalloc(&data_, bytes));
  if (!status_.ok()) data_ = nullptr;
}

Memory::Memory(Memory&& other) noexcept { *this = std::move(other); }

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(status_, other.status_);
  return *this;
}

Memory::~Memory() {
  if (data_ != nullptr) (void)cudaFree(data_);
}

// The default stream's calls may return before the device is done, and neither wait for streams
// that do not block nor make them wait.
Status Memory::clear() {
  if (bytes_ == 0) return {};
  if (const Status status(cudaMemset(data_, 0, bytes_)); !status.ok()) return status;
  return finish();
}

HostMemory::HostMemory(std::size_t bytes) {
  void* data = nullptr;
  if (bytes != 0)
    status_ = Status(cudaHostAlloc(&data, bytes, cudaHostAllocPortable | cudaHostAllocMapped));
  if (!status_.ok()) return;
  data_ = static_cast<std::byte*>(data);
  if (data_ != nullptr) std::memset(data_, 0, bytes);
}

HostMemory::HostMemory(HostMemory&& other) noexcept { *this = std::move(other); }

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(status_, other.status_);
  return *this;
}

HostMemory::~HostMemory() {
  if (data_ != nullptr) (void)cudaFreeHost(data_);
}

// Where a device has other addresses for such memory, which no GPU of a Linux server has, it cannot
// be used.
Reach::Reach(std::span<std::byte> memory) : data_(memory.data()) {
  status_ = Status(
      cudaHostRegister(data_, memory.size(), cudaHostRegisterPortable | cudaHostRegisterMapped));
  if (!status_.ok()) {
    data_ = nullptr;
    return;
  }
  void* theirs = nullptr;
  status_ = Status(cudaHostGetDevicePointer(&theirs, data_, 0));
  if (status_.ok() && theirs != data_) status_ = Status(cudaErrorNotSupported);
}

Reach::~Reach() {
  if (data_ != nullptr) (void)cudaHostUnregister(data_);
}

Status copy(const Rows& to, const Rows& from, Stream stream) {
  if (to.rows == 1)
    return Status(cudaMemcpyAsync(to.at, from.at, to.bytes, cudaMemcpyDefault, stream));
  return Status(cudaMemcpy2DAsync(to.at, to.pitch, from.at, from.pitch, to.bytes, to.rows,
                                  cudaMemcpyDefault, stream));
}

Status copy_in(void* to, const void* from, std::size_t bytes) {
  if (const Status before = finish(); !before.ok()) return before;
  if (const Status status(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice)); !status.ok())
    return status;
  return finish();
}

Status copy_out(void* to, const void* from, std::size_t bytes) {
  if (const Status before = finish(); !before.ok()) return before;
  return Status(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
}

Graph::Graph(const std::function<Status(Stream)>& launches, Stream on) {
  cudaStream_t stream = on;
  cudaGraph_t graph = nullptr;
  const auto keep = [&](Status status) {
    if (status_.ok()) status_ = status;
    return status.ok();
  };
  if (on == nullptr && !keep(Status(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking))))
    return;
  if (keep(Status(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal)))) {
    keep(launches(stream));
    if (keep(Status(cudaStreamEndCapture(stream, &graph))) && status_.ok())
      if (keep(Status(cudaGraphInstantiate(&executable_, graph, 0))))
        keep(Status(cudaGraphUpload(executable_, stream)));  // so that no launch has to
  }
  if (graph != nullptr) keep(Status(cudaGraphDestroy(graph)));
  if (on == nullptr) keep(Status(cudaStreamDestroy(stream)));
}

Graph::Graph(Graph&& other) noexcept { *this = std::move(other); }

Graph& Graph::operator=(Graph&& other) noexcept {
  std::swap(executable_, other.executable_);
  std::swap(status_, other.status_);
  return *this;
}

Graph::~Graph() {
  if (executable_ != nullptr) (void)cudaGraphExecDestroy(executable_);
}

Status Graph::launch(Stream stream) const {
  return status_.ok() ? Status(cudaGraphLaunch(executable_, stream)) : status_;
}

LastLaunch& last_launch() {
  thread_local LastLaunch last;
  return last;
}

Status finish() { return Status(cudaDeviceSynchronize()); }

}  // namespace carillon::cuda
