// Streams, events, and words in pinned memory that streams write and wait for.
#include <cuda.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/cuda/driver.hpp"

namespace carillon::cuda {
namespace {

// Of libcuda, which is not linked: the same program runs where there is no driver.
template <typename Function>
Status find(const char* name, Function& function) {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &entry, 12000, cudaEnableDefault, &found);
  if (error != cudaSuccess) return Status(error);
  if (found != cudaDriverEntryPointSuccess) return Status(cudaErrorNotSupported);
  function = reinterpret_cast<Function>(entry);
  return {};
}

Status of(CUresult result) {
  // The numbers of the driver's errors are those of the runtime's for all that can come here.
  return Status(static_cast<int>(result));
}

class RealDriver final : public Driver {
 public:
  /// As many devices as partitions, where there are any: all of them the same card.
  RealDriver(Partitions partitions, const std::vector<Device>& devices,
             const DriverOptions& options, Status& status)
      : partitions_(std::move(partitions)) {
    const auto keep = [&](Status each) {
      if (status.ok()) status = each;
      return status.ok();
    };
    if (!keep(find("cuStreamWriteValue32", write_)) || !keep(find("cuStreamWaitValue32", wait_)))
      return;
    for (const Device& device : devices) {
      gpus_.push_back({.device = device});
      if (!keep(set_up(gpus_.back(), options))) return;
    }
    let_them_reach_each_other();
  }
  RealDriver(const RealDriver&) = delete;
  RealDriver& operator=(const RealDriver&) = delete;
  ~RealDriver() override {
    for (Gpu& gpu : gpus_) {  // whose streams may wait for each other's words
      (void)cuda::use(gpu.device);
      (void)finish();
    }
    for (Gpu& gpu : gpus_) {
      (void)cuda::use(gpu.device);
      for (cudaStream_t stream : gpu.streams) (void)cudaStreamDestroy(stream);
      for (cudaEvent_t event : gpu.marks) (void)cudaEventDestroy(event);
      if (gpu.told != nullptr) (void)cudaFreeHost(gpu.told);
    }
  }

  std::uint16_t devices() const override { return static_cast<std::uint16_t>(gpus_.size()); }
  Stream stream(std::uint16_t device, std::uint32_t stream) const noexcept override {
    return gpus_[device].streams[stream];
  }
  Status use(std::uint16_t device) noexcept override { return cuda::use(gpus_[device].device); }

  Status mark(std::uint16_t device, std::uint32_t stream, std::uint32_t mark) noexcept override {
    const Gpu& gpu = gpus_[device];
    return Status(cudaEventRecord(gpu.marks[mark], gpu.streams[stream]));
  }
  Status wait(std::uint16_t device, std::uint32_t stream, std::uint32_t mark) noexcept override {
    const Gpu& gpu = gpus_[device];
    return Status(cudaStreamWaitEvent(gpu.streams[stream], gpu.marks[mark], 0));
  }
  Status tell(std::uint16_t device, std::uint32_t stream, std::uint32_t word,
              std::uint32_t value) noexcept override {
    return of(write_(gpus_[device].streams[stream], address(device, word), value,
                     CU_STREAM_WRITE_VALUE_DEFAULT));
  }
  Status await(std::uint16_t device, std::uint32_t stream, std::uint16_t teller, std::uint32_t word,
               std::uint32_t value) noexcept override {
    return of(wait_(gpus_[device].streams[stream], address(teller, word), value,
                    CU_STREAM_WAIT_VALUE_GEQ));
  }
  std::uint32_t told(std::uint16_t device, std::uint32_t word) const noexcept override {
    return std::atomic_ref(gpus_[device].told[word * kApart]).load(std::memory_order_acquire);
  }
  void release(std::uint16_t device, std::uint32_t word, std::uint32_t value) noexcept override {
    std::atomic_ref(gpus_[device].told[word * kApart]).store(value, std::memory_order_release);
  }

  Status answers(std::uint16_t device) noexcept override {
    const cudaError_t error = cudaStreamQuery(gpus_[device].streams.front());
    return error == cudaErrorNotReady ? Status() : Status(error);
  }
  Status revive(std::uint16_t device) noexcept override {
    for (const cudaStream_t stream : gpus_[device].streams)
      if (const Status done(cudaStreamQuery(stream)); !done.ok()) return done;
    return {};
  }

