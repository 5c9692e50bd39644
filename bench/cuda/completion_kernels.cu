#include "cuda/completion_kernels.hpp"

#include <cuda_runtime.h>

namespace carillon::bench {
namespace {

using cuda::Status;

constexpr std::uint32_t kThreads = 128;
constexpr std::uint64_t kMostWait = 2'000'000'000;  // ns

__device__ std::uint64_t nanoseconds() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

// Of the host's memory. Whoever sees the released value sees all that the device wrote before.
__device__ void release(std::uint32_t* word, std::uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
__device__ void write(std::uint32_t* word, std::uint32_t value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(word), "r"(value) : "memory");
}
__device__ std::uint32_t read(const std::uint32_t* word) {
  std::uint32_t value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

__global__ void __launch_bounds__(kThreads) stay_kernel(Stay task) {
  const std::uint64_t begin = nanoseconds();
  while (nanoseconds() - begin < task.ns) {
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  if (atomicAdd(task.left, 1U) + 1 < gridDim.x) return;
  *task.end = nanoseconds();
  if (task.word != nullptr) release(task.word, task.value);
}

// The host reads the word, not the time: nothing has to wait for that to arrive anywhere.
__global__ void show_kernel(ShowClock task) {
  const std::uint64_t begin = nanoseconds();
  for (std::uint32_t i = 1; i <= task.count; ++i) {
    while (read(task.asked) != i)
      if (nanoseconds() - begin > kMostWait) return;
    task.shown[i - 1] = nanoseconds();
    write(task.told, i);
  }
}

__global__ void watch_kernel(std::uint64_t* jumps, std::uint32_t count) {
  std::uint64_t last = nanoseconds();
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint64_t now = last;
    while (now == last) now = nanoseconds();
    jumps[i] = now - last;
    last = now;
  }
}

__global__ void idle_kernel(std::uint64_t cycles) {
  if (cycles == 0) return;
  const std::uint64_t begin = clock64();
  while (clock64() - begin < cycles) {
  }
}

}  // namespace

Status stay(const Stay& task, std::uint32_t blocks, cuda::Stream stream) {
  stay_kernel<<<blocks, kThreads, 0, stream>>>(task);
  return Status(cudaGetLastError());
}

Status show_clock(const ShowClock& task, cuda::Stream stream) {
  show_kernel<<<1, 1, 0, stream>>>(task);
  return Status(cudaGetLastError());
}

Status watch_clock(std::uint64_t* jumps, std::uint32_t count, cuda::Stream stream) {
  watch_kernel<<<1, 1, 0, stream>>>(jumps, count);
  return Status(cudaGetLastError());
}

Status idle(std::uint64_t cycles, cuda::Stream stream) {
  idle_kernel<<<1, 32, 0, stream>>>(cycles);
  return Status(cudaGetLastError());
}

}  // namespace carillon::bench
