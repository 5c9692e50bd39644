// A frame of 128×32 on part of a card and beside others: MegaStation §3's set-ups on one card. With
// SMs taken away (§3.2), behind matrix products that are always queued (§3.4), on partitions of a
// half, a quarter and an eighth, and there beside frames on all the others: what that costs is the
// price of all that partitions share. Bounds are those of the whole card.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/cuda/partition.hpp"
#include "cuda/frames.hpp"
#include "cuda/parts.hpp"
#include "emulator/background/background.hpp"

namespace carillon::bench {
namespace {

constexpr FrameShape kShape = {128, 32};
constexpr std::uint32_t kFrames = 5, kRounds = 15;  // of a graph; of a row

/// Frames one after the other on one stream. All that may wait for the device, because it allocates
/// or loads a kernel, is done when it is made: it runs beside kernels that do not end.
class Frames {
 public:
  Frames(const Enqueue& frame, cuda::Stream stream)
      : graph_(
            [&](cuda::Stream on) {
              cuda::Status worst;
              for (std::uint32_t i = 0; i < kFrames && worst.ok(); ++i) worst = frame(on);
              return worst;
            },
            stream),
        stream_(stream) {
    keep(graph_.status());
    keep(cuda::Status(cudaEventCreate(&begin_)));
    keep(cuda::Status(cudaEventCreate(&end_)));
    start();
    (void)us();
  }
  Frames(const Frames&) = delete;
  Frames& operator=(const Frames&) = delete;
  ~Frames() {
    if (begin_ != nullptr) (void)cudaEventDestroy(begin_);
    if (end_ != nullptr) (void)cudaEventDestroy(end_);
  }

  const cuda::Status& status() const { return worst_; }

  /// What is measured; `more`: with as many frames before and after it, so that the stream is busy
  /// while others are measured.
  void start(bool more = false) {
    if (more) keep(graph_.launch(stream_));
    if (worst_.ok()) keep(cuda::Status(cudaEventRecord(begin_, stream_)));
    if (worst_.ok()) keep(graph_.launch(stream_));
    if (worst_.ok()) keep(cuda::Status(cudaEventRecord(end_, stream_)));
    if (more && worst_.ok()) keep(graph_.launch(stream_));
  }
  bool under_way() {
    if (!worst_.ok()) return false;
    const cudaError_t state = cudaEventQuery(end_);
    if (state != cudaErrorNotReady) keep(cuda::Status(state));
    return state == cudaErrorNotReady;
  }
  /// Of a frame, once all of the stream has ended. 0: it failed.
  double us() {
    float milliseconds = 0;
    if (worst_.ok()) keep(cuda::Status(cudaStreamSynchronize(stream_)));
    if (worst_.ok()) keep(cuda::Status(cudaEventElapsedTime(&milliseconds, begin_, end_)));
    return worst_.ok() ? 1e3 * milliseconds / kFrames : 0;
  }

 private:
  void keep(const cuda::Status& status) {
    if (worst_.ok()) worst_ = status;
  }

