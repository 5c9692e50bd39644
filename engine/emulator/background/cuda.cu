#include <algorithm>
#include <chrono>
#include <thread>

#include "base/cuda/whole_sm.cuh"
#include "emulator/background/background.hpp"
#include "emulator/background/gemm.inl"
#include "phy/simt/device.cuh"

namespace carillon::emulator {
namespace {

using cuda::Status;

__global__ void __launch_bounds__(kGemmThreads) gemm_kernel(GemmTask task) {
  phy::simt::Cta cta;
  gemm_block(cta, task);
}

constexpr std::uint32_t kSpinThreads = 128;       // a warp for each quarter of an SM
constexpr std::uint32_t kLookNs = 50'000;         // between two looks at the word
constexpr std::chrono::seconds kMostToStart{10};  // whatever runs before them is over by then

__device__ std::uint64_t nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// The block holds its SM by shared memory alone, and sleeps there. What it reads is on the device:
// while 66 such blocks read a word of the host, each launch beside them took 67 µs instead of 1.3,
// and 1.4 with a word of the device (H200, graphs of small kernels).
__global__ void __launch_bounds__(kSpinThreads)
    spin_kernel(const volatile std::uint32_t* stop, volatile std::uint32_t* words) {
  if (threadIdx.x == 0) {
    const std::uint64_t begin = nanoseconds();
    words[1 + blockIdx.x] = 1 + cuda::this_sm();
    while (*stop == 0 && nanoseconds() - begin < Spinners::kMostSeconds * 1'000'000'000ULL)
      __nanosleep(kLookNs);
    words[1 + blockIdx.x] = 0;
  }
  __syncthreads();
}

}  // namespace

Status gemm(const GemmTask& task, cuda::Stream stream) {
  return phy::simt::put_on(stream, launch_of(task), gemm_kernel, task);
}

Spinners::Spinners(std::uint32_t sms, cuda::Stream stream)
    : words_(1 + std::size_t{sms}),
      stop_(sizeof(std::uint32_t)),
      count_(sms),
      stream_(stream),
      own_(stream == nullptr) {
  const auto make = [](cuda::Stream& made) {
    return Status(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
  };
  Status status = words_.status();
  if (status.ok()) status = stop_.status();
  if (status.ok()) status = make(stopping_);
  if (status.ok()) status = tell(0);
  if (status.ok() && own_) {
    status = make(stream_);
    own_ = status.ok();
  }
  if (status.ok() && count_ > 0) status = launch();
  why_ = status.ok() ? wait() : status.text();
  if (!why_.empty()) (void)stop();
}

Spinners::~Spinners() {
  (void)stop();
  if (own_) (void)cudaStreamDestroy(stream_);
  if (stopping_ != nullptr) (void)cudaStreamDestroy(stopping_);
}

// Waits for no other stream, where others may spin.
Status Spinners::tell(std::uint32_t stop) {
  words_.set(0, stop);
  const Status copied(cudaMemcpyAsync(stop_.data(), words_.data(), stop_.bytes(),
                                      cudaMemcpyHostToDevice, stopping_));
  return copied.ok() ? Status(cudaStreamSynchronize(stopping_)) : copied;
}

Status Spinners::launch() {
  std::uint32_t shared_bytes = 0;
  if (const Status allowed(cuda::whole_sm(spin_kernel, shared_bytes)); !allowed.ok())
    return allowed;
  (void)cudaGetLastError();
  spin_kernel<<<count_, kSpinThreads, shared_bytes, stream_>>>(
      static_cast<std::uint32_t*>(stop_.data()), words_.data());
  const Status launched(cudaGetLastError());
  running_ = launched.ok();
  return launched;
}

std::string Spinners::wait() {
  const auto most = std::chrono::steady_clock::now() + kMostToStart;
  for (std::uint32_t on = 0; on < count_;) {
    on = 0;
    for (std::uint32_t i = 0; i < count_; ++i) on += words_.get(1 + i) != 0 ? 1 : 0;
    if (on < count_ && std::chrono::steady_clock::now() > most)
      return "only " + std::to_string(on) + " of " + std::to_string(count_) +
             " spinners found an SM that is free; ask for fewer, or end what runs there";
    std::this_thread::yield();
  }
  for (std::uint32_t i = 0; i < count_; ++i) sms_.push_back(words_.get(1 + i) - 1);
  std::sort(sms_.begin(), sms_.end());
  if (std::adjacent_find(sms_.begin(), sms_.end()) != sms_.end())
    return "two spinners share an SM: its blocks do not take all of its shared memory";
  return "";
}

bool Spinners::spinning() const {
  if (!running_) return count_ == 0 && why_.empty();
  for (std::uint32_t i = 0; i < count_; ++i)
    if (words_.get(1 + i) == 0) return false;
  return true;
}

Status Spinners::stop() {
  if (!running_) return {};
  running_ = false;
  const Status told = tell(1);
  const Status ended(cudaStreamSynchronize(stream_));
  return told.ok() ? ended : told;
}

struct Gemms::State {
  State()
      : a(sizeof(float) * kGemmM * kGemmK),
        b(sizeof(float) * kGemmK * kGemmN),
        c(sizeof(float) * kGemmM * kGemmN) {}
  ~State() {
    for (const cudaEvent_t event : events)
      if (event != nullptr) (void)cudaEventDestroy(event);
    if (own && stream != nullptr) (void)cudaStreamDestroy(stream);
  }

  Status fill(std::uint32_t kernels);

  cuda::Memory a, b, c;
  std::vector<cudaEvent_t> events;  // of each place in the queue: its kernel has ended
  cudaStream_t stream = nullptr;
  bool own = false;
};

// Numbers that are not 0: a multiplier that changes nothing needs less power.
Status Gemms::State::fill(std::uint32_t kernels) {
  for (const cuda::Memory* memory : {&a, &b, &c})
    if (!memory->status().ok()) return memory->status();
  for (const cuda::Memory* memory : {&a, &b}) {
    std::vector<float> values(memory->bytes() / sizeof(float));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(i * 2654435761U % 1024) / 1024 - 0.5F;
    const Status copied = cuda::copy_in(memory->data(), values.data(), memory->bytes());
    if (!copied.ok()) return copied;
  }
  events.resize(kernels);
  for (cudaEvent_t& event : events)
    if (const Status made(cudaEventCreateWithFlags(&event, cudaEventDisableTiming)); !made.ok())
      return made;
  own = stream == nullptr;
  return own ? Status(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)) : Status();
}

Gemms::Gemms(std::uint32_t kernels, cuda::Stream stream) : kernels_(kernels) {
  if (kernels == 0) return;
  state_ = std::make_unique<State>();
  state_->stream = stream;
  status_ = state_->fill(kernels);
  for (std::uint32_t slot = 0; slot < kernels_ && status_.ok(); ++slot) launch(slot);
}

Gemms::~Gemms() { (void)drain(); }

void Gemms::launch(std::uint32_t slot) {
  const GemmTask task = {kGemmM,
                         kGemmN,
                         kGemmK,
                         static_cast<const float*>(state_->a.data()),
                         static_cast<const float*>(state_->b.data()),
                         static_cast<float*>(state_->c.data())};
  status_ = gemm(task, state_->stream);
  if (status_.ok()) status_ = Status(cudaEventRecord(state_->events[slot], state_->stream));
}

const Status& Gemms::refill() {
  for (std::uint32_t n = 0; n < kernels_ && status_.ok(); ++n) {
    const cudaError_t state = cudaEventQuery(state_->events[oldest_]);
    if (state == cudaErrorNotReady) break;
    status_ = Status(state);
    if (!status_.ok()) break;
    ++ended_;
    launch(oldest_);
    oldest_ = (oldest_ + 1) % kernels_;
  }
  return status_;
}

Status Gemms::drain() {
  if (state_ == nullptr || state_->stream == nullptr) return status_;
  const Status ended(cudaStreamSynchronize(state_->stream));
  return status_.ok() ? ended : status_;
}

}  // namespace carillon::emulator
