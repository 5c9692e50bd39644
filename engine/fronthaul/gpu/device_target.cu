#include <cuda_runtime.h>

#include <vector>

#include "fronthaul/gpu/target.hpp"

namespace carillon::fronthaul::gpu {
namespace {

// Blocks are copied on one stream and checked on another, so that a block's copy and the check of
// the one before it overlap; both in the order in which they came, which the time stamps' check
// needs.
class DeviceTarget : public Target {
 public:
  DeviceTarget(BlockRing& ring, Access access) : ring_(ring), access_(access) {}
  DeviceTarget(const DeviceTarget&) = delete;
  DeviceTarget& operator=(const DeviceTarget&) = delete;

  ~DeviceTarget() override {
    (void)cudaDeviceSynchronize();
    for (const cudaEvent_t event : copied_) (void)cudaEventDestroy(event);
    for (const cudaEvent_t event : checked_) (void)cudaEventDestroy(event);
    if (copying_ != nullptr) (void)cudaStreamDestroy(copying_);
    if (checking_ != nullptr) (void)cudaStreamDestroy(checking_);
    if (found_ != nullptr) (void)cudaFreeHost(found_);
    if (registered_) (void)cudaHostUnregister(ring_.memory());
  }

  Status prepare() {
    const std::uint32_t slots = ring_.slots();
    if (const Status status = keep_host_memory(); !status.ok()) return status;
    if (access_ == Access::Copy) payload_ = cuda::Memory(slots * ring_.slot_bytes());
    scaled_ = cuda::Memory(ring_.slot_bytes() / kSampleBytes * sizeof(phy::Complex));
    state_ = cuda::Memory(kMostChannels * sizeof(ChannelState));
    checks_ = cuda::Memory(slots * sizeof(BlockCheck));
    for (const cuda::Memory* memory : {&payload_, &scaled_, &state_, &checks_})
      if (!memory->status().ok()) return memory->status();
    if (const Status status = state_.clear(); !status.ok()) return status;
    for (cudaStream_t* stream : {&copying_, &checking_})
      if (const Status status(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
          !status.ok())
        return status;
    return make_events(slots);
  }

  Status take(std::uint32_t slot) override {
    const BlockMeta* const meta = meta_ + slot;
    const std::byte* const host = ring_.payload(slot);
    const std::size_t bytes = std::size_t{ring_.meta()[slot].samples} * kSampleBytes;
    const void* samples = mapped_ + (host - static_cast<std::byte*>(ring_.memory()));
    cudaError_t error = cudaSuccess;
    const auto go = [&](cudaError_t next) {
      if (error == cudaSuccess) error = next;
    };
    if (access_ == Access::Copy) {
      std::byte* const to = static_cast<std::byte*>(payload_.data()) + slot * ring_.slot_bytes();
      go(cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, copying_));
      go(cudaEventRecord(copied_[slot], copying_));
      go(cudaStreamWaitEvent(checking_, copied_[slot], 0));
      samples = to;
    }
    BlockCheck* const checks = static_cast<BlockCheck*>(checks_.data());
    go(cudaMemsetAsync(checks + slot, 0, sizeof(BlockCheck), checking_));
    if (error != cudaSuccess) return Status(error);
    const InspectTask sums = {meta, static_cast<const std::uint32_t*>(samples),
                              ring_.meta()[slot].samples,
                              static_cast<phy::Complex*>(scaled_.data()), checks + slot};
    if (const Status status = inspect(sums, checking_); !status.ok()) return status;
    const StampTask order = {
        meta_, ring_.slots(), slot, 1, static_cast<ChannelState*>(state_.data()), checks};
    if (const Status status = stamp(order, checking_); !status.ok()) return status;
    go(cudaMemcpyAsync(found_ + slot, checks + slot, sizeof(BlockCheck), cudaMemcpyDeviceToHost,
                       checking_));
    go(cudaEventRecord(checked_[slot], checking_));
    return Status(error);
  }

  Status finish(std::uint32_t slot) override {
    return Status(cudaEventSynchronize(checked_[slot]));
  }
  const BlockCheck& check(std::uint32_t slot) const override { return found_[slot]; }

 private:
  Status keep_host_memory() {
    if (const Status status(cudaHostRegister(ring_.memory(), ring_.memory_bytes(),
                                             cudaHostRegisterMapped | cudaHostRegisterPortable));
        !status.ok())
      return status;
    registered_ = true;
    void* mapped = nullptr;
    if (const Status status(cudaHostGetDevicePointer(&mapped, ring_.memory(), 0)); !status.ok())
      return status;
    mapped_ = static_cast<std::byte*>(mapped);
    meta_ =
        reinterpret_cast<const BlockMeta*>(mapped_ + (reinterpret_cast<std::byte*>(ring_.meta()) -
                                                      static_cast<std::byte*>(ring_.memory())));
    return Status(cudaMallocHost(&found_, ring_.slots() * sizeof(BlockCheck)));
  }

  // Who waits for an event sleeps: the CPU's use is measured, and spinning is none.
  Status make_events(std::uint32_t slots) {
    for (auto* const events : {&copied_, &checked_})
      for (std::uint32_t i = 0; i < slots; ++i) {
        cudaEvent_t event = nullptr;
        if (const Status status(
                cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync));
            !status.ok())
          return status;
        events->push_back(event);
      }
    return {};
  }

  BlockRing& ring_;
  const Access access_;
  bool registered_ = false;
  std::byte* mapped_ = nullptr;  // the ring as the device sees it
  const BlockMeta* meta_ = nullptr;
  BlockCheck* found_ = nullptr;  // in the host's memory
  cuda::Memory payload_, scaled_, state_, checks_;
  cudaStream_t copying_ = nullptr, checking_ = nullptr;
  std::vector<cudaEvent_t> copied_, checked_;
};

}  // namespace

std::unique_ptr<Target> make_device_target(const cuda::Device& device, BlockRing& ring,
                                           Access access, Status& status) {
  status = cuda::use(device);
  if (!status.ok()) return nullptr;
  auto target = std::make_unique<DeviceTarget>(ring, access);
  status = target->prepare();
  if (!status.ok()) return nullptr;
  return target;
}

}  // namespace carillon::fronthaul::gpu