  cuda::Graph graph_;
  cuda::Stream stream_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  cuda::Status worst_;
};

double median(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

template <typename Meanwhile>
double measure(Frames& frames, Meanwhile&& meanwhile) {
  std::vector<double> times;
  for (std::uint32_t i = 0; i < kRounds; ++i) {
    frames.start();
    while (frames.under_way()) meanwhile();
    times.push_back(frames.us());
  }
  return median(std::move(times));
}
double measure(Frames& frames) {
  return measure(frames, [] {});
}

/// What all rows of a frame have in common.
class Rows {
 public:
  Rows(GpuBench& bench, const DeviceFrame& frame, std::string name)
      : bench_(bench), bound_us_(frame.bound(bench)), name_(std::move(name)) {}

  void add(const std::string& what, const Frames& frames, double us, const std::string& peer = "",
           double peer_us = 0) {
    if (!frames.status().ok()) fail(what + ": " + frames.status().text());
    GpuRow row;
    row.kernel = name_ + ", " + what;
    row.shape = name_of(kShape);
    row.us = us;
    row.bound_us = bound_us_;
    row.peer = peer;
    row.peer_us = peer_us;
    bench_.report(row);
  }
  void fail(const std::string& why) { bench_.fail(name_ + ", " + why); }
  const cuda::Device& device() const { return bench_.device(); }

 private:
  GpuBench& bench_;
  double bound_us_;
  std::string name_;
};

void measure_spun(Rows& rows, Frames& frames, double free_us) {
  for (const std::uint32_t percent : {50U, 80U, 99U}) {
    const auto taken = static_cast<std::uint32_t>(std::lround(rows.device().sms * percent / 100.0));
    const std::string what = std::to_string(percent) + " % of SMs spun";
    emulator::Spinners spinners(taken);
    if (!spinners.why().empty()) {
      rows.fail(what + ": " + spinners.why());
      continue;
    }
    const double us = measure(frames);
    const bool to_the_end = spinners.spinning();
    if (const cuda::Status stopped = spinners.stop(); !stopped.ok())
      rows.fail(what + ": " + stopped.text());
    // One that somebody had to wait for would cost as much time again with each that follows.
    if (!to_the_end) return rows.fail(what + ": the spinners' time was up before all was measured");
    rows.add(what, frames, us, "all SMs", free_us);
  }
}

void measure_behind(Rows& rows, Frames& frames, double free_us) {
  for (const std::uint32_t kernels : {1U, 10U, 50U, 100U}) {
    const std::string what = std::to_string(kernels) + " GEMMs queued";
    emulator::Gemms gemms(kernels);
    const double us = measure(frames, [&] { (void)gemms.refill(); });
    if (const cuda::Status ended = gemms.drain(); ended.ok())
      rows.add(what, frames, us, "alone", free_us);
    else
      rows.fail(what + ": " + ended.text());
  }
}

/// A frame's time on the partition that is slowest, all of them being busy.
double measure_busy(std::vector<std::unique_ptr<Frames>>& all) {
  std::vector<double> times;
  for (std::uint32_t i = 0; i < kRounds; ++i) {
    for (const auto& frames : all) frames->start(true);
    double slowest = 0;
    bool failed = false;
    for (const auto& frames : all) {
      const double us = frames->us();
      failed |= us == 0;
      slowest = std::max(slowest, us);
    }
    times.push_back(failed ? 0 : slowest);
  }
  return median(std::move(times));
}

using DeviceFrames = std::vector<std::unique_ptr<DeviceFrame>>;

void measure_parts(Rows& rows, const DeviceFrames& frames, bool by_symbol, std::uint32_t parts,
                   double whole_us) {
  const cuda::Partitions partitions(rows.device(), parts);
  if (!partitions.why().empty()) {
    std::printf("left out: %s\n", partitions.why().c_str());
    return;
  }
  if (const std::string why = where_they_run(partitions, rows.device()); !why.empty())
    return rows.fail(std::to_string(parts) + " partitions: " + why);
  std::vector<std::unique_ptr<Frames>> all;
  for (std::uint32_t part = 0; part < parts; ++part)
    all.push_back(
        std::make_unique<Frames>(enqueue(frames[part]->tasks(by_symbol)), partitions.stream(part)));
  const std::string what =
      std::to_string(partitions.sms(0)) + " SMs of " + std::to_string(rows.device().sms);
  const double alone_us = measure(*all[0]);
  rows.add(what, *all[0], alone_us, "whole card", whole_us);
  rows.add(what + ", all " + std::to_string(parts) + " busy", *all[0], measure_busy(all), "alone",
           alone_us);
}

void measure(GpuBench& bench, const DeviceFrames& frames, char kind, bool by_symbol) {
  Rows rows(bench, *frames[0], name_of(kind, by_symbol));
  cudaStream_t stream = nullptr;
  if (const cuda::Status made(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      !made.ok())
    return rows.fail(made.text());
  double whole_us = 0;
  {
    Frames whole(enqueue(frames[0]->tasks(by_symbol)), stream);
    whole_us = measure(whole);
    rows.add("all SMs", whole, whole_us);
    if (whole_us > 0) {
      measure_spun(rows, whole, whole_us);
      measure_behind(rows, whole, whole_us);
    }
  }
  if (const cuda::Status gone(cudaStreamDestroy(stream)); !gone.ok()) rows.fail(gone.text());
  if (whole_us > 0)
    for (const std::uint32_t parts : {2U, 4U, 8U})
      measure_parts(rows, frames, by_symbol, parts, whole_us);
}

}  // namespace

std::string where_they_run(const cuda::Partitions& partitions, const cuda::Device& device) {
  cuda::SmProbe probe(2 * device.sms);
  std::vector<std::vector<std::uint32_t>> seen(partitions.parts());
  std::vector<std::uint32_t> promised;
  for (std::uint32_t part = 0; part < partitions.parts(); ++part) {
    promised.push_back(partitions.sms(part));
    const cuda::Status status = probe.see(partitions.stream(part), seen[part]);
    if (!status.ok()) return "partition " + std::to_string(part) + ": " + status.text();
  }
  return cuda::compare(seen, promised);
}

void measure_partitions(GpuBench& bench) {
  for (const char kind : {'U', 'D'}) {
    DeviceFrames frames;
    for (std::uint32_t i = 0; i < 8; ++i)
      frames.push_back(std::make_unique<DeviceFrame>(kShape, kind));
    for (const bool by_symbol : {false, true}) measure(bench, frames, kind, by_symbol);
  }
}

}  // namespace carillon::bench
