#include <cuda_runtime.h>

#include <vector>

#include "fronthaul/gpu/direct.hpp"
#include "fronthaul/gpu/target.hpp"

namespace carillon::fronthaul::gpu {
namespace {

std::string words_of(const Status& status) { return status.ok() ? std::string() : status.text(); }

// What kernels check on the device.
enum class From : std::uint8_t {
  Ring,    // the ring itself, over the bus
  Copy,    // what a copy engine has moved from it
  Landed,  // what somebody else has written into the device's memory
};

// Blocks are copied on one stream and checked on another, so that a block's copy and the check of
// the one before it overlap; both in the order in which they came, which the time stamps' check
// needs.
class DeviceTarget : public Target {
 public:
  DeviceTarget(BlockRing& ring, From from, std::size_t block_bytes)
      : ring_(ring), from_(from), block_bytes_(block_bytes) {}
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
    const std::size_t bytes = (slots * block_bytes_ + kLargePage - 1) / kLargePage * kLargePage;
    if (from_ != From::Ring) payload_ = cuda::Memory(bytes);
    scaled_ = cuda::Memory(block_bytes_ / kSampleBytes * sizeof(phy::Complex));
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

  std::string take(std::uint32_t slot) override {
    if (from_ == From::Copy)
      if (const Status status = copy(slot); !status.ok()) return status.text();
    return words_of(look_at(slot));
  }

  std::string finish(std::uint32_t slot) override {
    return words_of(Status(cudaEventSynchronize(checked_[slot])));
  }
  const BlockCheck& check(std::uint32_t slot) const override { return found_[slot]; }

  const cuda::Memory& payload() const { return payload_; }

 private:
  Status copy(std::uint32_t slot) {
    const std::size_t bytes = std::size_t{ring_.meta()[slot].samples} * kSampleBytes;
    if (const Status status(cudaMemcpyAsync(place(slot), ring_.payload(slot), bytes,
                                            cudaMemcpyHostToDevice, copying_));
        !status.ok())
      return status;
    if (const Status status(cudaEventRecord(copied_[slot], copying_)); !status.ok()) return status;
    return Status(cudaStreamWaitEvent(checking_, copied_[slot], 0));
  }

  std::byte* place(std::uint32_t slot) const {
    if (from_ == From::Ring)
      return mapped_ + (ring_.payload(slot) - static_cast<std::byte*>(ring_.memory()));
    return static_cast<std::byte*>(payload_.data()) + slot * block_bytes_;
  }

  Status look_at(std::uint32_t slot) {
    const BlockMeta* const meta = meta_ + slot;
    cudaError_t error = cudaSuccess;
    const auto go = [&](cudaError_t next) {
      if (error == cudaSuccess) error = next;
    };
    BlockCheck* const checks = static_cast<BlockCheck*>(checks_.data());
    go(cudaMemsetAsync(checks + slot, 0, sizeof(BlockCheck), checking_));
    if (error != cudaSuccess) return Status(error);
    const InspectTask sums = {meta, reinterpret_cast<const std::uint32_t*>(place(slot)),
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
  const From from_;
  const std::size_t block_bytes_;
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
  const From from = access == Access::Copy ? From::Copy : From::Ring;
  auto target = std::make_unique<DeviceTarget>(ring, from, ring.slot_bytes());
  status = target->prepare();
  if (!status.ok()) return nullptr;
  return target;
}

Landing make_device_landing(const cuda::Device& device, BlockRing& ring, std::size_t block_bytes,
                            Export by, std::string& why) {
  why = words_of(cuda::use(device));
  if (!why.empty()) return {};
  auto target = std::make_unique<DeviceTarget>(ring, From::Landed, block_bytes);
  why = words_of(target->prepare());
  if (!why.empty()) return {};
  Landing landing;
  landing.memory = static_cast<std::byte*>(target->payload().data());
  landing.bytes = target->payload().bytes();
  landing.slot_bytes = block_bytes;
  landing.checks = std::move(target);
  why = prepare_for_card(landing.memory);
  if (why.empty() && by == Export::DmaBuf)
    why = export_as_dma_buf(device, landing.memory, landing.bytes, landing.dma_buf);
  return landing;
}

}  // namespace carillon::fronthaul::gpu
