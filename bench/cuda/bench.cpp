#include "cuda/bench.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace carillon::bench {
namespace {

constexpr std::uint32_t kGraphs = 15;
constexpr std::size_t kCopied = std::size_t{1} << 29;

double clock_mhz(const cuda::Device& device) {
  int khz = 0;
  require(cuda::Status(
      cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, static_cast<int>(device.index))));
  return khz * 1e-3;
}

}  // namespace

void require(const cuda::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "carillon-cuda-bench: %s\n", status.text().c_str());
  std::exit(1);
}

GpuBench::GpuBench(const cuda::Device& device) : device_(device) {
  require(cuda::use(device));
  require(cuda::Status(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)));
  peaks_ = clocked_peaks(device.major, device.minor, clock_mhz(device), device.sms);

  const OnDevice<std::byte> here(kCopied);
  const cuda::HostMemory there(kCopied);
  require(there.status());
  peaks_.bytes_per_us = 2 * copy_rate(here.data(), cudaMemcpyDeviceToDevice);
  peaks_.bus_bytes_per_us = copy_rate(there.data(), cudaMemcpyHostToDevice);
  std::printf(
      "copy %.0f GB/s, from the host %.1f measured; %.1f TFLOP/s fp32, %.0f half, %.1f integer "
      "TOP/s, shared memory %.1f TB/s by %.0f MHz × %u SMs\n",
      peaks_.bytes_per_us * 1e-3, peaks_.bus_bytes_per_us * 1e-3, peaks_.flops_per_us * 1e-6,
      peaks_.half_flops_per_us * 1e-6, peaks_.int_ops_per_us * 1e-6,
      peaks_.shared_bytes_per_us * 1e-6, clock_mhz(device), device.sms);
}

// Bytes in a µs to the device's memory; 0: it failed.
double GpuBench::copy_rate(const void* from, cudaMemcpyKind kind) {
  const OnDevice<std::byte> to(kCopied);
  const double us = measure(
      [&](cuda::Stream stream) {
        return cuda::Status(cudaMemcpyAsync(to.data(), from, kCopied, kind, stream));
      },
      4);
  return us > 0 ? kCopied / us : 0;
}

double GpuBench::measure(const Enqueue& enqueue, std::uint32_t launches) {
  const cuda::Graph graph([&](cuda::Stream stream) {
    cuda::Status worst;
    for (std::uint32_t i = 0; i < launches && worst.ok(); ++i) worst = enqueue(stream);
    return worst;
  });
  cudaEvent_t begin = nullptr, end = nullptr;
  cuda::Status worst = graph.status();
  const auto check = [&](const cuda::Status& status) {
    if (worst.ok()) worst = status;
    return worst.ok();
  };
  std::vector<double> times;
  if (worst.ok() && check(cuda::Status(cudaEventCreate(&begin))) &&
      check(cuda::Status(cudaEventCreate(&end)))) {
    for (std::uint32_t i = 0; i < kGraphs && worst.ok(); ++i) {
      check(cuda::Status(cudaEventRecord(begin, stream_)));
      check(graph.launch(stream_));
      check(cuda::Status(cudaEventRecord(end, stream_)));
      check(cuda::Status(cudaStreamSynchronize(stream_)));
      float milliseconds = 0;
      if (check(cuda::Status(cudaEventElapsedTime(&milliseconds, begin, end))))
        times.push_back(1e3 * milliseconds / launches);
    }
  }
  if (begin != nullptr) check(cuda::Status(cudaEventDestroy(begin)));
  if (end != nullptr) check(cuda::Status(cudaEventDestroy(end)));
  if (!worst.ok() || times.empty()) {
    std::printf("failed: %s\n", worst.text().c_str());
    return 0;
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

// Of the kernel that was launched last.
void GpuBench::describe(GpuRow& row) const {
  const cuda::LastLaunch& last = cuda::last_launch();
  cudaFuncAttributes attributes{};
  int blocks = 0, device = 0, warps = 0;
  if (cudaFuncGetAttributes(&attributes, last.kernel) != cudaSuccess ||
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(
          &blocks, last.kernel, static_cast<int>(last.threads), last.shared_bytes) != cudaSuccess ||
      cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&warps, cudaDevAttrMaxThreadsPerMultiProcessor, device) != cudaSuccess)
    return;
  row.registers = attributes.numRegs;
  row.local_bytes = static_cast<int>(attributes.localSizeBytes);
  row.threads = last.threads;
  row.shared_bytes = last.shared_bytes + static_cast<std::uint32_t>(attributes.sharedSizeBytes);
  row.occupancy = static_cast<double>(blocks) * last.threads / warps;
}

void GpuBench::report(const GpuRow& row) {
  failed_ |= row.us == 0;
  std::printf("%-28s %-10s %9.1f µs %5.0f %% of the bound", row.kernel.c_str(), row.shape.c_str(),
              row.us, row.us > 0 ? 100 * row.bound_us / row.us : 0);
  if (row.registers != 0)
    std::printf("  %3d registers %6u B shared %3.0f %% occupancy", row.registers, row.shared_bytes,
                100 * row.occupancy);
  if (row.work.bits > 0) std::printf("  %.1f Gb/s", row.work.bits / row.us * 1e-3);
  if (row.peer_us > 0)
    std::printf("  %s %.1f µs (%.2f×)", row.peer.c_str(), row.peer_us, row.peer_us / row.us);
  std::printf("\n");
  std::fflush(stdout);
  rows_.push_back(row);
  if (keep_) keep_();
}

void GpuBench::fail(const std::string& why) {
  failed_ = true;
  std::printf("failed: %s\n", why.c_str());
  std::fflush(stdout);
}

void GpuBench::time(const std::string& kernel, const std::string& shape, const GpuWork& work,
                    const Enqueue& enqueue, const std::string& peer, const Enqueue& rival) {
  GpuRow row;
  row.kernel = kernel;
  row.shape = shape;
  row.work = work;
  row.bound_us = bound(work);
  row.us = measure(enqueue, 20);
  describe(row);
  if (rival) {
    row.peer = peer;
    row.peer_us = measure(rival, 20);
  }
  report(row);
}

void GpuBench::time_chain(const std::string& name, const std::string& shape, double bound_us,
                          const Enqueue& enqueue) {
  GpuRow row;
  row.kernel = name;
  row.shape = shape;
  row.bound_us = bound_us;
  row.us = measure(enqueue, 5);
  report(row);
}

}  // namespace carillon::bench
