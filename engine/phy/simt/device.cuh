// The Cta of simt.hpp on a GPU, and how its kernels are launched.
#pragma once

#include <cuda_runtime.h>
#include <mma.h>

#include "base/cuda/device.hpp"
#include "phy/simt/simt.hpp"

namespace carillon::phy::simt {

class Cta {
 public:
  template <typename T>
  class Own {
   public:
    __device__ explicit Own(const Cta&) {}
    __device__ T& operator[](std::uint32_t) { return value_; }

   private:
    T value_;
  };

  /// Of a warp: C += A·B, 16×16 each, A and B row by row in shared memory as binary16.
  class Product {
   public:
    __device__ Product() { nvcuda::wmma::fill_fragment(sum_, 0.0F); }
    __device__ void add(const std::uint16_t* a, std::uint32_t a_stride, const std::uint16_t* b,
                        std::uint32_t b_stride) {
      using namespace nvcuda::wmma;
      fragment<matrix_a, 16, 16, 16, __half, row_major> left;
      fragment<matrix_b, 16, 16, 16, __half, row_major> right;
      load_matrix_sync(left, reinterpret_cast<const __half*>(a), a_stride);
      load_matrix_sync(right, reinterpret_cast<const __half*>(b), b_stride);
      mma_sync(sum_, left, right, sum_);
    }
    __device__ void store(float* to, std::uint32_t stride) const {
      nvcuda::wmma::store_matrix_sync(to, sum_, stride, nvcuda::wmma::mem_row_major);
    }

   private:
    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> sum_;
  };

  __device__ std::uint32_t x() const { return blockIdx.x; }
  __device__ std::uint32_t y() const { return blockIdx.y; }
  __device__ std::uint32_t z() const { return blockIdx.z; }
  __device__ std::uint32_t threads() const { return blockDim.x; }

  template <typename T>
  __device__ T* shared(std::uint32_t offset = 0) const {
    extern __shared__ __align__(16) unsigned char carillon_shared[];
    return reinterpret_cast<T*>(carillon_shared + offset);
  }
  template <typename F>
  __device__ void each(std::uint32_t n, F&& f) const {
    for (std::uint32_t i = threadIdx.x; i < n; i += blockDim.x) f(i);
    __syncthreads();
  }
  template <typename F>
  __device__ void each_thread(F&& f) const {
    f(threadIdx.x);
    __syncthreads();
  }
  template <typename F>
  __device__ void each_warp(F&& f) const {
    f(threadIdx.x / kWarp);
    __syncthreads();
  }
  template <std::uint32_t kTeam, typename F>
  __device__ void each_team(F&& f) const {
    f(Team<kTeam>());
    __syncthreads();
  }
  template <typename T>
  __device__ static void add(T* to, T value) {
    atomicAdd(to, value);
  }

  /// Neighbouring lanes of a warp.
  template <std::uint32_t kTeam>
  class Team {
   public:
    static_assert(kTeam <= kWarp && (kTeam & (kTeam - 1)) == 0);
    __device__ std::uint32_t first() const { return threadIdx.x & ~(kTeam - 1); }
    template <typename Part, typename Read, typename Write>
    __device__ void together(Read&& read, Write&& write) const {
      Part part;
      read(threadIdx.x, part);
#pragma unroll
      for (std::uint32_t apart = 1; apart < kTeam; apart *= 2)
        part.common.merge(of_lane(part.common, apart));
      write(threadIdx.x, part);
    }

   private:
    /// What the lane has whose number differs in these bits.
    template <typename T>
    __device__ static T of_lane(const T& mine, std::uint32_t bits) {
      static_assert(sizeof(T) % 4 == 0);
      constexpr std::uint32_t kWords = sizeof(T) / 4;
      std::uint32_t words[kWords];
      T other;
      memcpy(words, &mine, sizeof mine);
#pragma unroll
      for (std::uint32_t& word : words) word = __shfl_xor_sync(~0U, word, bits);
      memcpy(&other, words, sizeof other);
      return other;
    }
  };

  /// Of a warp: kDown × kAcross products next to each other. A row of A's blocks meets a row of
  /// B's, and each is loaded once: 2 × 2 of them read half as much as four of Product.
  template <std::uint32_t kDown, std::uint32_t kAcross>
  class Products {
   public:
    __device__ Products() {
#pragma unroll
      for (auto& row : sums_)
#pragma unroll
        for (auto& sum : row) nvcuda::wmma::fill_fragment(sum, 0.0F);
    }
    __device__ void add(const std::uint16_t* a, std::uint32_t a_stride, const std::uint16_t* b,
                        std::uint32_t b_stride) {
      using namespace nvcuda::wmma;
      fragment<matrix_b, 16, 16, 16, __half, row_major> right[kAcross];
#pragma unroll
      for (std::uint32_t j = 0; j < kAcross; ++j)
        load_matrix_sync(right[j], reinterpret_cast<const __half*>(b + 16 * j), b_stride);
#pragma unroll
      for (std::uint32_t i = 0; i < kDown; ++i) {
        fragment<matrix_a, 16, 16, 16, __half, row_major> left;
        load_matrix_sync(left, reinterpret_cast<const __half*>(a + 16 * i * a_stride), a_stride);
#pragma unroll
        for (std::uint32_t j = 0; j < kAcross; ++j)
          mma_sync(sums_[i][j], left, right[j], sums_[i][j]);
      }
    }
    /// `factor` times the 16 rows of block i, to where(i); nowhere if that is null.
    template <typename Where>
    __device__ void store(Where&& where, std::uint32_t stride, float factor = 1) {
#pragma unroll
      for (std::uint32_t i = 0; i < kDown; ++i) {
        float* const to = where(i);
        if (to == nullptr) continue;
#pragma unroll
        for (std::uint32_t j = 0; j < kAcross; ++j) {
#pragma unroll
          for (std::uint32_t n = 0; n < sums_[i][j].num_elements; ++n) sums_[i][j].x[n] *= factor;
          nvcuda::wmma::store_matrix_sync(to + 16 * j, sums_[i][j], stride,
                                          nvcuda::wmma::mem_row_major);
        }
      }
    }

   private:
    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> sums_[kDown][kAcross];
  };
};

/// Allows a kernel as much shared memory as any launch may ask for, always the same: it holds for
/// the function, so also for other threads' launches and for those of a graph in the making.
template <typename Kernel>
cudaError_t allow_shared(Kernel* kernel) {
  int device = 0, most = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error != cudaSuccess) return error;
  if (most > static_cast<int>(kMostSharedBytes)) most = static_cast<int>(kMostSharedBytes);
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
}

/// Puts a kernel on a stream. Shared memory above 48 KB is asked for each time; that costs the
/// driver nothing that launching does not. Errors of other calls are told where they are made.
template <typename... Parameters, typename... Arguments>
carillon::cuda::Status put_on(carillon::cuda::Stream stream, const Launch& launch,
                              void (*kernel)(Parameters...), Arguments&&... arguments) {
  if (launch.shared_bytes > 48 * 1024)
    if (const cudaError_t error = allow_shared(kernel); error != cudaSuccess)
      return carillon::cuda::Status(error);
  carillon::cuda::last_launch() = {reinterpret_cast<const void*>(kernel), launch.threads,
                                   launch.shared_bytes};
  (void)cudaGetLastError();
  kernel<<<dim3(launch.x, launch.y, launch.z), launch.threads, launch.shared_bytes, stream>>>(
      static_cast<Arguments&&>(arguments)...);
  return carillon::cuda::Status(cudaGetLastError());
}

}  // namespace carillon::phy::simt