 private:
  // A cache line for each word: the host polls some while devices write others.
  static constexpr std::uint32_t kApart = 16;
  struct Gpu {
    Device device;
    std::vector<cudaStream_t> streams = {};
    std::vector<cudaEvent_t> marks = {};
    std::uint32_t* told = nullptr;
  };

  Status make_stream(std::uint32_t part, int priority, cudaStream_t& stream) const {
    if (partitions_.parts() > 0) return partitions_.make_stream(part, priority, stream);
    return Status(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority));
  }

  // The last of gpus_.
  Status set_up(Gpu& gpu, const DriverOptions& options) const {
    if (const Status used = cuda::use(gpu.device); !used.ok()) return used;
    int least = 0, greatest = 0;
    if (const Status known(cudaDeviceGetStreamPriorityRange(&least, &greatest)); !known.ok())
      return known;
    // Less is sooner. Where there are but two, the urgent have that of the first.
    const int urgent = std::min(greatest + 1, std::max(greatest, least - 1));
    const std::uint32_t before_background = options.first + options.urgent;
    for (std::uint32_t s = 0; s < before_background + options.background; ++s) {
      cudaStream_t stream = nullptr;
      const int priority = s < options.first ? greatest : s < before_background ? urgent : least;
      const auto part = static_cast<std::uint32_t>(gpus_.size() - 1);
      const Status made = make_stream(part, priority, stream);
      if (!made.ok()) return made;
      gpu.streams.push_back(stream);
    }
    for (std::uint32_t m = 0; m < options.words; ++m) {
      cudaEvent_t event = nullptr;
      const Status made(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
      if (!made.ok()) return made;
      gpu.marks.push_back(event);
    }
    void* words = nullptr;
    const std::size_t bytes = std::size_t{options.words} * kApart * sizeof(std::uint32_t);
    const Status pinned(cudaHostAlloc(&words, bytes, cudaHostAllocPortable | cudaHostAllocMapped));
    gpu.told = static_cast<std::uint32_t*>(words);
    for (std::uint32_t w = 0; gpu.told != nullptr && w < options.words; ++w)
      gpu.told[w * kApart] = 0;
    return pinned;
  }

  // Pinned memory has the same address on all devices.
  CUdeviceptr address(std::uint16_t device, std::uint32_t word) const {
    return reinterpret_cast<CUdeviceptr>(gpus_[device].told + word * kApart);
  }

  // Where they cannot, copies go by the host's memory: slower, and right as well.
  void let_them_reach_each_other() const {
    for (const Gpu& from : gpus_)
      for (const Gpu& to : gpus_) {
        if (from.device.index == to.device.index || !cuda::use(from.device).ok()) continue;
        (void)cudaDeviceEnablePeerAccess(static_cast<int>(to.device.index), 0);
        (void)cudaGetLastError();
      }
  }

  Partitions partitions_;
  std::vector<Gpu> gpus_;
  CUresult (*write_)(CUstream, CUdeviceptr, cuuint32_t, unsigned int) = nullptr;
  CUresult (*wait_)(CUstream, CUdeviceptr, cuuint32_t, unsigned int) = nullptr;
};

}  // namespace

std::unique_ptr<Driver> make_driver(const std::vector<Device>& devices,
                                    const DriverOptions& options, Status& status) {
  auto driver = std::make_unique<RealDriver>(Partitions(), devices, options, status);
  if (!status.ok()) return nullptr;
  return driver;
}

std::unique_ptr<Driver> make_driver(Partitions partitions, const Device& card,
                                    const DriverOptions& options, Status& status) {
  const std::vector<Device> devices(partitions.parts(), card);
  if (devices.empty()) status = Status(cudaErrorInvalidValue);  // partitions.why() says it
  auto driver = std::make_unique<RealDriver>(std::move(partitions), devices, options, status);
  if (!status.ok()) return nullptr;
  return driver;
}

}  // namespace carillon::cuda
