#include "cuda/served.hpp"

#include <algorithm>
#include <exception>

#include "base/thread.hpp"

namespace carillon::bench {
namespace {

using emulator::GpuFrameRecord;

emulator::GpuRunResult run(const frame::Frame& frame, const emulator::RecordedAir& air,
                           const frame::GpuPool& pool, const Serving& serving, bool at_once) {
  emulator::GpuRunOptions options;
  options.frames = serving.warm_up + serving.frames;
  options.cells = serving.cells;
  options.policy = serving.policy;
  options.at_once = at_once;
  options.deadline = serving.deadline;
  emulator::GpuRunResult result = run_on_gpus(frame, air, pool, options);
  const auto first = result.frames.begin();
  result.frames.erase(first, first + static_cast<std::ptrdiff_t>(serving.warm_up * serving.cells));
  return result;
}

// When the last sample comes, after the frame's start on air.
Tick last_sample(const frame::Frame& frame) {
  Tick last = 0;
  for (const auto kind : {frame::SymbolKind::Pilot, frame::SymbolKind::Uplink})
    for (const std::uint32_t symbol : frame.symbols_of(kind))
      last = std::max(last, frame.symbol(symbol).end);
  return last;
}

bool as_sent(const GpuFrameRecord& record) { return record.done && record.failed == 0; }

}  // namespace

Served serve(const frame::Frame& frame, const emulator::RecordedAir& air,
             const frame::GpuPool& pool, const Serving& serving) {
  Served served;
  emulator::GpuRunResult result;
  const RunDelay delay;
  try {
    result = run(frame, air, pool, serving, false);
  } catch (const std::exception& error) {
    served.why = error.what();
    return served;
  }
  served.waited = static_cast<double>(delay.read()) / kMillisecond;
  const Tick left = serving.deadline - last_sample(frame);
  for (const GpuFrameRecord& record : result.frames) {
    served.in_time += as_sent(record) ? 1U : 0U;
    served.wrong_blocks += record.done ? record.failed : 0;
    served.latency.push_back(static_cast<double>(record.done ? record.latency : left) /
                             kMillisecond);
  }
  std::ranges::sort(served.latency);
  served.seconds =
      static_cast<double>(serving.frames) * static_cast<double>(frame.duration()) / kSecond;
  return served;
}

FrameTime time_of_a_frame(const frame::Frame& frame, const emulator::RecordedAir& air,
                          const frame::GpuPool& pool, const Serving& serving) {
  const emulator::GpuRunResult result = run(frame, air, pool, serving, true);
  FrameTime time;
  if (!std::ranges::all_of(result.frames, as_sent)) return time;
  const auto count = static_cast<double>(result.frames.size());
  const auto [first, last] = std::ranges::minmax(result.frames, {}, &GpuFrameRecord::at);
  time.us = static_cast<double>(last.at - first.at) / kMicrosecond / (count - 1);
  for (const GpuFrameRecord& record : result.frames) time.devices += record.devices / count;
  return time;
}

}  // namespace carillon::bench
