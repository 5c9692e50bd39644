// The goals that take a device: latency at the pace of the air, cells that are sustained, and what
// reaches the device of what the bus carries.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <utility>

#include "base/pci.hpp"
#include "cuda/bench.hpp"
#include "cuda/cell_format.hpp"
#include "frame/gpu/server.hpp"
#include "fronthaul/gpu/measure.hpp"

namespace carillon::bench {
namespace {

using fronthaul::gpu::Path;

constexpr std::uint64_t kFrames = 20'000;         // that tell p99.99
constexpr std::uint64_t kSustainedFrames = 4000;  // of each cell
constexpr std::uint32_t kMostCells = 8;
constexpr std::uint32_t kMegabyte = 1U << 20;
constexpr std::uint32_t kSizes[] = {kMegabyte, 4 * kMegabyte, 16 * kMegabyte};
constexpr std::uint32_t kCopies = 20;
constexpr double kSeconds = 0.4;  // of a path and a size

struct LatencyCase {
  std::uint32_t antennas, users;
  double limit;  // ms
};
constexpr LatencyCase kLatencies[] = {{128, 64, 0.3}, {256, 128, 0.8}};

void add(GpuBench& bench, std::vector<Goal>& goals, Goal goal) {
  std::printf("%s\n", text(goal).c_str());
  std::fflush(stdout);
  if (goal.failed) bench.fail(goal.what + ": " + goal.note);
  goals.push_back(std::move(goal));
}

/// A cell and what its antennas receive.
struct PlayedCell {
  PlayedCell(std::uint32_t antennas, std::uint32_t users)
      : frame(cell_format(antennas, users, 'U')), air(frame, {}), name(name_of(frame.format())) {}

  frame::Frame frame;
  emulator::RecordedAir air;
  std::string name;
};

Served serve_on(const cuda::Device& device, const PlayedCell& cell, const Serving& serving) {
  return serve(cell.frame, cell.air, frame::whole_devices({device}), serving);
}

/// MB/s by a path into the device's memory, or up to the host's; 0, after saying why: it failed.
double rate_by(GpuBench& bench, Path path, std::uint32_t bytes) {
  fronthaul::gpu::IngestPlan plan;
  plan.path = path;
  plan.block_bytes = bytes;
  plan.seconds = kSeconds;
  const std::string size = std::to_string(bytes / kMegabyte) + " MiB";
  try {
    const auto found = fronthaul::gpu::measure(plan, &bench.device());
    const std::uint64_t bad = found.wrong + found.out_of_order;
    if (found.error.empty() && bad == 0)
      return static_cast<double>(found.bytes) / found.seconds * 1e-6;
    bench.fail("blocks of " + size + ": " +
               (bad == 0 ? found.error : std::to_string(bad) + " damaged or out of order"));
  } catch (const std::exception& error) {
    bench.fail("blocks of " + size + ": " + error.what());
  }
  return 0;
}

double rate_of_copy(GpuBench& bench, std::uint32_t bytes) {
  const OnDevice<std::byte> to(bytes);
  const cuda::HostMemory from(bytes);
  require(from.status());
  const double us = bench.measure(
      [&](cuda::Stream stream) {
        return cuda::Status(
            cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyHostToDevice, stream));
      },
      kCopies);
  return us > 0 ? bytes / us : 0;
}

/// MB/s, as the link is now; 0: sysfs does not tell.
double link_of(const cuda::Device& device) {
  const std::vector<pci::Device> all = pci::devices();
  const auto found = std::ranges::find(all, device.address, &pci::Device::address);
  return found == all.end() ? 0 : pci::limit_mb_per_s(pci::narrowest(*found));
}

}  // namespace

void measure_latency(GpuBench& bench, std::vector<Goal>& goals) {
  for (const auto& [antennas, users, limit] : kLatencies) {
    const PlayedCell cell(antennas, users);
    const Served served = serve_on(bench.device(), cell, {.frames = kFrames});
    add(bench, goals, latency_goal(cell.name, served, limit));
  }
}

void measure_sustained(GpuBench& bench, std::vector<Goal>& goals) {
  const PlayedCell cell(128, 64);
  Serving serving = {.frames = kSustainedFrames};
  const double bytes = 4.0 * cell.frame.samples() * cell.frame.format().antennas;
  const SustainedCells cells = {.name = cell.name,
                                .most = kMostCells,
                                .deadline = serving.deadline,
                                .needs = bytes / static_cast<double>(cell.frame.duration()),
                                .bus = bench.peaks().bus_bytes_per_us * 1e-3,
                                .serve = [&](std::uint32_t count) {
                                  serving.cells = static_cast<std::uint16_t>(count);
                                  return serve_on(bench.device(), cell, serving);
                                }};
  for (Goal& figure : sustained_figures(cells)) add(bench, goals, std::move(figure));
}

void measure_bus(GpuBench& bench, std::vector<Goal>& goals) {
  std::vector<std::pair<std::string, Rates>> found;
  const auto keep = [&](const std::string& how, std::uint32_t bytes, double moved, double source) {
    found.emplace_back(
        how + ", " + std::to_string(bytes / kMegabyte) + " MiB",
        Rates{.moved = moved, .bus = bench.peaks().bus_bytes_per_us, .source = source});
  };
  for (const std::uint32_t bytes : kSizes)
    keep("copies from pinned memory", bytes, rate_of_copy(bench, bytes), 0);
  for (const std::uint32_t bytes : kSizes) {
    const double source = rate_by(bench, Path::PinnedHost, bytes);
    keep("ingest by pinned-copy", bytes, rate_by(bench, Path::PinnedCopy, bytes), source);
    keep("ingest by pinned-read", bytes, rate_by(bench, Path::PinnedRead, bytes), source);
  }
  const double link = link_of(bench.device());  // now that the device is awake
  for (auto& [what, rates] : found) {
    rates.link = link;
    add(bench, goals, bus_goal(what, rates));
  }
}

void repeat_completion(GpuBench& bench, const Completion& completion, std::vector<Goal>& goals) {
  for (Goal& goal : completion_goals(completion)) add(bench, goals, std::move(goal));
}

}  // namespace carillon::bench
