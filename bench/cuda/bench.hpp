// How CUDA kernels are measured: launches back to back in a CUDA graph, so that the host's part is
// left out, timed by events on the device. What a kernel reads may be in the L2 cache from the
// launch before, as it is in a frame, where the stage before has just written it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/cuda/device.hpp"
#include "cuda/goals.hpp"
#include "cuda/latency.hpp"
#include "cuda/work.hpp"

namespace carillon::bench {

/// A launch on a stream; whoever measures it looks at the status.
using Enqueue = std::function<cuda::Status(cuda::Stream)>;

struct GpuRow {
  std::string kernel, shape, peer;
  GpuWork work;
  double us = 0, bound_us = 0, peer_us = 0;
  int registers = 0, local_bytes = 0;
  std::uint32_t threads = 0, shared_bytes = 0;
  double occupancy = 0;  ///< of the warps that an SM can hold
};

class GpuBench {
 public:
  explicit GpuBench(const cuda::Device& device);

  const cuda::Device& device() const { return device_; }
  const GpuPeaks& peaks() const { return peaks_; }
  const std::vector<GpuRow>& rows() const { return rows_; }
  bool failed() const { return failed_; }

  /// Measures one kernel and, where there is one, the same by a library; prints the row.
  void time(const std::string& kernel, const std::string& shape, const GpuWork& work,
            const Enqueue& enqueue, const std::string& peer = "", const Enqueue& rival = {});
  /// The same of many launches, whose attributes say nothing.
  void time_chain(const std::string& name, const std::string& shape, double bound_us,
                  const Enqueue& enqueue);

  /// µs of a launch: the median over graphs of so many launches. 0, after saying why: it failed.
  double measure(const Enqueue& enqueue, std::uint32_t launches);
  /// µs that the device needs at least.
  double bound(const GpuWork& work) const { return bound_us(work, peaks_); }

  /// Prints a row that was measured in some other way, and keeps it.
  void report(const GpuRow& row);
  /// Prints why something could not be measured.
  void fail(const std::string& why);
  /// What is done with the rows as soon as there is another.
  void after_each_row(std::function<void()> keep) { keep_ = std::move(keep); }

 private:
  void describe(GpuRow& row) const;
  double copy_rate(const void* from, cudaMemcpyKind kind);

  cuda::Device device_;
  GpuPeaks peaks_;
  cudaStream_t stream_ = nullptr;
  std::vector<GpuRow> rows_;
  std::function<void()> keep_;
  bool failed_ = false;
};

/// Device memory of so many T, zeroed; ends the program when there is none.
template <typename T>
class OnDevice {
 public:
  explicit OnDevice(std::size_t count) : memory_(count * sizeof(T)) {
    require(memory_.status());
    require(memory_.clear());
  }
  explicit OnDevice(const std::vector<T>& values) : OnDevice(values.size()) {
    require(cuda::copy_in(memory_.data(), values.data(), values.size() * sizeof(T)));
  }
  T* data() const { return static_cast<T*>(memory_.data()); }

 private:
  static void require(const cuda::Status& status);
  cuda::Memory memory_;
};

/// Ends the program, saying why, unless all is well.
void require(const cuda::Status& status);

template <typename T>
void OnDevice<T>::require(const cuda::Status& status) {
  carillon::bench::require(status);
}

/// The cases: kernels one by one, whole frames, and frames on part of the device.
void measure_ofdm(GpuBench& bench);
void measure_gather(GpuBench& bench);
void measure_estimate(GpuBench& bench);
void measure_zeroforce(GpuBench& bench);
void measure_equalize(GpuBench& bench);
void measure_ldpc(GpuBench& bench);
void measure_precode(GpuBench& bench);
void measure_frame(GpuBench& bench);
void measure_partitions(GpuBench& bench);
/// A frame by a pool's executor, on the whole device and divided between partitions of it.
void measure_divided(GpuBench& bench);
/// How soon the host sees that a kernel is over, and what launches cost it.
void measure_completion(GpuBench& bench, Completion& completion);
/// Each adds its goals, or figures, and prints them.
void repeat_completion(GpuBench& bench, const Completion& completion, std::vector<Goal>& goals);
void measure_latency(GpuBench& bench, std::vector<Goal>& goals);
void measure_sustained(GpuBench& bench, std::vector<Goal>& goals);
void measure_bus(GpuBench& bench, std::vector<Goal>& goals);

}  // namespace carillon::bench
